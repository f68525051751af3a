import re
from xml.etree import ElementTree

import numpy as np
import pytest

from imapeval.report.study.charts.forest_plot import draw_forest, find_axis_limits
from imapeval.report.study.charts.group_plot import draw_group_plot
from imapeval.report.study.charts.heatmaps import draw_metric_matrix, draw_winners
from imapeval.report.study.charts.scatter_plot import draw_scatter, jitter
from imapeval.study.agreement.noise_ceiling import Ceiling
from imapeval.study.correlation.metric_matrix import MetricMatrix
from imapeval.study.data.findings import Correlation
from imapeval.study.data.scales import RatingScale
from imapeval.study.subgroups.slices import Slice


def read_texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawing).iter("text")]


def find_filled(drawing: str, variable: str) -> list[ElementTree.Element]:
    return [
        element for element in ElementTree.fromstring(drawing).iter("path") if element.get("fill") == f"var({variable})"
    ]


def row(metric: str, value: float | None, low: float | None = None, high: float | None = None, **more) -> Correlation:
    return Correlation(metric, "*", "*", "spearman", value, low, high, 100, 0, **more)


def forest(rows: list[Correlation], ceiling: Ceiling | None = None) -> str:
    limits = find_axis_limits(rows, [] if ceiling is None else [ceiling])
    return draw_forest(rows, limits=limits, ceiling=ceiling, name="f", label="forest")


def test_forest_says_value_n_and_failures_or_why_there_is_no_value():
    texts = read_texts(forest([row("a", 0.574, 0.4, 0.7), row("b", None, reason="the score is constant")]))
    for said in ("a", ".57", "100", "b", "–", "the score is constant"):
        assert said in texts


def test_a_value_without_an_interval_has_a_dot_and_no_bar():
    with_bar, without = forest([row("a", 0.5, 0.4, 0.6)]), forest([row("a", 0.5)])
    assert with_bar.count('stroke="var(--series-1)"') == 1
    assert without.count('stroke="var(--series-1)"') == 0
    assert "no interval" in without


def test_the_axis_holds_everything():
    ceiling = Ceiling("*", "spearman", 0.8, 0.95, 0.9, 0.97, 100, 3.0)
    low, high = find_axis_limits([row("a", -0.2, -0.6, 0.3), row("b", None)], [ceiling])
    assert low < -0.6
    assert high > 0.97
    # 4% of 0 to .1 on both sides.
    assert find_axis_limits([], []) == pytest.approx((-0.004, 0.104))


def test_the_ceiling_is_drawn_where_it_has_a_value():
    known = Ceiling("*", "spearman", 0.8, 0.913, 0.9, 0.92, 100, 3.0)
    unknown = Ceiling("*", "spearman", None, None, None, None, 0, 0.0, "only averages are known")
    assert "ceiling .91" in read_texts(forest([row("a", 0.5)], known))
    assert not any("ceiling" in text for text in read_texts(forest([row("a", 0.5)], unknown)))


def scatter(scores: np.ndarray, ratings: np.ndarray, **more) -> str:
    given = {"systems": ["s"] * len(scores), "colours": [], "scale": None, "seed": 1, "crowded": False} | more
    return draw_scatter(scores, ratings, axes=("score", "rating"), name="s", label="scatter", **given)


def count_points(drawing: str) -> int:
    return len([use for use in ElementTree.fromstring(drawing).iter("use") if set(use.attrib) == {"href", "x", "y"}])


def test_a_point_for_each_answer_with_both_numbers():
    rng = np.random.default_rng(1)
    scores, ratings = rng.normal(size=60), rng.normal(size=60)
    ticks = count_points(scatter(np.full(60, np.nan), ratings))
    scores[:5] = np.nan
    ratings[5:8] = np.nan
    assert count_points(scatter(scores, ratings)) - ticks == 52


def test_systems_have_colour_and_shape():
    rng = np.random.default_rng(1)
    drawn = scatter(
        rng.normal(size=40), rng.normal(size=40), systems=["a", "b"] * 20, colours=["a", "b"], scale=RatingScale(-4, 4)
    )
    groups = [group for group in ElementTree.fromstring(drawn).iter("g") if "var(--series" in group.get("fill", "")]
    assert [group.get("fill") for group in groups] == ["var(--series-1)", "var(--series-2)"]
    shapes = [{use.get("href") for use in group} for group in groups]
    assert all(len(shape) == 1 for shape in shapes)
    assert shapes[0] != shapes[1]


def test_many_answers_become_hexagons():
    rng = np.random.default_rng(1)
    size = 5001
    drawn = scatter(rng.normal(size=size), rng.integers(0, 11, size) / 2, crowded=True)
    assert len(drawn) < 300_000
    # Hexagons have six corners and no curves.
    shapes = {path.get("id"): path.get("d", "") for path in ElementTree.fromstring(drawn).iter("path")}
    assert any(shape.count("L") == 5 and "C" not in shape for id_, shape in shapes.items() if id_)
    assert not any("C" in shape for shape in shapes.values())


