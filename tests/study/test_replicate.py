from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import InputError, UsageError
from imapeval.metrics.registry import all_metrics
from imapeval.study.data.findings import ALL, Correlation
from imapeval.study.replicate import (
    METRICS,
    PaperCell,
    choose_metrics,
    compare_with_paper,
    correlate_table,
    read_paper_table,
)
from tests.study.answers import make_rated

PUBLISHED = Path(__file__).parents[3] / "shared" / "benchmark" / "paper-table2.csv"


def at(metric: str, value: float | None, system: str = ALL, dimension: str = ALL) -> tuple[PaperCell, Correlation]:
    ends = (None, None) if value is None else (value - 0.1, value + 0.1)
    row = Correlation(metric, system, dimension, "spearman", value, *ends, 100, 0)
    return PaperCell(metric, system, dimension, "spearman"), row


def test_every_metric_of_the_table_is_one_of_ours():
    names = {metric.name for metric in all_metrics()}
    assert {name for name, _ in METRICS.values()} <= names
    chosen, left_out = choose_metrics(dict.fromkeys(names, ""), llm=True)
    # FActScore, QuestEval and QAFactEval do not go on imaps here.
    absent = {"factscore+imap", "questeval:llm+imap", "qafacteval:llm+imap"}
    assert left_out.keys() == {"imapScore", *absent}
    assert len(chosen) == 3 + 2 * len(METRICS) - len(absent)


def test_what_cannot_be_run_is_named():
    lacks = {name: "" for metric, _ in METRICS.values() for name in (metric, f"{metric}+imap")}
    chosen, left_out = choose_metrics(lacks | {"bertscore": "weights"}, llm=False)
    assert "bertscore" not in chosen
    assert "bertscore+imap" in chosen
    assert left_out["bertscore"] == "weights"
    assert left_out["geval"] == left_out["questeval:llm"] == "needs a language model: --llm"


def test_side_by_side():
    place = "HMedQA/GPT-4", "accuracy"
    correlations = dict([at("rouge1", 0.2, *place), at("rouge1", 0.2), at("imapscore", 0.5, *place)])
    paper = {PaperCell("rouge1", *place, "spearman"): 0.17, PaperCell("bertscore", *place, "spearman"): 0.3}
    rows, _ = compare_with_paper(correlations, paper, {"bertscore": "weights"})
    first = rows[0]
    assert (first.metric, first.paper, first.value, first.low, first.n) == ("rouge1", 0.17, 0.2, 0.1, 100)
    assert (first.difference, first.difference_low, first.difference_high) == pytest.approx((0.03, -0.07, 0.13))
    assert (rows[1].paper, rows[1].difference) == (None, None)
    assert (rows[-1].metric, rows[-1].paper, rows[-1].value, rows[-1].reason) == ("bertscore", 0.3, None, "weights")
    with pytest.raises(UsageError, match="'HMedQA/GPT-5'"):
        compare_with_paper(correlations, {PaperCell("rouge1", "HMedQA/GPT-5", "accuracy", "spearman"): 0.1}, {})


def test_means_by_data_set():
    """Against the mean of scipy's coefficients over the systems and dimensions of each data set."""
    random = np.random.default_rng(0)
    systems = [name for name in ("HMedQA/GPT-4", "HMedQA/PaLM-2", "iCliniq/ChatGPT") for _ in range(12)]
    scores, ratings = random.normal(size=(36, 1)), random.integers(6, size=(36, 2)).astype(float)
    rated = make_rated(scores, ratings, systems=tuple(systems), dimensions=("accuracy", "completeness"))
    found = correlate_table(rated, seed=0, resamples=20)
    for name, rows in (("HMedQA", (0, 12)), ("iCliniq", (24,))):
        parts = [
            stats.kendalltau(scores[row : row + 12, 0], ratings[row : row + 12, dimension]).statistic
            for row in rows
            for dimension in (0, 1)
        ]
        assert found[PaperCell("m", name, ALL, "kendall_tau_b")].value == pytest.approx(np.mean(parts), abs=1e-12)


def test_the_gains_of_the_abstract():
    correlations = dict(
        [
            *(at("rouge1", 0.2), at("rouge1+imap", 0.3), at("bleu", 0.1), at("bleu+imap", 0.3)),
            *(at("bertscore", -0.1), at("bertscore+imap", 0.2), at("imapscore", 0.5), at("imapscore:paper", None)),
        ]
    )
    _, gains = compare_with_paper(correlations, {}, {})
    by_what = {gain.what: gain for gain in gains}
    # Abstract of Wang et al. 2024: 79.8%, and 89.9%, 81.7% and 32.6%.
    assert [gain.paper for gain in gains] == [0.798, 0.798, 0.899, 0.817, 0.326]
    assert gains[0].value is None
    # .5 over the mean of .2, .1 and -.1.
    assert gains[1].value == pytest.approx(0.5 / (0.2 / 3) - 1)
    assert by_what["imap in n-gram metrics (rouge1, bleu)"].value == pytest.approx(0.3 / 0.15 - 1)
    assert by_what["imap in embedding metrics (bertscore)"].value is None
    assert by_what["imap in LLM metrics (none was run)"].value is None


def test_the_papers_table(tmp_path: Path):
    path = tmp_path / "paper.csv"
    lines = ["ROUGE-1+imap,HMedQA/GPT-4,accuracy,.17,.13", "imapScore+KG,HMedQA,*,.6,.5", "imapScore,HMedQA,*,.57,.48"]
    path.write_text("\n".join(["metric,system,dimension,rho,tau", *lines]))
    found = read_paper_table(path)
    assert found[PaperCell("rouge1+imap", "HMedQA/GPT-4", "accuracy", "spearman")] == 0.17
    assert found[PaperCell("rouge1+imap", "HMedQA/GPT-4", "accuracy", "kendall_tau_b")] == 0.13
    assert found[PaperCell("imapscore:paper", "HMedQA", "*", "spearman")] == 0.6
    # Without a graph there is none of ours.
    assert found[PaperCell("imapScore", "HMedQA", "*", "kendall_tau_b")] == 0.48


def test_the_published_table():
    if not PUBLISHED.exists():
        pytest.skip("the paper's numbers of ../shared are not here")
    found = read_paper_table(PUBLISHED)
    assert {cell.metric for cell in found} > {"rouge1", "geval+imap", "alignscore", "imapscore:paper"}
    # Table 2: imapScore with the graph on HMedQA, both coefficients.
    assert found[PaperCell("imapscore:paper", "HMedQA", "*", "spearman")] == 0.60
    assert found[PaperCell("imapscore:paper", "HMedQA", "*", "kendall_tau_b")] == 0.51


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("metric,system,rho,tau\nROUGE-1,x,.1,.1\n", "line 2"),
        ("metric,system,dimension,rho,tau\n,x,y,.1,.1\n", r"line 2(?!.*'dimension')"),
        ("metric,system,dimension,rho,tau\nROUGE-1,x,y,17,.1\n", "'17'"),
        ("metric,system,dimension,rho,tau\nROUGE-1,x,y,.1,\n", "line 2"),
        ("metric,system,dimension,rho,tau\nr,x,y,.1,.1\nr,x,y,.2,.1\n", "line 3"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, content: str, message: str):
    path = tmp_path / "paper.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_paper_table(path)
