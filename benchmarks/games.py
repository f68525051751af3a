"""What an answer gains by gaming the score: `python benchmarks/games.py`.

Rewrites every response of the shipped samples so that it lists sixty diagnoses, contradicts itself, repeats the
question, states everything twice, hedges everything or uses look-alike letters, and prints as Markdown how the score
changes: with offline extraction and matching, and with a scripted model that extracts what the text states and relates
it truthfully. Where several relations are defensible, the script decides in favour of the gaming response.
tests/test_games.py tests what this measures.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.evaluation.pipeline import open_extractor, open_graph, open_matcher
from imapeval.evaluation.samples import read
from imapeval.extraction.lexicon.statements import read_statements
from imapeval.extraction.source import SourceText
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.matching.llm import LLMMatcher
from imapeval.metrics.imapscore import score_graded
from imapeval.text.normalise import normalise
from imapeval.text.phrases import parse_phrase
from imapeval.types import Failure, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.extraction.protocols import Extractor
    from imapeval.graph.store.graph import Graph
    from imapeval.llm.protocol import Model, Request
    from imapeval.matching.hybrid import HybridMatcher
    from imapeval.matching.protocol import Matcher
    from imapeval.types import Lang

DISEASES: dict[Lang, str] = {
    "en": (
        "pneumonia, asthma, bronchitis, gout, migraine, sinusitis, appendicitis, cystitis, hepatitis, "
        "gastritis, eczema, psoriasis, anemia, diabetes, hypertension, stroke, epilepsy, tuberculosis, "
        "malaria, measles, mumps, rubella, chickenpox, shingles, influenza, tonsillitis, otitis, "
        "conjunctivitis, glaucoma, cataract, arthritis, osteoporosis, lupus, lymphoma, leukemia, melanoma, "
        "pancreatitis, cholecystitis, diverticulitis, hemorrhoids, hernia, scoliosis, sciatica, vertigo, "
        "tinnitus, depression, anxiety disorder, schizophrenia, dementia, Parkinson's disease, multiple "
        "sclerosis, hypothyroidism, hyperthyroidism, endometriosis, prostatitis, nephritis, sepsis, "
        "meningitis, scabies, ringworm"
    ),
    "zh": (
        "肺炎、哮喘、支气管炎、痛风、偏头痛、鼻窦炎、阑尾炎、膀胱炎、肝炎、胃炎、湿疹、银屑病、贫血、"
        "糖尿病、高血压、中风、癫痫、结核、疟疾、麻疹、腮腺炎、风疹、水痘、带状疱疹、流感、扁桃体炎、"
        "中耳炎、结膜炎、青光眼、白内障、关节炎、骨质疏松、狼疮、淋巴瘤、白血病、黑色素瘤、胰腺炎、"
        "胆囊炎、憩室炎、痔疮、疝气、脊柱侧弯、坐骨神经痛、眩晕、耳鸣、抑郁症、焦虑症、精神分裂症、"
        "痴呆、帕金森病、多发性硬化、甲减、甲亢、子宫内膜异位症、前列腺炎、肾炎、败血症、脑膜炎、"
        "疥疮、体癣"
    ),
}
DENIED: dict[Lang, tuple[str, str]] = {"en": ("Do not: ", "do not "), "zh": ("不要：", "不要")}
HEDGED: dict[Lang, tuple[str, str]] = {"en": ("Possibly, it may be that ", "possibly "), "zh": ("可能也许", "可能")}
ALIKE = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
WIDE = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}


@dataclass(frozen=True)
class Game:
    """A way to game the score.

    Attributes:
        write: Rewrites a sample's response.
        read: Given the facts of the original response, returns those of the rewritten one, each with the index of the
            original fact that it repeats or denies; None for a new one.
    """

    write: Callable[[Sample], str]
    read: Callable[[Sequence[str], Lang], list[tuple[str, int | None]]] = lambda facts, _: number(facts)


def number(facts: Sequence[str], before: str = "") -> list[tuple[str, int | None]]:
    """Return the facts, each with its number and with the same words before it."""
    return [(before + fact, place) for place, fact in enumerate(facts)]


def open_sentences(text: str, by: str) -> str:
    """Return the text with some words before each sentence."""
    return " ".join(by + part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text) if part.strip())


def list_diseases(lang: Lang) -> str:
    """Return the sentence with the sixty diagnoses."""
    return f"It could be {DISEASES[lang]}." if lang == "en" else f"可能是{DISEASES[lang]}。"


GAMES = {
    "sixty diagnoses": Game(
        lambda s: f"{s.response} {list_diseases(s.lang)}",
        lambda facts, lang: [
            *number(facts),
            *((HEDGED[lang][1] + name, None) for name in re.split("、|, ", DISEASES[lang])),
        ],
    ),
    "its own denial added": Game(
        lambda s: f"{s.response} {open_sentences(s.response, DENIED[s.lang][0])}",
        lambda facts, lang: [*number(facts), *number(facts, DENIED[lang][1])],
    ),
    "the question repeated": Game(lambda s: f"{s.question} {s.response}"),
    "said twice": Game(lambda s: f"{s.response} {s.response}", lambda facts, _: [*number(facts), *number(facts)]),
    "everything hedged": Game(
        lambda s: open_sentences(s.response, HEDGED[s.lang][0]), lambda facts, lang: number(facts, HEDGED[lang][1])
    ),
    "zero-width spaces": Game(lambda s: "\u200b".join(s.response)),
    "soft hyphens": Game(lambda s: re.sub(r"(?<=\w)(?=\w)", "\u00ad", s.response)),
    "full-width letters": Game(lambda s: s.response.translate(WIDE)),
    "look-alike letters": Game(lambda s: s.response.translate(ALIKE)),
}
HONEST = Game(lambda s: s.response)
RIGHT, WRONG = ("right", "reworded"), ("wrong",)
READERS = ("offline", "scripted model")
LANGS: tuple[Lang, ...] = ("en", "zh")
OTHER = "(the next question's reference)"
"""What the score of any answer in the style of the references is worth, even if it is about something else."""
GAIN = 0.005
"""What changes a score, rather than its last digits."""


@cache
def divide(text: str, lang: Lang) -> list[str]:
    """Return what an honest text states, in short."""
    return list(dict.fromkeys(piece.text for piece in read_statements(text, lang) if parse_phrase(piece.text).words))


def relate(sample: Sample, i: int, j: int, counts: tuple[int, int]) -> str:
    """Return how fact i of the reference and fact j of the honest response relate, by the sample's quality; "" if not.

    The facts of both are in the same order, so facts with the same index correspond.
    """
    n, m = counts
    if (i, j) not in {(k * n // max(counts), k * m // max(counts)) for k in range(max(counts))}:
        return ""
    partly = "exact" if i % 2 == 0 else "contradiction"
    by_quality = {"wrong": "contradiction", "vague": "", "too specific": "containment", "partly right": partly}
    return by_quality.get(str(sample.meta["quality"]), "exact")


def script(samples: Sequence[Sample], game: Game) -> Model:
    """Return a model that reads and relates the played responses of samples with different questions truthfully."""
    by_question = {sample.question: sample for sample in samples}

    def reply(request: Request) -> str:
        texts = {tag: text.strip() for tag, text in find_texts(request.messages[-1].content).items()}
        sample = by_question[texts["question"]]
        if request.schema_name == "question-imap":
            return json.dumps({"query": ["advice" if sample.lang == "en" else "建议"], "constraint": []})
        references = divide(sample.references[0], sample.lang)
        honest = divide(sample.response, sample.lang)
        facts = game.read(honest, sample.lang)
        if request.schema_name == "answer-inform":
            (term,) = json.loads(texts["asked"])
            values = (
                references
                if texts["answer"] == SourceText(sample.references[0], under_evaluation=True).shown_text
                else [value for value, _ in facts]
            )
            return json.dumps({"inform": [{"term": term, "values": values}]})
        stated = {normalise(value): (place, value) for value, place in facts}
        numbers = {normalise(value): place for place, value in enumerate(references)}

        def judge(reference: str, response: str) -> str:
            i, (j, value) = numbers[normalise(reference)], stated[normalise(response)]
            if j is None:
                return "exact" if value.removeprefix(HEDGED[sample.lang][1]).casefold() in reference.casefold() else ""
            relation = relate(sample, i, j, (len(references), len(honest)))
            if value != honest[j] and value.startswith(DENIED[sample.lang][1]):
                return relation and ("exact" if relation == "contradiction" else "contradiction")
            return relation

        ours, theirs = (
            [line.partition(": ")[2] for line in texts[side].splitlines()] for side in ("reference", "response")
        )
        found = [
            {"reference": i, "response": j, "why": "", "relation": relation}
            for i, a in enumerate(ours, 1)
            for j, b in enumerate(theirs, 1)
            if (relation := judge(a, b))
        ]
        return json.dumps({"relations": found})

    return ScriptedModel(reply)


async def score(samples: Sequence[Sample], extractor: Extractor, matcher: Matcher) -> list[float]:
    """Return the imapScores."""
    imaps = [(await extractor.extract(sample))[0] for sample in samples]
    langs, questions = [sample.lang for sample in samples], [sample.question for sample in samples]
    outcomes = []
    for imap, matches in zip(imaps, await matcher.match(imaps, langs=langs, questions=questions), strict=True):
        outcome = matches if isinstance(matches, Failure) else score_graded(imap, matches)
        if isinstance(outcome, Failure):
            raise SystemExit(outcome.message)
        outcomes.append(outcome.value)
    return outcomes


open_offline = cache(open_extractor)
"""Opened once, so that it reads each question and reference once, whatever the game."""


def play(samples: Sequence[Sample], game: Game, *, reader: str, graph: Graph, matcher: HybridMatcher) -> list[float]:
    """Return the scores of the samples' responses as they are played, with a reader of `READERS`."""
    played = [replace(sample, response=game.write(sample)) for sample in samples]
    if reader == "offline":
        return asyncio.run(score(played, open_offline(graph), matcher))
    scores = [0.0] * len(samples)
    # The two responses to a question stand one behind the other.
    for half in (slice(0, None, 2), slice(1, None, 2)):
        model = script(samples[half], game)
        judge = LLMMatcher(replace(matcher, facts=None), model)
        scores[half] = asyncio.run(score(played[half], open_extractor(graph, llm=model), judge))
    return scores


