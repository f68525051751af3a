"""Workers on a Ray cluster, or started by Ray on this computer."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from imapeval._optional import require
from imapeval.errors import ServiceError, UsageError
from imapeval.evaluation.workers import BatchScorer, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.workers import FinishedResults, ScoredBatch, Worker
    from imapeval.types import Sample

PLACE_SECONDS = 120
"""How long an actor may wait to be scheduled: Ray takes some seconds, a shared cluster takes longer."""

_CONNECT_SECONDS = 5


class RayPool:
    """Workers that are actors of Ray; see `imapeval.evaluation.workers.WorkerPool`.

    Every machine of the cluster needs imapeval with the same versions of its dependencies, and the files that options
    name, at the same paths.

    Args:
        address: Address of a cluster ("auto": the one of this machine); None for Ray on this computer alone.
        size: Number of actors; None for the number of processors of the cluster, or of its GPUs.
        gpu: Whether each actor needs a GPU.

    Raises:
        MissingExtraError: Ray is not installed.
        ServiceError: There is no cluster at this address, or Ray does not start.
        UsageError: The cluster is too small.
    """

    def __init__(self, *, address: str | None = None, size: int | None = None, gpu: bool = False) -> None:
        # Ray sends usage statistics to its developers unless this is switched off before the import.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray: Any = require("ray", distribution="ray", extra="ray", needed_for="--engine ray")
        try:
            if address is not None and (server := urlsplit(f"//{address.rpartition('//')[2]}")).port:
                # Checked first, because Ray itself tries to connect for minutes.
                socket.create_connection((server.hostname, server.port), timeout=_CONNECT_SECONDS).close()
            # "local" starts a new instance even if RAY_ADDRESS is set.
            self._ray.init(address=address or "local", include_dashboard=False, log_to_driver=False)
        except Exception as error:  # Ray raises this very class if its processes do not start in time
            message = (
                f"Ray cannot be started on this computer ({error}). If it is busy, try again later, or use --workers "
                "without --engine."
                if address is None
                else f"Ray cannot be reached at {address!r} ({error}). Start it with `ray start --head`, or leave out "
                "the address to run on this computer alone."
            )
            raise ServiceError(message, kind="unreachable") from error
        self.size = self._choose_size(size, gpu=gpu)
        self.host: str = "127.0.0.1" if address is None else self._ray.util.get_node_ip_address()
        self._options: dict[str, int] = {"num_cpus": 1, "num_gpus": int(gpu)}

    def _choose_size(self, size: int | None, *, gpu: bool) -> int:
        """Return the number of workers; Ray itself would wait forever for resources that the cluster lacks."""
        available = self._ray.cluster_resources()
        capacity = {name: int(available.get(name, 0)) for name in ("CPU", *(("GPU",) if gpu else ()))}
        most = min(capacity.values())
        if most < (size or 1):
            self.close()
            has = " and ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in capacity.items())
            raise UsageError(
                f"Ray has {has}, and each worker needs one{' of each' if gpu else ''}. Take fewer --workers, or start "
                "Ray on more machines."
            )
        return size or most

    async def open(self, scorer: BatchScorer) -> Worker:
        """Start an actor; see `WorkerPool.open`."""
        actor = self._ray.remote(**self._options)(BatchScorer).remote(scorer.open_parts, scorer.references)
        worker = _Actor(self._ray, actor)
        try:
            await asyncio.wait_for(worker.wait_for(actor.__ray_ready__.remote()), PLACE_SECONDS)
        except TimeoutError as error:
            worker.end()
            raise WorkerDiedError(
                f"Ray has had no place for a worker for {PLACE_SECONDS} s. Wait until others need less of the cluster, "
                "or take fewer --workers."
            ) from error
        return worker

    def close(self) -> None:
        """End the actors, and Ray if it was started for them."""
        self._ray.shutdown()


class _Actor:
    """An actor of Ray; see `Worker`."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor

    async def score(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Score a batch; see `Worker.score`."""
        return await self.wait_for(self._actor.score.remote(samples, finished))

    async def wait_for(self, reference: Any) -> Any:
        """Return the actor's result.

        Raises:
            WorkerDiedError: The actor ended before it had one.
        """
        errors = self._ray.exceptions
        try:
            return await asyncio.wrap_future(reference.future())
        except (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError) as error:
            self.end()
            raise WorkerDiedError("an actor died") from error

    def end(self) -> None:
        """End the actor, which may still run if Ray only lost contact with it, and release its resources."""
        self._ray.kill(self._actor)
