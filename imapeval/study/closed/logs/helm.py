"""Reads a run of HELM: `per_instance_stats.json` with the `scenario_state.json` and `run_spec.json` beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import AliasPath, BaseModel, Field, TypeAdapter, ValidationError

from imapeval.errors import InputError
from imapeval.files import refuse_stream
from imapeval.parsing import describe_validation_error
from imapeval.study.closed.logs.answers import ClosedAnswer, choose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_QUALITY = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
"""Metrics of HELM that judge a choice; its files hold many more, such as numbers of tokens."""

_FIX = "Give the folder of a run that `helm-run` finished."

_SEPARATE = {"original", "calibration"}
"""Modes of requests that ask about one option at a time, or none; only the joint question counts."""


class _Reference(BaseModel):
    text: str = Field(validation_alias=AliasPath("output", "text"))
    tags: list[str] = []


class _Instance(BaseModel):
    id: str
    question: str = Field(validation_alias=AliasPath("input", "text"))
    references: list[_Reference]
    perturbation: dict[str, object] | None = None


# `AliasPath` would take a text in place of an object for a missing value.
class _FinishReason(BaseModel):
    reason: str = ""


class _Completion(BaseModel):
    text: str
    finish_reason: _FinishReason | None = None


class _Result(BaseModel):
    completions: list[_Completion] = []


class _State(BaseModel):
    instance: _Instance
    output_mapping: dict[str, str] = {}
    request_mode: str | None = None
    train_trial_index: int = 0
    result: _Result | None = None


class _ScenarioState(BaseModel):
    request_states: list[_State]


class _Stat(BaseModel):
    name: str = Field(validation_alias=AliasPath("name", "name"))
    count: int = Field(ge=0, le=2**53)
    # May be NaN for metrics that are not used here; `read_helm` checks the others.
    sum: float = 0.0


class _InstanceStats(BaseModel):
    instance_id: str
    train_trial_index: int = 0
    perturbation: dict[str, object] | None = None
    stats: list[_Stat]


class _Adapter(BaseModel):
    model: str = ""
    model_deployment: str = ""


class _RunSpec(BaseModel):
    name: str
    adapter_spec: _Adapter = Field(default_factory=_Adapter)


_T = TypeVar("_T")


def read_helm(path: Path) -> Iterator[ClosedAnswer]:
    """Yield the answers of a run's folder, or of a file in it.

    Perturbed copies of a question, which have its id, are left out.

    Raises:
        InputError: A file is missing or damaged.
    """
    folder = path if path.is_dir() else path.parent
    state = _read(folder / "scenario_state.json", TypeAdapter(_ScenarioState))
    spec = _read(folder / "run_spec.json", TypeAdapter(_RunSpec))
    # Each metric has an entry of its own for an answer.
    scores: dict[tuple[str, int], dict[str, float]] = {}
    stats = folder / "per_instance_stats.json"
    for entry in _read(stats, TypeAdapter(list[_InstanceStats])):
        if entry.perturbation is None:
            found = scores.setdefault((entry.instance_id, entry.train_trial_index), {})
            for stat in entry.stats:
                if stat.name not in _QUALITY or not stat.count:
                    continue
                score = stat.sum / stat.count
                fault = ""
                if not 0 <= score <= 1:
                    fault = f"{score:g} as {stat.name}, which lies between 0 and 1"
                elif found.setdefault(stat.name, score) != score:
                    fault = f"two values of {stat.name}"
                if fault:
                    raise InputError(f"gives {entry.instance_id[:60]!r} {fault}", path=stats, fix=_FIX)
    known = {(one.instance.id, one.train_trial_index) for one in state.request_states}
    for instance, trial in scores:
        if (instance, trial) not in known:
            raise InputError(
                f"has scores of {instance[:60]!r}, trial {trial}, which scenario_state.json does not have",
                path=stats,
                fix=_FIX,
            )
    several = len({one.train_trial_index for one in state.request_states}) > 1
    for one in state.request_states:
        if one.request_mode in _SEPARATE or one.instance.perturbation is not None:
            continue
        right = {reference.text for reference in one.instance.references if "correct" in reference.tags}
        labels, options = tuple(one.output_mapping), tuple(one.output_mapping.values())
        gold = frozenset(label for label, option in one.output_mapping.items() if option in right)
        completion = one.result.completions[0] if one.result and one.result.completions else None
        text = None if completion is None else completion.text
        cut = bool(completion and completion.finish_reason and completion.finish_reason.reason == "length")
        yield ClosedAnswer(
            task=spec.name.partition(":model=")[0].partition(",model=")[0],
            model=spec.adapter_spec.model or spec.adapter_spec.model_deployment or folder.name,
            item=one.instance.id,
            run=str(one.train_trial_index) if several else "",
            question=one.instance.question,
            labels=labels,
            options=options,
            gold=gold if labels else frozenset(right),
            text=text,
            choice=choose(text, labels, options, cut=cut),
            scores=scores.get((one.instance.id, one.train_trial_index), {}),
        )


def _read(path: Path, kind: TypeAdapter[_T]) -> _T:
    refuse_stream(path)
    try:
        return kind.validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError("is missing", path=path, fix="Give the folder of a whole run of HELM.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Check the file.") from error
    except ValidationError as error:
        raise InputError(
            f"is not as HELM writes it ({describe_validation_error(error)})", path=path, fix=_FIX
        ) from error
