import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run
from imapeval.report.study import slices
from imapeval.report.study.page import render_study, write_study
from imapeval.report.study.selection import select_top_metrics
from imapeval.study.agreement.noise_ceiling import Corrected
from imapeval.study.correlation.baseline import compare_with_baseline
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.heterogeneity import Heterogeneity
from imapeval.study.subgroups.outlier_systems import WithoutOutliers
from imapeval.study.summary.checklist import ChecklistItem
from imapeval.study.summary.compute import Study

VOID = {"meta", "input", "br"}
FINDINGS = ("correlations", "comparisons", "agreements", "differences", "ceilings", "slices", "disagreements")
NOTHING = {**dict.fromkeys(FINDINGS, ()), "matrix": None}


class Page(HTMLParser):
    """Elements in order, the text of each section, cells of tables; says whether every element is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.content: dict[str, str] = {}
        self.rows: dict[str, list[list[str]]] = {}
        self.section = ""
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self.section = dict(attrs).get("id") or ""
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in {"td", "th"}:
            self.rows[self.section][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            self.content[self.open[-1]] = self.content.get(self.open[-1], "") + data
            return
        self.texts[self.section] = self.texts.get(self.section, "") + data
        if "td" in self.open or "th" in self.open:
            self.rows[self.section][-1][-1] += data


# What needs `big` is slow: its page has dozens of drawings.


@pytest.fixture(scope="module")
def source(big: Study) -> str:
    return render_study(big)


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


def select(page: Page, tag: str) -> list[dict[str, str | None]]:
    return [attributes for name, attributes in page.tags if name == tag]


@pytest.mark.slow
def test_it_is_small(source: str):
    assert len(source.encode()) < 3_000_000


@pytest.mark.slow
def test_nothing_is_loaded_and_nothing_is_styled_in_place(page: Page):
    for tag, attributes in page.tags:
        assert tag not in {"img", "image", "link", "iframe", "object", "embed", "script", "foreignobject"}
        assert not {"src", "srcset", "style", "onclick", "onerror", "xlink:href"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
        assert not any("url(" in (value or "") for value in attributes.values())
    assert not re.search(r"https?://|@import|url\(", page.content["style"])


@pytest.mark.slow
def test_policy_allows_our_style_and_no_script(page: Page):
    policy = next(a["content"] for a in select(page, "meta") if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.content["style"].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'none'" in (policy or "")


@pytest.mark.slow
def test_ids_are_unique_and_links_lead_somewhere(page: Page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes.get("href") for _, attributes in page.tags if attributes.get("href")} <= {
        f"#{id_}" for id_ in ids
    }


@pytest.mark.slow
def test_conclusions_come_first(page: Page, big: Study):
    sections = [attributes["id"] for attributes in select(page, "section")]
    assert sections == [
        "conclusions",
        "metrics",
        "comparisons",
        "scatter",
        "likeness",
        "raters",
        "slices",
        "disagreements",
        "account",
        "methods",
        "signatures",
    ]
    for sentence in big.conclusions:
        assert sentence in page.texts["conclusions"]


@pytest.mark.slow
def test_every_drawing_says_what_it_shows(page: Page):
    drawings = select(page, "svg")
    # 4 forests, 4 matrices of verdicts, 4 metrics x 3 dimensions, 1 heat map, 2 covariates.
    assert len(drawings) == 4 + 4 + 12 + 1 + 2
    for attributes in drawings:
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"] or "") > 20


@pytest.mark.slow
def test_numbers_are_the_studys(page: Page, big: Study):
    cells = {cells[0]: cells[1:] for cells in page.rows["metrics"][1:55]}
    heads = {
        (row.metric, row.dimension): row
        for row in big.correlations
        if (row.level, row.system) == ("within-system", ALL)
    }
    assert len(cells) == 54
    for metric, shown in cells.items():
        for dimension, cell in zip((ALL, *big.rated.dimensions), shown, strict=True):
            row = heads[metric, dimension]
            wanted = [row.value, row.low, row.high, row.n]
            found = [float(number.replace("−", "-")) for number in re.findall(r"−?\d*\.?\d+", spread(cell))]
            assert found == pytest.approx([float(number) for number in wanted if number is not None], abs=5.1e-4)


def spread(cell: str) -> str:
    """Put a space between a number of three decimals and what follows it, as the page does by layout."""
    return re.sub(r"(\.\d{3}|1\.000)(?=[−.\d])", r"\1 ", cell)


@pytest.mark.slow
def test_metrics_stand_in_order_of_their_mean(page: Page, big: Study):
    rows = [row for row in big.correlations if (row.level, row.system, row.dimension) == ("within-system", ALL, ALL)]
    means = {row.metric: row.value or -1 for row in rows}
    shown = [cells[0] for cells in page.rows["metrics"][1:55]]
    assert shown == sorted(means, key=lambda metric: -means[metric])


@pytest.mark.slow
def test_all_levels_and_systems_are_there(page: Page, big: Study):
    text = page.texts["metrics"]
    assert "Spearman's ρ, all answers together" in text
    assert "System by system" in text
    for system in set(big.rated.systems):
        assert system in text


@pytest.mark.slow
def test_comparisons_name_neighbours_and_count_what_holds(page: Page, big: Study):
    told = sum(row.dimension == ALL and row.p_adjusted is not None and row.p_adjusted < 0.05 for row in big.comparisons)
    assert f"{told:,} of 1,431 pairs" in page.texts["comparisons"]
    assert "53 sentences on neighbours" in page.texts["comparisons"]
    assert "the 120 comparisons of 1,431" in page.texts["comparisons"]


@pytest.mark.slow
def test_raters_slices_account_and_signatures(page: Page, big: Study):
    assert ["accuracy", "Krippendorff's alpha (interval)", ".620", ".560 to .670", "400", "3"] in page.rows["raters"]
    assert ["accuracy", "rater 1 and rater 2", "41.0%", "46.0%", "9.0%", "3.0%", "1.0%", "0.0%", "0.71", "400"] in (
        page.rows["raters"]
    )
    assert any(cells[0] == "diagnosis" for cells in page.rows["slices"])
    divided = len({row.metric for row in big.slices})
    assert f"slices.csv has {divided} metrics." in page.texts["slices"]
    for sentence in big.account:
        assert sentence in page.texts["account"]
    assert ["rouge1", "rouge1|v:1.0|lowercase:yes"] in page.rows["signatures"]


@pytest.mark.slow
def test_methods_are_those_that_were_used(page: Page):
    said = page.texts["methods"]
    for part in (
        "Spearman 1904",
        "Holm 1979",
        "Deutsch, Dror and Roth 2021",
        "Krippendorff 2019",
        "2,000 bootstrap resamples",
        "Hesterberg",
    ):
        assert part in said
    for part in ("Williams 1959", "Kendall 1945", "Cohen 1960", "Thompson"):
        assert part not in said


def test_methods_follow_the_findings(small: Study):
    rows = tuple(replace(row, test="boot-inputs", interval="bootstrap") for row in small.comparisons)
    said = Page(render_study(replace(small, comparisons=rows))).texts["methods"]
    assert "test: boot-inputs" in said
    assert "interval of a difference: bootstrap" in said


def test_texts_stay_texts_and_reasons_are_told(small: Study):
    source = render_study(small)
    page = Page(source)
    name = small.rated.metrics[2]
    assert not select(page, "img")
    assert "A & <b>study</b>" in page.texts[""]
    assert name in page.texts["metrics"]
    assert "the score is constant" in page.texts["metrics"]
    assert f"{name} (HMedQA/GPT-4: accuracy, HMedQA/GPT-4: completeness" in page.texts["metrics"]
    assert "Only averages over raters are known" in page.texts["raters"]
    assert "only averages are known" in page.texts["metrics"]
    assert "runs were not given" in page.texts["disagreements"]


def narrow(rated: Rated, *, metrics: int, dimensions: int, rows: int) -> Rated:
    kept = rated.take(range(rows))
    names = kept.dimensions[:dimensions]
    return replace(
        kept,
        metrics=kept.metrics[:metrics],
        scores=kept.scores[:, :metrics],
        dimensions=names,
        ratings=kept.ratings[:, :dimensions],
        by_rater={name: kept.by_rater[name] for name in names},
        scales={name: kept.scales[name] for name in names},
    )


@pytest.mark.parametrize(("metrics", "dimensions", "rows"), [(1, 1, 60), (1, 3, 60), (2, 1, 60), (3, 3, 2)])
def test_little_can_be_shown(
    metrics: int, dimensions: int, rows: int, build: Callable[..., Study], draw_answers: Callable[..., Rated]
):
    rated = narrow(draw_answers(60, ("a", "b", "c"), raters=2), metrics=metrics, dimensions=dimensions, rows=rows)
    page = Page(render_study(build(rated)))
    sections = [attributes["id"] for attributes in select(page, "section")]
    assert ("comparisons" in sections) == (metrics > 1)
    assert ("scatter" in sections) == (rows > 2)
    assert "mean of dimensions" not in page.texts.get("metrics", "") or dimensions > 1


def test_one_dimension_whose_only_mean_is_that_of_all(small: Study):
    """`correlate` gives no mean over systems beside that over all cells where there is one dimension."""
    rated = replace(small.rated, dimensions=("accuracy",), ratings=small.rated.ratings[:, :1], scales={})
    rows = [row for row in small.correlations if row.level == "within-system" and row.dimension in {ALL, "accuracy"}]
    rows = [row for row in rows if row.system != ALL or row.dimension == ALL]
    only = replace(small, **{**NOTHING, "rated": rated, "correlations": tuple(rows), "matrix": small.matrix})
    page = Page(render_study(only))
    assert page.rows["metrics"][0] == ["metric", "accuracy"]
    assert "mean of dimensions" not in page.texts["metrics"]
    assert "accuracy: " in page.texts["scatter"]


@pytest.fixture(scope="module")
def bare(small: Study) -> Study:
    """A study in which nothing was found."""
    empty = {"rated": small.rated.take([]), "signatures": {}, "account": (), "conclusions": (), **NOTHING}
    return replace(small, level="system", coefficient="pearson", **empty)


def test_without_any_finding(bare: Study):
    page = Page(render_study(bare))
    assert "No correlation was computed" in page.texts["metrics"]
    assert "No metrics were compared" in page.texts["comparisons"]
    assert "No conclusion can be drawn" in page.texts["conclusions"]


def test_conclusions_at_a_level_that_is_not_there(small: Study):
    page = Page(
        render_study(replace(small, level="system", correlations=small.correlations[:9], slices=(), matrix=None))
    )
    assert "The study has no Spearman's ρ at the level" in page.texts["metrics"]


def test_all_is_undefined(small: Study):
    rows = tuple(
        replace(row, value=None, low=None, high=None, reason="the rating is constant") for row in small.correlations
    )
    compared = tuple(
        replace(row, difference=None, low=None, high=None, p=None, p_adjusted=None, reason="undefined", sentence="")
        for row in small.comparisons
    )
    page = Page(render_study(replace(small, correlations=rows, comparisons=compared)))
    assert "the rating is constant" in page.texts["metrics"]
    assert "0 of 3 pairs differ significantly at a level of 0.05; 3 gave no result." in page.texts["comparisons"]
    assert "scatter" not in page.texts


def test_constant_scores(small: Study):
    rated = replace(small.rated, scores=np.ones_like(small.rated.scores))
    assert Page(render_study(replace(small, rated=rated))).texts["scatter"]


@pytest.mark.parametrize(("rated_answers", "legend"), [(20, True), (40, False)])
def test_the_legend_is_that_of_the_points(
    small: Study, monkeypatch: pytest.MonkeyPatch, rated_answers: int, legend: bool
):
    monkeypatch.setattr(slices, "MAX_POINTS", 30)
    ratings = small.rated.ratings.copy()
    ratings[rated_answers:] = np.nan
    page = str(slices.render_scatters(replace(small, rated=replace(small.rated, ratings=ratings))))
    assert ('class="key"' in page) == legend
    # Only points have the colours of the systems.
    assert ("var(--series-2)" in page) == legend


def test_the_same_page_each_time(small: Study, drawings: dict[bytes, str]):
    fewer = replace(small, slices=(), comparisons=())
    page, earlier = render_study(fewer), {**drawings}
    drawings.clear()
    assert render_study(fewer) == page
    assert drawings
    drawings |= earlier


def test_texts_of_the_answers(of_run: tuple[Study, Run]):
    study, run = of_run
    page = Page(render_study(study, runs=[run]))
    assert [cells[0] for cells in page.rows["disagreements"][1:]] == ["a/1 ü", "b", "c"]
    assert [cells[-1] for cells in page.rows["disagreements"][1:]] == ["too high", "too low", "too low"]
    assert "#sample=a%2F1%20%C3%BC" in [attributes.get("href") for attributes in select(page, "a")]
    data = json.loads(page.content["script"].partition("\n")[0].partition("// Building blocks")[0])
    assert [sample["id"] for sample in data["samples"]] == ["a/1 ü", "b", "c"]
    # The study's rating, not the 4.5 of the run.
    assert data["samples"][0]["ratings"] == {"accuracy": 1.25}
    assert data["samples"][0]["scores"] == [[0.8, {"recall": 0.9, "reference": 1.0}]]
    assert len(data["samples"][0]["imaps"]) == 1


def test_two_runs_of_the_same_answers_are_shown_once(of_run: tuple[Study, Run]):
    study, run = of_run
    page = Page(render_study(study, runs=[run, run]))
    assert len(re.findall(r'"ref":', page.content["script"])) == 1


def test_a_broken_run(of_run: tuple[Study, Run], tmp_path: Path):
    study, run = of_run
    (run.folder / "results.jsonl").write_text('{"id": "b"}\n')
    with pytest.raises(InputError, match=r"results\.jsonl"):
        write_study(study, tmp_path / "study.html", runs=[run])


def test_a_page_that_cannot_be_written(bare: Study, tmp_path: Path):
    with pytest.raises(UsageError, match="cannot write"):
        write_study(bare, tmp_path)


def test_half_a_character(bare: Study, tmp_path: Path):
    write_study(replace(bare, title="half \ud83d"), tmp_path / "study.html")
    assert "half ?" in (tmp_path / "study.html").read_text(encoding="utf-8")


def test_groups_that_differ_and_corrected_coefficients(small: Study):
    differing = Heterogeneity(
        "imapscore", "task", ALL, "spearman", 3, 0.1, 0.5, 9.1, 2, 0.01, 0.02, 80, None, "They do."
    )
    same = replace(differing, facet="system", p_adjusted=0.6, sentence="They do not.")
    corrected = Corrected("imapscore", "accuracy", "spearman", 0.57, 0.9, 0.633, 0.5, 0.7, 80)
    found = replace(small, comparisons=(), heterogeneities=(differing, same), corrected=(corrected,))
    page = Page(render_study(found))
    assert "They do." in page.texts["slices"]
    assert "They do not." not in page.texts["slices"]
    assert "Hedges and Olkin 1985" in page.texts["methods"]
    assert ["imapscore", "accuracy", "Spearman's ρ", ".570", ".633", ".500 to .700"] in page.rows["raters"]
    page = Page(render_study(replace(found, heterogeneities=(same,))))
    assert "No difference between groups is significant" in page.texts["slices"]
    # A metric that is not among those drawn was tested as well: it is shown, as Holm's correction counts it.
    hidden = replace(differing, metric="hidden", sentence="Hidden does.")
    page = Page(render_study(replace(found, heterogeneities=(same, hidden))))
    assert "Hidden does." in page.texts["slices"]
    assert "mean of dimensions 2" in page.texts["slices"]


@pytest.mark.slow
def test_holm_corrects_by_dimension_and_the_page_says_so(big: Study, page: Page):
    number = sum(row.dimension == ALL and row.p is not None for row in big.comparisons)
    assert 1 < number <= 1431
    for section in ("methods", "comparisons"):
        assert "Holm's correction within each dimension and within the mean of dimensions" in page.texts[section]
    one = replace(big, comparisons=tuple(row for row in big.comparisons if row.dimension == ALL))
    assert f"Holm's correction over {number:,} comparisons." in Page(render_study(one)).texts["methods"]


def test_metrics_are_ranked_by_accuracies(small: Study):
    one = small.comparisons[0]
    names = [*small.rated.metrics]
    ranks = dict(zip(names, (1, 2, 2), strict=True))
    rows = [
        replace(
            one,
            first=first,
            second=second,
            dimension="accuracy",
            level="within-question",
            coefficient="pairwise_accuracy",
            test="perm-inputs",
            first_rank=ranks[first],
            second_rank=ranks[second],
        )
        for first, second in combinations(names, 2)
    ]
    values = [
        replace(
            small.correlations[0],
            metric=name,
            dimension="accuracy",
            level="within-question",
            coefficient="pairwise_accuracy",
            value=value,
            low=value - 0.1,
            high=value + 0.1,
        )
        for name, value in zip(names, (0.8, 0.55, 0.6), strict=True)
    ]
    study = replace(small, comparisons=(*small.comparisons, *rows), correlations=(*small.correlations, *values))
    page = Page(render_study(study))
    assert "Ranks by pairwise accuracy: accuracy" in page.texts["comparisons"]
    found = [cells for cells in page.rows["comparisons"] if len(cells) == 4 and cells[0] in names]
    assert found == [
        [names[0], ".800", ".700 to .900", "1"],
        [names[2], ".600", ".500 to .700", "2"],
        [names[1], ".550", ".450 to .650", "2"],
    ]
    assert "for each coefficient" in page.texts["methods"]
    # Where each was compared with one metric alone there are no ranks, but the comparisons.
    against = [replace(row, first_rank=None, second_rank=None) for row in rows[:2]]
    page = Page(render_study(replace(study, comparisons=(*small.comparisons, *against))))
    assert not [cells for cells in page.rows["comparisons"] if len(cells) == 4 and cells[0] in names]
    assert "; of 3 metrics" not in page.texts["comparisons"]
    page = Page(render_study(replace(study, comparisons=(*small.comparisons, rows[0]))))
    assert "of 3 metrics the 2 with the highest accuracy" in page.texts["comparisons"]


@pytest.mark.slow
def test_what_intervals_and_tests_speak_about(small: Study, page: Page):
    assert "interval (for these systems on other questions), and n" in page.texts["metrics"]
    assert "perm-inputs, for these systems on other questions" in page.texts["comparisons"]
    others = replace(
        small, correlations=tuple(replace(row, units="systems", interval="jackknife") for row in small.correlations)
    )
    texts = Page(render_study(others)).texts
    assert "interval (for other systems on these questions), and n" in texts["metrics"]
    assert "one system after the other left out" in texts["methods"]
    assert "Tukey 1958" in texts["methods"]


@pytest.mark.slow
def test_the_metric_that_others_are_compared_with_has_plots_and_groups(big: Study):
    named = big.rated.metrics[-1]
    study = replace(big, against=named)
    assert named not in select_top_metrics(big)
    assert select_top_metrics(study) == [*select_top_metrics(big)[:-1], named]
    source = render_study(study)
    assert f"The metrics with the 3 highest coefficients, and {named}: " in Page(source).texts["scatter"]
    assert f"Scatter plot of {named} against" in source


def test_one_system_has_no_table_of_levels(small: Study):
    several = replace(small, baselines=tuple(compare_with_baseline(small.rated, "spearman")))
    one = replace(several, rated=replace(small.rated, systems=("one",) * len(small.rated.ids)))
    assert "Side by side" in render_study(several)
    assert "Side by side" not in render_study(one)


def test_systems_that_stand_apart(small: Study):
    row = WithoutOutliers("m", "accuracy", "pearson", ("sys & 7",), 0.98, 0.42, 7)
    page = render_study(replace(small, outliers=(row,)))
    for part in ("without outliers", "sys &amp; 7", ">.980<", ">.420<", "Mathur, Baldwin and Cohn 2020"):
        assert part in page


def test_the_reporting_checklist(small: Study):
    items = (
        ChecklistItem("GRRAS 12", "training", stated="<b>An hour</b>"),
        ChecklistItem(
            "GRRAS 8", "blinding", missing="whether raters knew the system (blinding in study.toml)", key="blinding"
        ),
    )
    page = render_study(replace(small, checklist=items))
    for part in (
        "&lt;b&gt;An hour",
        "whether raters knew the system",
        "missing from 1 of 2 items",
        "Kottner et al. 2011",
    ):
        assert part in page
    assert 'id="checklist"' not in render_study(replace(small, checklist=()))
