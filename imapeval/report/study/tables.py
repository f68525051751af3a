"""The findings of a study as CSV, one file per table, and as LaTeX."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.evaluation.runs.safe_csv import dump_csv, dump_records
from imapeval.files import private_folder, replace_file
from imapeval.report.study.latex import write_comparisons, write_correlations
from imapeval.study.agreement.measure import Agreement
from imapeval.study.agreement.noise_ceiling import Ceiling, Corrected
from imapeval.study.comparison.raters import MetricVsRater, WorthInRaters
from imapeval.study.correlation.baseline import MetricVsBaseline
from imapeval.study.data.findings import Comparison, Correlation
from imapeval.study.subgroups.bias import Bias
from imapeval.study.subgroups.disagreements import Disagreement
from imapeval.study.subgroups.heterogeneity import Heterogeneity
from imapeval.study.subgroups.outlier_systems import WithoutOutliers
from imapeval.study.subgroups.shifts import Shift
from imapeval.study.subgroups.slices import Slice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.study.agreement.rater_differences import Differences
    from imapeval.study.correlation.metric_matrix import MetricMatrix
    from imapeval.study.summary.compute import Study


def write_tables(study: Study, folder: Path) -> tuple[Path, ...]:
    """Write all tables to a folder, which is made if necessary, and return their paths.

    CSV: correlations, comparisons, agreements, differences, ceilings, corrected, slices, heterogeneities, biases,
    shifts, outliers, disagreements, baselines, metric_vs_raters, worth_in_raters, matrix; a column per field of the
    types of the findings, empty if undefined; "*" stands for all systems, and for the mean over dimensions. A text
    that a spreadsheet would take for a formula begins with an apostrophe. Tables without rows have a header. LaTeX
    (package booktabs): correlations.tex, comparisons.tex.

    Raises:
        UsageError: The folder cannot be written.
    """
    contents = {
        "correlations.csv": dump_records(Correlation, study.correlations),
        "comparisons.csv": dump_records(Comparison, study.comparisons),
        "agreements.csv": dump_records(Agreement, study.agreements),
        "differences.csv": _dump_differences(study.differences),
        "ceilings.csv": dump_records(Ceiling, study.ceilings),
        "corrected.csv": dump_records(Corrected, study.corrected),
        "slices.csv": dump_records(Slice, study.slices),
        "heterogeneities.csv": dump_records(Heterogeneity, study.heterogeneities),
        "biases.csv": dump_records(Bias, study.biases),
        "shifts.csv": dump_records(Shift, study.shifts),
        "outliers.csv": dump_records(
            WithoutOutliers, [replace(row, outliers=", ".join(row.outliers)) for row in study.outliers]
        ),
        "disagreements.csv": dump_records(Disagreement, study.disagreements),
        "baselines.csv": dump_records(MetricVsBaseline, study.baselines),
        "metric_vs_raters.csv": dump_records(MetricVsRater, study.metric_vs_raters),
        "worth_in_raters.csv": dump_records(WorthInRaters, study.worth_in_raters),
        "matrix.csv": _dump_matrix(study.matrix),
        "correlations.tex": _encode(write_correlations(study)),
        "comparisons.tex": _encode(write_comparisons(study)),
    }
    paths = tuple(folder / name for name in contents)
    try:
        with private_folder(folder):
            for path, content in zip(paths, contents.values(), strict=True):
                replace_file(path, content)
    except OSError as error:
        raise UsageError(
            f"cannot write tables to {folder} ({error.strerror}). Choose another folder, or free some space."
        ) from error
    return paths


def _dump_differences(rows: Sequence[Differences]) -> bytes:
    heads = ["dimension", "first", "second", "bin", "share", "mean_absolute", "n"]
    lines = (
        [row.dimension, row.first, row.second, name, share, row.mean_absolute, row.n]
        for row in rows
        for name, share in row.bins.items()
    )
    return dump_csv(heads, lines)


def _dump_matrix(matrix: MetricMatrix | None) -> bytes:
    if matrix is None:
        return dump_csv(["metric"], [])
    lines = ([metric, *values] for metric, values in zip(matrix.metrics, matrix.values, strict=True))
    return dump_csv(["metric", *matrix.metrics], lines)


def _encode(text: str) -> bytes:
    # A lone surrogate in an id is not valid UTF-8.
    return text.encode(errors="replace")