def show(reader: str, graph: Graph, matcher: HybridMatcher) -> list[str]:
    """Return the lines of a reader's table: mean changes of right and of wrong answers, and how many answers gain."""
    bases = ("(the honest score)", *([OTHER] if reader == "offline" else []))
    cells: dict[str, list[str]] = {name: [] for name in (*bases, *GAMES)}
    for lang in LANGS:
        samples = read(f"sample-{lang}")
        honest = play(samples, HONEST, reader=reader, graph=graph, matcher=matcher)
        cells["(the honest score)"] += [*show_means(honest, samples, ".3f"), ""]
        if reader == "offline":
            references = [sample.references[0] for sample in (*samples[2:], *samples[:2])]
            others = [replace(one, response=text) for one, text in zip(samples, references, strict=True)]
            values = asyncio.run(score(others, open_offline(graph), matcher))
            cells[OTHER] += [*show_means(values, samples, ".3f"), ""]
        for name, game in GAMES.items():
            played = play(samples, game, reader=reader, graph=graph, matcher=matcher)
            changes = [after - before for after, before in zip(played, honest, strict=True)]
            gain = sum(change > GAIN for change in changes)
            cells[name] += [*show_means(changes, samples, "+.3f"), f"{gain} of {len(samples)}"]
    return [
        f"| {reader} | {' | '.join(f'right, {lang} | wrong, {lang} | gain, {lang}' for lang in LANGS)} |",
        "|---" * (3 * len(LANGS) + 1) + "|",
        *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items()),
    ]


def show_means(values: Sequence[float], samples: Sequence[Sample], form: str) -> list[str]:
    """Return the means over the right and over the wrong answers; a change that rounds to 0 has no sign."""
    means = [
        fmean(v for v, s in zip(values, samples, strict=True) if s.meta["quality"] in qualities)
        for qualities in (RIGHT, WRONG)
    ]
    return ["0" if form[0] == "+" and abs(mean) < 0.0005 else format(mean, form) for mean in means]


if __name__ == "__main__":
    with open_graph() as graph:
        matcher = open_matcher(graph)
        for reader in READERS:
            print(*show(reader, graph, matcher), "", sep="\n", flush=True)
