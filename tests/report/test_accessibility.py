"""axe-core's rules on the page of a run: light and dark, wide and on a phone, in English and in Chinese."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.report.run_page import write_report
from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Sample, Score
from tests.report.conftest import check_rules

pytestmark = pytest.mark.slow

CHINESE = Sample(
    "头痛/1",
    "偏头痛发作时怎么办？需要去医院吗？",
    ("服用布洛芬400毫克，卧床休息。", "多喝水。"),
    "可能需要布洛芬200毫克，避免饮酒。",
    "zh",
    "系统甲",
    {"准确性": 3.0},
    {"task": "治疗", "科室": "神经内科", "年龄": 38},
)
IMAP = Imap(
    (Pair("治疗", "?"),),
    (Pair("疾病", "偏头痛"),),
    (Pair("治疗", "布洛芬400毫克", (2, 10)), Pair("治疗", "卧床休息", (11, 15))),
    (Pair("治疗", "布洛芬200毫克", (4, 12), certainty="possible"), Pair("建议", "避免饮酒", (13, 17), "denied")),
)
MATCHES = (
    Match("治疗", "布洛芬400毫克", "布洛芬200毫克", Relation.CONTRADICTION, 0.9, "text"),
    Match("治疗", "布洛芬400毫克", "避免饮酒", Relation.UNMATCHED, 0.1, "encoder", {}, "建议"),
)


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    """The page of two systems with scores from bad to good, a failure, contradictions and missing facts."""
    samples = [
        replace(CHINESE, id=f"头痛/{n}", question=f"{CHINESE.question}（{n // 2}）", system=("系统甲", "系统乙")[n % 2])
        for n in range(12)
    ]
    outcomes: list[Outcome] = [Score(n / 11, {"recall": n / 11, "precision": 0.5, "reference": 0.0}) for n in range(11)]
    outcomes.append(Failure("extraction", "truncated", "the completion was cut off", "{"))
    settings = RunSettings({"imapscore": "imapscore|v:1"}, ranges={"imapscore": (0.0, 1.0)})
    folder = tmp_path / "中文"
    with RunWriter(folder, samples, settings=settings, source="数据.jsonl") as writer:
        writer.add(
            imaps=[ImapRecord(sample.id, IMAP, MATCHES) for sample in samples],
            results=[
                Result(sample.id, "imapscore", outcome, "imapscore|v:1")
                for sample, outcome in zip(samples, outcomes, strict=True)
            ],
        )
        writer.finish()
    return write_report(folder)


@pytest.mark.parametrize(
    ("language", "width", "scheme"),
    [("en", 1300, "light"), ("en", 390, "dark"), ("zh", 1300, "dark"), ("zh", 390, "light")],
)
def test_no_rule_of_axe_is_broken(
    language: str, width: int, scheme: str, run: Path, chinese: Path, open_page: Callable[..., Page]
):
    path = write_report(run) if language == "en" else chinese
    page = open_page(path, color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce")
    for view in ("List", "Matrix"):
        page.get_by_role("button", name=view, exact=True).click()
        if language == "zh":
            page.get_by_role("searchbox", name="search").fill("布洛芬")
        check_rules(page)
