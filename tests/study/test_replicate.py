from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.metrics.registry import all_metrics
from imapeval.study.data.findings import ALL, Correlation
from imapeval.study.replicate import METRICS, choose_metrics, compare_with_paper, read_paper_table


def mean(metric: str, value: float | None) -> Correlation:
    return Correlation(metric, ALL, ALL, "spearman", value, None, None, 400, 0)


def one(metric: str, value: float) -> Correlation:
    return Correlation(metric, "HMedQA/GPT-4", "accuracy", "spearman", value, value - 0.1, value + 0.1, 100, 0)


def test_every_metric_of_the_table_is_one_of_ours_and_goes_on_imaps():
    names = {metric.name for metric in all_metrics()}
    assert set(METRICS) <= names
    lacks = dict.fromkeys(names, "")
    chosen, left_out = choose_metrics(lacks, llm=True)
    assert left_out == {}
    assert len(chosen) == 3 + 2 * len(METRICS)


def test_what_cannot_be_run_is_named():
    lacks = {name: "" for metric in METRICS for name in (metric, f"{metric}+imap")} | {"bertscore": "weights"}
    chosen, left_out = choose_metrics(lacks, llm=False)
    assert "bertscore" not in chosen
    assert "bertscore+imap" in chosen
    assert left_out["bertscore"] == "weights"
    assert left_out["geval"] == "needs a language model: --llm"


def test_side_by_side():
    correlations = [one("rouge1", 0.2), mean("rouge1", 0.2), one("imapscore", 0.5), mean("imapscore", 0.5)]
    paper = {("rouge1", "HMedQA/GPT-4", "accuracy"): 0.17, ("bertscore", "HMedQA/GPT-4", "accuracy"): 0.3}
    rows, _ = compare_with_paper(correlations, paper)
    first = rows[0]
    assert (first.metric, first.paper, first.value, first.low, first.n) == ("rouge1", 0.17, 0.2, 0.1, 100)
    assert rows[1].paper is None
    assert (rows[-1].metric, rows[-1].paper, rows[-1].value, rows[-1].reason) == ("bertscore", 0.3, None, "was not run")
    with pytest.raises(UsageError, match="'HMedQA/GPT-5'"):
        compare_with_paper(correlations, {("rouge1", "HMedQA/GPT-5", "accuracy"): 0.1})


def test_the_gains_of_the_abstract():
    correlations = [
        *(mean("rouge1", 0.2), mean("rouge1+imap", 0.3), mean("bleu", 0.1), mean("bleu+imap", 0.3)),
        *(mean("cosine", -0.1), mean("cosine+imap", 0.2), mean("imapscore", 0.5), mean("imapscore:paper", None)),
    ]
    _, gains = compare_with_paper(correlations, {})
    by_what = {gain.what: gain for gain in gains}
    # Abstract of Wang et al. 2024: 79.8%, and 89.9%, 81.7% and 32.6%.
    assert [gain.paper for gain in gains] == [0.798, 0.798, 0.899, 0.817, 0.326]
    assert gains[0].value is None
    # .5 over the mean of .2, .1 and -.1.
    assert gains[1].value == pytest.approx(0.5 / (0.2 / 3) - 1)
    assert by_what["imap in n-gram metrics (rouge1, bleu)"].value == pytest.approx(0.3 / 0.15 - 1)
    assert by_what["imap in embedding metrics (cosine)"].value is None
    assert by_what["imap in LLM metrics (none was run)"].value is None


def test_the_papers_table(tmp_path: Path):
    path = tmp_path / "paper.csv"
    path.write_text("metric,system,dimension,value\nrouge1,HMedQA/GPT-4,accuracy,.17\nrouge1,*,*,.2\n")
    assert read_paper_table(path) == {("rouge1", "HMedQA/GPT-4", "accuracy"): 0.17, ("rouge1", "*", "*"): 0.2}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("metric,system,value\nrouge1,x,.1\n", "line 2"),
        ("metric,system,dimension,value\nrouge1,x,y,17\n", "'17'"),
        ("metric,system,dimension,value\nrouge1,x,y,\n", "line 2"),
        ("metric,system,dimension,value\nr,x,y,.1\nr,x,y,.2\n", "line 3"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, content: str, message: str):
    path = tmp_path / "paper.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_paper_table(path)
