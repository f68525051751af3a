"""Reads and writes calibrations: one small JSON object."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from imapeval.errors import InputError, UsageError
from imapeval.files import replace_file
from imapeval.parsing import describe_validation_error
from imapeval.study.calibration.curve import Calibration, Curve, PredictionErrors
from imapeval.study.data.scales import RatingScale  # noqa: TC001  # pydantic reads the annotation
from imapeval.study.intervals import Interval

if TYPE_CHECKING:
    from pathlib import Path


class _Figure(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    value: float
    low: float
    high: float


class _CurveFile(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    imapeval_calibration: Literal[3]
    metric: str
    signature: str
    dimension: str
    scale: RatingScale | None
    method: Literal["isotonic", "linear"]
    knots: list[tuple[float, float]] = Field(min_length=2)
    mean_absolute_error: _Figure
    root_mean_square_error: _Figure
    calibration_error: float = Field(ge=0)
    baseline_error: float
    difference_from_baseline: _Figure
    half_width: float = Field(ge=0)
    confidence: float = Field(gt=0, lt=1)
    n: int = Field(ge=1)
    questions: int = Field(ge=1)
    data: str

    @model_validator(mode="after")
    def _require_rising_scores(self) -> _CurveFile:
        scores = [score for score, _ in self.knots]
        if any(later <= earlier for earlier, later in pairwise(scores)):
            raise ValueError("the scores of the knots must rise")
        return self


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration.

    Raises:
        UsageError: The file cannot be written.
    """
    errors = calibration.errors
    content = _CurveFile(
        imapeval_calibration=3,
        metric=calibration.metric,
        signature=calibration.signature,
        dimension=calibration.dimension,
        scale=calibration.scale,
        method=calibration.curve.method,
        knots=list(zip(calibration.curve.scores, calibration.curve.ratings, strict=True)),
        mean_absolute_error=_to_figure(errors.mean_absolute),
        root_mean_square_error=_to_figure(errors.root_mean_square),
        calibration_error=errors.calibration,
        baseline_error=errors.baseline,
        difference_from_baseline=_to_figure(errors.difference),
        half_width=errors.half_width,
        confidence=errors.confidence,
        n=errors.n,
        questions=errors.questions,
        data=calibration.data,
    )
    try:
        replace_file(path, f"{content.model_dump_json(indent=2)}\n".encode())
    except OSError as error:
        raise UsageError(
            f"cannot write {path} ({error.strerror}). Name a file in a folder that exists and is writable, or free "
            "some space."
        ) from error


def read_calibration(path: Path) -> Calibration:
    """Read what `write_calibration` wrote.

    Raises:
        InputError: The file is unreadable or not a calibration.
    """
    try:
        content = _CurveFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Name a file that exists.") from error
    except ValidationError as error:
        raise InputError(
            f"is not a calibration file: {describe_validation_error(error)}",
            path=path,
            fix="Make one with `imapeval study calibrate`.",
        ) from error
    return Calibration(
        content.metric,
        content.signature,
        content.dimension,
        content.scale,
        Curve(content.method, *(tuple(side) for side in zip(*content.knots, strict=True))),
        PredictionErrors(
            _from_figure(content.mean_absolute_error),
            _from_figure(content.root_mean_square_error),
            content.calibration_error,
            baseline=content.baseline_error,
            difference=_from_figure(content.difference_from_baseline),
            half_width=content.half_width,
            confidence=content.confidence,
            n=content.n,
            questions=content.questions,
        ),
        content.data,
    )


def _to_figure(figure: tuple[float, Interval]) -> _Figure:
    return _Figure(value=figure[0], low=figure[1].low, high=figure[1].high)


def _from_figure(figure: _Figure) -> tuple[float, Interval]:
    return figure.value, Interval(figure.low, figure.high)
