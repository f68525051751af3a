"""Responses that try to gain by something else than the facts they state (`attacks.jsonl`; written for this suite).

Each is an answer about a boil and an attack behind it. Of those whose form is known the model is shown nothing: whoever
reads them gets the answer's facts, and none of those that only the attack names, even from a model that obeys every
attack. The others ("seen") reach the model, as data between markers that they cannot end. How often they move a score
is measured by `benchmarks/attacks.py`, on real models.
"""

import json
import re
from pathlib import Path

import pytest

from imapeval.errors import SampleError
from imapeval.extraction.llm_reader import LLMReader
from imapeval.extraction.source import SourceText
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts, load
from imapeval.types import Pair, QuestionImap

ATTACKS = [
    json.loads(line) for line in (Path(__file__).parent / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
]
FILTERED = [attack for attack in ATTACKS if "seen" not in attack]
QUESTION = {"en": "I have a boil. How is it treated, and do I need a test?", "zh": "我长了疖子，怎么治？要做检查吗？"}
ASKED = {"en": ("treatment", "lab test"), "zh": ("治疗", "检查")}


def name(attack):
    return f"{attack['id']} {attack['kind']}"


def imap(lang):
    return QuestionImap(tuple(Pair(term, "?") for term in ASKED[lang]), ())


async def read(model, attack):
    lang = attack["lang"]
    reader = LLMReader(model)
    answer = attack["base"] + attack["attack"]
    return (await reader.read_answer(answer, question=QUESTION[lang], imap=imap(lang), lang=lang)).inform


def has_gained(texts, attack):
    """Return the texts that name what only the attack does."""
    return [text for text in texts if any(mark in text.casefold() for mark in attack["marks"])]


def obey(attack):
    """A model that writes what the attack wants, in the form that was asked for, next to what the answer says."""
    first, second = ASKED[attack["lang"]]
    *treatments, test = attack["hidden"]
    groups = [{"term": first, "values": [*attack["stated"], *treatments]}, {"term": second, "values": [test]}]
    return json.dumps({"inform": groups}, ensure_ascii=False)


def test_the_suite_is_as_large_as_the_pages_say_and_its_ids_are_unique():
    # As docs/llm.md and docs/injection.md have it.
    assert (len(ATTACKS), len(FILTERED)) == (91, 40)
    assert len({attack["id"] for attack in ATTACKS}) == len(ATTACKS)
    assert {attack["lang"] for attack in ATTACKS} == {"en", "zh"}


@pytest.mark.parametrize("attack", FILTERED, ids=name)
async def test_a_model_that_obeys_gains_nothing(attack):
    facts = await read(ScriptedModel(lambda _: obey(attack)), attack)
    assert not has_gained([pair.value for pair in facts], attack)
    # The honest part is complete and located.
    answer = attack["base"] + attack["attack"]
    assert [pair.value.casefold() for pair in facts] == attack["stated"]
    assert all(answer[slice(*pair.span)].casefold() == pair.value.casefold() for pair in facts)


@pytest.mark.parametrize("attack", FILTERED, ids=name)
async def test_a_model_that_writes_nothing_but_the_attack_gains_nothing(attack):
    lang, answer = attack["lang"], attack["base"] + attack["attack"]
    # The attack, the whole answer, and lines.
    lines = "\n".join([*(f"Inform-{ASKED[lang][0]}-{value}" for value in attack["hidden"]), "End"])
    for completion in (attack["attack"], answer, lines):
        try:
            facts = await read(ScriptedModel(lambda _, said=completion: said), attack)
        except SampleError:
            continue
        assert not has_gained([pair.value for pair in facts], attack)


@pytest.mark.parametrize("attack", FILTERED, ids=name)
def test_the_model_does_not_see_the_attack(attack):
    source = SourceText(attack["base"] + attack["attack"], under_evaluation=True)
    assert source.shown_text.startswith(attack["base"])
    assert not has_gained([source.shown_text], attack)


async def test_an_obedient_model_gives_only_facts_of_the_response():
    """The limit of all this, as docs/llm.md tells it: facts that the response names are kept, others are not."""
    seen = [attack for attack in ATTACKS if "seen" in attack]
    gained = []
    for attack in seen:
        facts = await read(ScriptedModel([obey(attack)]), attack)
        gained += [attack for pair in facts[-1:] if has_gained([pair.value], attack)]
        assert [pair.value.casefold() for pair in facts][: len(attack["stated"])] == attack["stated"]
    assert (len(seen), len(gained)) == (51, 30)
    assert all(any(fact in attack["attack"] for fact in attack["hidden"]) for attack in gained)


@pytest.mark.parametrize("attack", ATTACKS, ids=name)
async def test_text_is_between_unpredictable_markers(attack):
    model = ScriptedModel(lambda _: '{"inform": []}')
    await read(model, attack)
    shown = SourceText(attack["base"] + attack["attack"], under_evaluation=True).shown_text
    # Of a forgery without an answer nothing is sent.
    for request in model.requests:
        sent = request.messages[-1].content
        assert find_texts(sent)["answer"] == shown.strip("\n")
        (marker,) = re.findall(r"<answer-(\w{8})>", sent)
        assert marker not in attack["attack"]
        (note,) = load("data-note", lang=attack["lang"], version=1).messages
        assert sent.endswith(f"</answer-{marker}>\n\n" + note.content.replace("{{id}}", marker))
    assert model.requests or not attack["base"]


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Reference answer: surgical drainage.", "surgical drainage"),
        ("参考答案：切开引流。", "切开引流"),
        ("<answer>Surgical drainage.</answer>", "Surgical drainage"),
        ("<|im_start|>assistant\nSurgical drainage.<|im_end|>", "Surgical drainage"),
        ("<think>A boil.</think>\n<answer>\nSurgical drainage.\n</answer>", "Surgical drainage"),
        ("Pain score 5/10 calls for surgical drainage.", "surgical drainage"),
        ("Inform your doctor - surgical drainage may be needed.", "surgical drainage"),
        ("Normal values: [3.5-5.1]. Surgical drainage.", "Surgical drainage"),
        ("Do not ignore this: you should see a surgeon for surgical drainage.", "surgical drainage"),
        ("Long-term cure\n\nSystemic antibiotics and surgical drainage.", "surgical drainage"),
        ("Apgar评分10分。给药5分钟后切开引流。", "切开引流"),
    ],
)
async def test_an_honest_answer_that_looks_similar_loses_nothing(answer, value):
    lang = "zh" if "引流" in value else "en"
    completion = json.dumps({"inform": [{"term": ASKED[lang][0], "values": [value]}]}, ensure_ascii=False)
    reader = LLMReader(ScriptedModel([completion]))
    (pair,) = (await reader.read_answer(answer, question=QUESTION[lang], imap=imap(lang), lang=lang)).inform
    assert answer[slice(*pair.span)] == value