@pytest.mark.parametrize("size", [0, 1, 2])
def test_few_answers_can_be_drawn(size: int):
    for crowded in (False, True):
        assert "<svg" in scatter(np.ones(size), np.ones(size), crowded=crowded)


def test_jitter_keeps_ratings_apart_and_is_the_same_each_time():
    ratings = np.tile(np.arange(0, 5.5, 0.5), 9)
    moved = jitter(ratings, seed=3)
    assert np.array_equal(moved, jitter(ratings, seed=3))
    assert not np.array_equal(moved, jitter(ratings, seed=4))
    assert np.abs(moved - ratings).max() <= 0.5 / 3
    assert np.array_equal(np.round(moved * 2) / 2, ratings)


@pytest.mark.parametrize("ratings", [np.arange(500) * 0.01, np.ones(20), np.array([1.0, 2.0])])
def test_what_is_no_grid_stays(ratings: np.ndarray):
    assert np.array_equal(jitter(ratings, seed=1), ratings)


def test_verdicts_by_colour_and_sign():
    verdicts = {(0, 1): 1, (1, 0): -1, (0, 2): 0, (2, 0): 0, (1, 2): 1, (2, 1): -1}
    drawn = draw_winners(["a", "b", "c"], verdicts, name="v", label="verdicts")
    for variable in ("--series-1", "--series-2", "--soft-ink"):
        (path,) = find_filled(drawn, variable)
        assert path.get("d", "").count("M") == 2
    texts = read_texts(drawn)
    assert (texts.count("+"), texts.count("−"), texts.count("·")) == (2, 2, 2)


def test_matrix_has_a_cell_for_each_defined_coefficient():
    values = ((1.0, -0.5, None), (-0.5, 1.0, 0.25), (None, 0.25, 1.0))
    matrix = MetricMatrix(("a", "b", "c"), values, ((1, 2, 0.75, 2), (0, 3, 0.9, 3)), 50)
    drawn = draw_metric_matrix(matrix, name="m", label="matrix")
    texts = read_texts(drawn)
    assert (texts.count("1.00"), texts.count("−.50"), texts.count(".25")) == (3, 2, 2)
    # Cells come before the key, whose squares are of one size.
    cells = sum(path.get("d", "").count("M") for path in find_filled(drawn, "--series-1"))
    key = 4
    assert cells - key == 5


def test_fifty_metrics_have_a_label_each_and_few_paths():
    names = tuple(f"metric {n}" for n in range(54))
    values = tuple(tuple(float(np.cos((a - b) / 9)) for b in range(54)) for a in range(54))
    merges = tuple((n if n == 0 else 53 + n, n + 1, 0.01 * (n + 1), n + 2) for n in range(53))
    drawn = draw_metric_matrix(MetricMatrix(names, values, merges, 400), name="m", label="matrix")
    assert set(names) <= set(read_texts(drawn))
    assert len(list(ElementTree.fromstring(drawn).iter("path"))) < 100
    assert not re.search(r"nan|inf", drawn)


def test_buckets_leave_out_what_is_undefined():
    groups = ["10 to 20", "21 to 400", "unknown"]
    cells = {
        ("a", "10 to 20"): Slice("a", "length", "10 to 20", "*", "spearman", 0.5, 0.3, 0.7, 40),
        ("a", "21 to 400"): Slice("a", "length", "21 to 400", "*", "spearman", None, None, None, 3, "too few"),
        ("b", "10 to 20"): Slice("b", "length", "10 to 20", "*", "spearman", 0.2, None, None, 41),
    }
    drawn = draw_group_plot(["a", "b"], groups, cells, name="b", label="buckets")
    texts = read_texts(drawn)
    for said in ("10 to", "20", "21 to", "400", "unknown", "n 41", "n 3", "n 0"):
        assert said in texts
    titles = [element.text for element in ElementTree.fromstring(drawn).iter("title")]
    assert titles == ["a, 10 to 20: .500, .300 to .700 (n = 40)", "b, 10 to 20: .200 (n = 41)"]


def test_equal_means_that_differ_by_rounding_are_moved_apart():
    # By hand: three ratings on 0..1 by .1 have means on a grid of 1/30, so that a third of a step is 1/90.
    means = np.round(np.random.default_rng(0).integers(0, 11, (300, 3)) * 0.1, 10).mean(axis=1)
    assert len(np.unique(means)) > len(np.unique(means.round(9)))
    assert 1 / 100 < np.abs(jitter(means, seed=0) - means).max() <= 1 / 90
