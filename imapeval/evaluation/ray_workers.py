"""Workers on a Ray cluster, or on this computer by Ray."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from imapeval._optional import require
from imapeval.errors import ServiceError
from imapeval.evaluation.workers import BatchScorer, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.workers import FinishedResults, ScoredBatch
    from imapeval.types import Sample

RESTARTS = 100
"""Times that Ray replaces an actor whose process or machine is gone."""

_CONNECT_SECONDS = 5


class RayPool:
    """Workers that are actors of Ray; see `imapeval.evaluation.workers.WorkerPool`.

    Every machine of the cluster needs imapeval, with the same versions of what it uses, and files that are named in
    options under the same paths.

    Args:
        address: Address of a cluster ("auto": the one of this machine); None for Ray on this computer alone.
        size: Number of actors; None for the processors of the cluster.
        gpu: Whether each of them needs a GPU.

    Raises:
        MissingExtraError: Ray is not installed.
        ServiceError: There is no cluster at this address.
    """

    def __init__(self, *, address: str | None = None, size: int | None = None, gpu: bool = False) -> None:
        # Ray reports to its makers how it is used, unless it is told before it is imported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray: Any = require("ray", distribution="ray", extra="ray", needed_for="--engine ray")
        try:
            if address is not None and (place := urlsplit(f"//{address.rpartition('//')[2]}")).port:
                # Ray itself tries for minutes.
                socket.create_connection((place.hostname, place.port), timeout=_CONNECT_SECONDS).close()
            # "local" starts one of its own even where RAY_ADDRESS is set.
            self._ray.init(address=address or "local", include_dashboard=False, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise ServiceError(
                f"Ray cannot be reached at {address!r} ({error}). Start it with `ray start --head`, or leave out the "
                "address to run on this computer alone.",
                kind="unreachable",
            ) from error
        self.size = size or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self.host: str = "127.0.0.1" if address is None else self._ray.util.get_node_ip_address()
        self._gpu = gpu
        self._actors: list[Any] = []
        self._busy = [0] * self.size

    def start(self, scorer: BatchScorer) -> None:
        """Create the actors; see `WorkerPool.start`."""
        actor = self._ray.remote(num_cpus=1, num_gpus=int(self._gpu), max_restarts=RESTARTS)(BatchScorer)
        self._actors = [actor.remote(scorer.open_parts, scorer.references) for _ in range(self.size)]

    async def submit(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Score a batch; see `WorkerPool.submit`."""
        place = min(range(self.size), key=self._busy.__getitem__)
        self._busy[place] += 1
        try:
            return await asyncio.wrap_future(self._actors[place].score.remote(samples, finished).future())
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.WorkerCrashedError) as error:
            raise WorkerDiedError from error
        finally:
            self._busy[place] -= 1

    def restart(self) -> None:
        """Do nothing: Ray restarts actors by itself."""

    def close(self) -> None:
        """End the actors, and Ray where it was started for them."""
        self._ray.shutdown()
