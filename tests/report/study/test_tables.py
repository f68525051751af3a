import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.errors import UsageError
from imapeval.report.study.latex import escape_latex, render_table, write_comparisons, write_correlations
from imapeval.report.study.tables import write_tables
from imapeval.study.correlation.baseline import compare_with_baseline
from imapeval.study.data.findings import ALL, Correlation
from imapeval.study.subgroups.disagreements import Disagreement
from imapeval.study.summary.compute import Study


def read(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / name).read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def folder(big: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "new" / "tables"
    paths = write_tables(big, folder)
    assert sorted(paths) == sorted(folder.iterdir())
    return folder


def test_csv_gives_the_numbers_back(folder: Path, big: Study):
    rows = read(folder, "correlations.csv")
    assert len(rows) == len(big.correlations)
    for row, found in zip(rows, big.correlations, strict=True):
        assert (row["metric"], row["system"], row["dimension"]) == (found.metric, found.system, found.dimension)
        assert float(row["value"]) == found.value  # to the last digit
        assert int(row["n"]) == found.n
    assert [float(row["p"]) for row in read(folder, "comparisons.csv")] == [row.p for row in big.comparisons]
    assert [row["id"] for row in read(folder, "disagreements.csv")] == [row.id for row in big.disagreements]
    assert len(read(folder, "slices.csv")) == len(big.slices)
    assert len(read(folder, "agreements.csv")) == 9
    assert len(read(folder, "ceilings.csv")) == 3


def test_a_row_for_each_bin(folder: Path):
    rows = [row for row in read(folder, "differences.csv") if row["dimension"] == "accuracy"]
    assert [row["bin"] for row in rows] == ["0", "0.5 to 1.5", "2 to 2.5", "3 to 3.5", "4 to 4.5", "5"]
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)


def test_matrix_is_square(folder: Path, big: Study):
    rows = read(folder, "matrix.csv")
    assert big.matrix is not None
    assert [row["metric"] for row in rows] == list(big.matrix.metrics)
    assert [float(row[big.matrix.metrics[3]]) for row in rows] == [line[3] for line in big.matrix.values]


def test_what_is_undefined_is_empty_and_has_its_reason(small: Study, tmp_path: Path):
    write_tables(small, tmp_path)
    undefined = [row for row in read(tmp_path, "correlations.csv") if row["reason"].startswith("the score is constant")]
    assert undefined
    assert {row["value"] + row["low"] + row["high"] for row in undefined} == {""}


def test_an_interval_stands_beside_its_number(small: Study, tmp_path: Path):
    write_tables(replace(small, baselines=tuple(compare_with_baseline(small.rated, "spearman"))), tmp_path)
    rows = [row for row in read(tmp_path, "baselines.csv") if row["low"]]
    assert rows
    for row in rows:
        assert float(row["difference"]) == pytest.approx(float(row["value"]) - float(row["baseline"]))
        assert float(row["low"]) < float(row["difference"]) < float(row["high"])


