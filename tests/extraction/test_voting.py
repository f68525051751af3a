import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ExtractionError, ProviderError, SampleError, ServiceError
from imapeval.extraction.extractor import TwoStep
from imapeval.extraction.prompted import PromptedReader
from imapeval.extraction.voting import VotingReader, measure_stability, vote
from imapeval.llm.scripted import ScriptedModel
from imapeval.types import AnswerImap, Imap, Lang, Pair, QuestionImap, Sample


def facts(*values: str, term: str = "advice") -> tuple[Pair, ...]:
    return tuple(Pair(term, value) for value in values)


def kept(*readings: Sequence[Pair], needed: int = 2) -> list[str]:
    return [pair.value for pair in vote(readings, needed=needed).pairs]


def test_what_two_of_three_readings_have_is_kept():
    assert kept(facts("rest", "tea", "sleep"), facts("sleep", "rest"), facts("rest", "surgery")) == ["rest", "sleep"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bed rest", "bed-rest"),
        ("ＣＴ检查", "CT 检查"),
        ("computed tomography (CT)", "CT"),
        ("rest for two weeks", "rest for 14 days"),
        ("drink plenty of water", "drink plenty of warm water"),
        ("口服布洛芬", "口服布洛芬片"),
        ("antacids", "antacid"),
    ],
)
def test_near_identical_values_are_one(one: str, other: str):
    assert kept(facts(one), facts(other)) == [one]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("antibiotics are needed for this infection", "antibiotics are not needed for this infection"),
        ("antibiotics for upper urinary tract infection", "avoid antibiotics for upper urinary tract infection"),
        ("bacterial infection of the left lung", "bacterial infection of the left lung unlikely"),
        ("colchicine 500 mg twice daily", "naproxen 500 mg twice daily"),
        ("colchicine 500 mg twice daily", "colchicine 250 mg twice daily"),
        ("stage III non small cell lung cancer", "stage IV non small cell lung cancer"),
        ("stage 3 non small cell lung cancer", "non small cell lung cancer"),
        ("severe acute gallstone pancreatitis", "severe gallstone pancreatitis"),
        ("口服布洛芬缓释胶囊一天三次", "口服布洛芬缓释胶囊一天两次"),
        ("需要服用抗生素治疗", "不需要服用抗生素治疗"),
        ("细菌感染的可能性较大", "细菌感染的可能性较小"),
        ("penicillin", "antibiotics"),
    ],
)
def test_different_facts_are_not(one: str, other: str):
    assert kept(facts(one), facts(other)) == []


def test_values_of_different_terms_are_different():
    assert kept(facts("rest"), facts("rest", term="treatment")) == []
    assert kept(facts("rest", term="Side effects"), facts("rest", term="side-effect")) == ["rest"]


def test_query_terms_are_compared_as_values_are():
    asked = [[Pair(term, "?")] for term in ("can eat spinach", "can he eat spinach", "diagnosis")]
    assert vote(asked, needed=2).pairs == (Pair("can eat spinach", "?"),)


def test_the_most_frequent_wording_is_kept_and_the_earliest_on_ties():
    assert kept(facts("Rest"), facts("rest"), facts("rest")) == ["rest"]
    assert kept(facts("Rest"), facts("rest"), facts("REST")) == ["Rest"]
    # One reading that repeats itself has no more weight.
    assert kept(facts("Rest", "Rest"), facts("rest"), facts("rest")) == ["rest"]


def test_a_reading_votes_once_however_it_words_it():
    assert kept(facts("rest", "Rest", "REST"), facts("tea"), facts("tea")) == ["tea"]


def test_what_a_reading_lists_as_two_stays_two():
    both = facts("chest pain", "severe chest pain")
    assert kept(both, both, facts("severe chest pain")) == ["chest pain", "severe chest pain"]


def test_the_kept_pair_has_the_place_of_its_first_reading():
    readings = [[Pair("t", "rest")], [Pair("t", "Rest", (0, 4))], [Pair("t", "Rest", (9, 13))]]
    assert vote(readings, needed=2).pairs == (Pair("t", "Rest", (0, 4)),)


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([("a",), ("a",), ("a",)], 1.0),
        ([(), (), ()], 1.0),
        ([("a",), (), ()], 1 / 3),  # (0 + 0 + 1) / 3
        ([("a", "b"), ("b", "c"), ("d",)], 0.5 / 3),
        ([("a",), ("b",)], 0.0),
    ],
)
def test_stability_is_the_mean_agreement_of_two_readings(readings: list[tuple[str, ...]], expected: float):
    counted = vote([facts(*(f"fact {letter}" for letter in reading)) for reading in readings], needed=2)
    assert measure_stability(counted) == pytest.approx(expected)