def test_no_text_becomes_a_formula(small: Study, tmp_path: Path):
    ids = ["=1+1", "+1", "-2", "@A1", "\tx", "\rx", "a=b", 'ü,\n"q" 指标 \ud83d']
    gaps = tuple(Disagreement(id_, "=m", "accuracy", -0.5, 3.0, 0.1, 0.9) for id_ in ids)
    write_tables(replace(small, disagreements=gaps), tmp_path)
    content = (tmp_path / "disagreements.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert [row["id"] for row in rows[:6]] == ["'=1+1", "'+1", "'-2", "'@A1", "'\tx", "'\nx"]
    assert rows[6]["id"] == "a=b"
    assert rows[7]["id"] == 'ü,\n"q" 指标 ?'
    assert {row["metric"] for row in rows} == {"'=m"}
    assert {row["score"] for row in rows} == {"-0.5"}


def test_tables_without_rows_have_titles(small: Study, tmp_path: Path):
    write_tables(replace(small, comparisons=(), matrix=None), tmp_path)
    assert (tmp_path / "comparisons.csv").read_text().startswith("first,second,level")
    assert (tmp_path / "matrix.csv").read_text().strip() == "metric"


def test_a_folder_that_cannot_be_written(small: Study, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write tables"):
        write_tables(small, tmp_path / "file")


def read_latex(text: str) -> list[list[str]]:
    """Return the cells of the rows between the rules."""
    body = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    rows = [line.removesuffix(r" \\") for line in body.splitlines()]
    return [re.split(r"(?<!\\) & ", row) for row in rows]


def find_means(study: Study) -> dict[str, Correlation]:
    """Return the means over systems and dimensions, by metric."""
    wanted = ("within-system", ALL, ALL)
    return {row.metric: row for row in study.correlations if (row.level, row.system, row.dimension) == wanted}


def test_latex_correlations(big: Study):
    text = write_correlations(big)
    rows = read_latex(text)
    means = find_means(big)
    assert len(rows) == 54
    best = max(means.values(), key=lambda row: row.value or 0)
    assert best.value is not None
    assert best.low is not None
    assert best.high is not None
    bracket = ", ".join(f"{end:.2f}"[1:] for end in (best.low, best.high))
    assert rows[0][:2] == [best.metric, rf"\textbf{{{best.value:.2f}}} {{\scriptsize[{bracket}]}}".replace("0.", ".")]
    assert {len(row) for row in rows} == {5}
    assert text.count(r"\textbf{") >= 4
    assert "95\\% intervals in brackets (each for itself, not corrected for the choice of the best)" in text
    assert "% Seed 1, 2000 resamples." in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{table}"):
        assert text.count(rule) == 1


def test_latex_comparisons_are_the_best_metric_against_each_other_one(big: Study):
    rows = read_latex(write_comparisons(big))
    means = {metric: row.value or -1 for metric, row in find_means(big).items()}
    ranked = sorted(means, key=lambda metric: -means[metric])
    assert [row[0] for row in rows] == [ranked[0]] * 53
    assert [row[1] for row in rows] == ranked[1:]
    last = rows[-1]
    assert last[4].startswith(f"{means[ranked[0]] - means[ranked[-1]]:.2f}"[1:])
    assert last[5] == ".020"  # the smallest p of the fixture, .0005, by its factor 40


def test_latex_of_names_that_mean_something_to_latex(small: Study):
    assert escape_latex(r"a_b\c{d}%$#&~^<>−") == (
        r"a\_b\textbackslash{}c\{d\}\%\$\#\&\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}$-$"
    )
    # booktabs takes what stands in brackets after a rule for its width; a star after \\ belongs to it.
    assert escape_latex("[a] *b c|d") == r"{[}a] {*}b c\textbar{}d"
    text = write_correlations(small)
    assert r"\textless{}img src=x onerror=alert(1)\textgreater{}\$x\_1\$ \& " in text
    assert "need XeLaTeX or LuaLaTeX" in text
    assert {len(row) for row in read_latex(text)} == {5}


def test_latex_of_a_dimension(small: Study):
    rows = tuple(replace(row, dimension="DISCERN", system="") for row in small.correlations)
    rated = replace(small.rated, dimensions=("DISCERN",), ratings=small.rated.ratings[:, :1])
    assert "Metric & DISCERN" in write_correlations(replace(small, rated=rated, correlations=rows))


@pytest.mark.parametrize("foreign", ["heads", "lines", "caption"])
def test_latex_of_letters_that_pdflatex_lacks(foreign: str):
    parts = {"heads": ["metric"], "lines": [["m"]], "caption": "Kendall's τ – a caption"}
    given = {"heads": ["准确"], "lines": [["准确"]], "caption": "准确"}
    hint = "need XeLaTeX or LuaLaTeX"
    assert hint not in render_table(**parts, columns="l", label="a", note="b")
    assert hint in render_table(**{**parts, foreign: given[foreign]}, columns="l", label="a", note="b")


def test_latex_without_results(small: Study):
    bare = replace(small, correlations=(), comparisons=())
    assert read_latex(write_correlations(bare)) == []
    assert read_latex(write_comparisons(bare)) == []