def test_stability_counts_all_parts_together():
    query = vote([facts("x"), facts("x")], needed=2)
    constraint = vote([facts("y", "z"), facts("y", "w")], needed=2)
    assert measure_stability(query, constraint) == pytest.approx(2 * 2 / 6)


# Values of which no two are near-identical but for case.
VALUES = [
    "rest",
    "drink tea",
    "no surgery",
    "surgery",
    "ibuprofen 400 mg",
    "多休息",
    "不要手术",
    "acute cough",
    "3 days",
]
READINGS = st.lists(
    st.lists(
        st.builds(
            lambda term, value, shout: Pair(term, value.upper() if shout else value),
            st.sampled_from(["advice", "treatment"]),
            st.sampled_from(VALUES),
            st.booleans(),
        ),
        max_size=8,
    ),
    min_size=2,
    max_size=5,
)


def fold(pairs: Sequence[Pair]) -> set[tuple[str, str]]:
    return {(pair.term, pair.value.casefold()) for pair in pairs}


@given(READINGS)
def test_a_majority_of_the_readings_has_what_is_kept_and_of_nothing_else(readings: list[list[Pair]]):
    needed = len(readings) // 2 + 1
    counted = vote(readings, needed=needed)
    folded = [fold(reading) for reading in readings]
    union = set[tuple[str, str]]().union(*folded)
    assert fold(counted.pairs) == {pair for pair in union if sum(pair in reading for reading in folded) >= needed}
    assert len(counted.pairs) == len(fold(counted.pairs))
    assert {pair for reading in readings for pair in reading}.issuperset(counted.pairs)
    assert 0 <= measure_stability(counted) <= 1


WORDS = st.lists(
    st.sampled_from(["chest", "pain", "severe", "X-ray", "of", "left", "lung", "no", "2"]), min_size=1, max_size=4
)
FREE = st.lists(
    st.lists(st.builds(lambda words: Pair("t", " ".join(words)), WORDS), max_size=5), min_size=2, max_size=4
)


@given(FREE)
def test_the_order_of_the_readings_does_not_decide_what_is_kept(readings: list[list[Pair]]):
    counted = vote(readings, needed=2)
    clusters = sorted(map(sorted, _wordings_of(readings, counted.clusters).values()))
    for order in list(permutations(readings))[:6]:
        again = vote(order, needed=2)
        assert len(again.pairs) == len(counted.pairs)
        assert sorted(map(sorted, _wordings_of(order, again.clusters).values())) == clusters
        assert measure_stability(again) == pytest.approx(measure_stability(counted))


def _wordings_of(readings: Sequence[Sequence[Pair]], clusters: Sequence[frozenset[int]]) -> dict[int, list[int]]:
    """Return which readings have each cluster, by the readings' content."""
    found: dict[int, list[int]] = {}
    for reading, theirs in zip(readings, clusters, strict=True):
        for cluster in theirs:
            found.setdefault(cluster, []).append(hash(tuple(reading)))
    return found


@given(READINGS, st.integers(2, 5))
def test_equal_readings_give_that_reading(readings: list[list[Pair]], count: int):
    reading = list({(pair.term, pair.value.casefold()): pair for pair in readings[0]}.values())
    counted = vote([reading] * count, needed=count // 2 + 1)
    assert list(counted.pairs) == reading
    assert measure_stability(counted) == 1


@given(READINGS)
def test_what_one_of_three_readings_has_is_dropped(readings: list[list[Pair]]):
    lonely = Pair("advice", "amputation of the whole leg")
    counted = vote([[lonely, *readings[0]], readings[1], readings[-1]], needed=2)
    assert lonely not in counted.pairs


@dataclass
class Fixed:
    """A reader with one answer to everything."""

    reading: tuple[Pair, ...] | Exception
    signature: str = "fixed|v:1"
    concurrency: int = 8
    seen: list[QuestionImap] = field(default_factory=list)

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        pairs = await self._read()
        return QuestionImap(tuple(Pair(pair.value, "?") for pair in pairs), ())

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        self.seen.append(imap)
        return AnswerImap(await self._read())

    async def _read(self) -> tuple[Pair, ...]:
        await asyncio.sleep(0)
        if isinstance(self.reading, Exception):
            raise self.reading
        return self.reading


ASKED = QuestionImap((Pair("advice", "?"),), ())


async def ask(*readings: tuple[Pair, ...] | Exception) -> AnswerImap:
    reader = VotingReader([Fixed(reading) for reading in readings])
    return await reader.read_answer("A.", question="Q?", imap=ASKED, lang="en")


UNREADABLE = ExtractionError("garbled", kind="unreadable-completion")


async def test_a_failed_reading_is_one_that_was_not_made():
    assert await ask(facts("rest", "tea"), UNREADABLE, facts("rest")) == AnswerImap(facts("rest"), pytest.approx(2 / 3))


async def test_too_few_readings_fail_with_the_first_error():
    for error in (UNREADABLE, ProviderError("no", kind="refusal")):
        with pytest.raises(type(error)) as caught:
            await ask(error, facts("rest"), ExtractionError("other", kind="no-query"))
        assert caught.value is error


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("slow", kind="timeout"),
        ProviderError("not yet", kind="pending"),
        ServiceError("gone", kind="unreachable"),
        KeyError("a bug"),
    ],
    ids=["passing", "pending", "service", "bug"],
)
async def test_what_has_nothing_to_do_with_the_text_is_no_vote(error: Exception):
    with pytest.raises(type(error)) as caught:
        await ask(UNREADABLE, facts("rest"), facts("rest"), facts("rest"), error)
    assert caught.value is error


async def test_what_ends_the_run_does_not_hide_behind_what_passes():
    gone = ServiceError("gone", kind="unreachable")
    with pytest.raises(ServiceError) as caught:
        await ask(ProviderError("slow", kind="timeout"), facts("rest"), gone, UNREADABLE)
    assert caught.value is gone


async def test_readings_that_agree_on_no_question_are_a_failure():
    reader = VotingReader([Fixed(facts(value)) for value in ("diagnosis", "treatment", "prognosis")])
    with pytest.raises(SampleError, match="of 3 readings no 2 agree") as caught:
        await reader.read_question("Q?", lang="en")
    assert (caught.value.kind, caught.value.raw) == ("no-agreement", "diagnosis; treatment; prognosis")


async def test_answers_are_read_in_the_light_of_the_voted_question():
    readers = [Fixed(facts(*values)) for values in (("advice", "cause"), ("advice",), ("Advice", "test"))]
    (imap,) = await TwoStep(VotingReader(readers)).extract(Sample("1", "Q?", ("R.",), "A."))
    assert imap.query == (Pair("advice", "?"),)
    assert [[pair.term for pair in asked.query] for reader in readers for asked in reader.seen] == [["advice"]] * 6
    # The readings are the same of all three texts: Dice 2/3, 1/2 and 2/3.
    assert imap.stability == pytest.approx((2 / 3 + 1 / 2 + 2 / 3) / 3)


def test_one_reader_cannot_vote():
    with pytest.raises(ValueError, match="1 readers cannot vote"):
        VotingReader([Fixed(())])


def test_the_signature_names_votes_rule_and_reader():
    three, five = (VotingReader([Fixed(())] * count) for count in (3, 5))
    assert three.signature == "voted|votes:3|keep:2|same:wording/dice:0.8|v:2|fixed|v:1"
    assert five.signature.startswith("voted|votes:5|keep:3|")


@pytest.mark.parametrize(("inner", "votes", "expected"), [(8, 3, 3), (1, 3, 1), (64, 2, 32)])
def test_the_readings_together_keep_to_the_concurrency(inner: int, votes: int, expected: int):
    assert VotingReader([Fixed((), concurrency=inner)] * votes).concurrency == expected


async def test_each_reading_is_a_request_of_its_own():
    """The paper's setting, whole: three readings of question, reference and response."""
    said = {1: ["rest", "fluids"], 2: ["rest"], 3: ["REST", "surgery"]}

    def reply(request):
        if "<answer>" not in request.messages[-1].content:
            return '{"query": ["treatment"], "constraint": []}'
        return json.dumps({"inform": [{"term": "treatment", "values": said[request.seed]}]})

    model = ScriptedModel(reply)
    readers = [PromptedReader(model, temperature=0.9, seed=seed) for seed in (1, 2, 3)]
    sample = Sample("1", "Q?", ("Fluids, rest, surgery.",), "Surgery, fluids and rest.")
    (imap,) = await TwoStep(VotingReader(readers)).extract(sample)
    assert imap == Imap(
        (Pair("treatment", "?"),),
        (),
        (Pair("treatment", "rest", (8, 12)),),
        (Pair("treatment", "rest", (20, 24)),),
        stability=pytest.approx((1 + 2 * (2 / 3 + 1 / 2 + 2 / 3) / 3) / 3),
    )
    assert sorted(request.seed for request in model.requests) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert {request.temperature for request in model.requests} == {0.9}
