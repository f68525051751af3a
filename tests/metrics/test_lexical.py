"""Expected numbers: worked out by hand from the definitions, or as the papers give them."""

import math
import random
import re
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from imapeval.errors import UsageError
from imapeval.metrics import lexical
from imapeval.metrics.base import Case
from imapeval.metrics.lexical.rouge import measure_common_subsequence
from imapeval.metrics.lexical.tokens import split_for_bleu
from imapeval.metrics.options import set_options
from imapeval.types import Failure, Lang, Outcome, Score

METRICS = {metric.name: metric for metric in lexical.build()}
WITHOUT_DATA = [name for name in METRICS if name != "meteor"]
ENGLISH = ("Take ibuprofen 400 mg and drink fluids.", "Taking ibuprofen helps; drink plenty of fluids.")
CHINESE = ("建议口服布洛芬400mg，多喝水。", "可以吃布洛芬，注意多喝温水。")


def score(name: str, reference: str, response: str, lang: Lang = "en", **options: str) -> Outcome:
    (outcome,) = set_options(METRICS[name], options).score_batch([Case("a", "q", reference, response, lang)])
    return outcome


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


def test_the_table_in_the_docstring_names_every_metric():
    rows = re.findall(r"^\| ([\w, -]+) \|", lexical.__doc__ or "", re.MULTILINE)[1:]
    assert sorted(name for row in rows for name in row.split(", ")) == sorted(METRICS)


def test_chinese_rouge_by_hand():
    # reference: 建议口服布洛芬 400mg 多喝水 = 11 tokens; response: 可以吃布洛芬注意多喝温水 = 12 tokens;
    # shared: 布 洛 芬 多 喝 水 = 6; pairs: 布洛 洛芬 多喝 = 3 of 10 and 11; in order: 布洛芬多喝水 = 6.
    assert value(score("rouge1", *CHINESE, "zh")) == pytest.approx(2 * 6 / (11 + 12))
    assert value(score("rouge2", *CHINESE, "zh")) == pytest.approx(2 * 3 / (10 + 11))
    assert value(score("rougeL", *CHINESE, "zh")) == pytest.approx(2 * 6 / (11 + 12))


def test_chinese_tokens_keep_words_and_numbers_whole():
    # 4 tokens (HBsAg 阳 性 2): all shared whatever the case and punctuation.
    assert value(score("rouge1", "HBsAg阳性2", "hbsag，阳性。2", "zh")) == 1
    # 12 and 1 share no token, though they share a digit.
    assert value(score("rouge1", "12", "1", "zh")) == 0


def test_rouge_of_lin_2004():
    # Lin 2004, ROUGE, sections 3 and 5: S1 "police killed the gunman", S2 "police kill the gunman", S3 "the gunman
    # kill police", S4 "the gunman police killed". ROUGE-2 is the same for S2 and S3; ROUGE-L is 3/4, 2/4 and 2/4;
    # ROUGE-S is 3/6, 1/6 and 2/6. Unstemmed there; "killed" is put as "shot" here, so that the stemmer does not see
    # kill = killed.
    reference = "police shot the gunman"
    responses = ("police kill the gunman", "the gunman kill police", "the gunman police shot")
    assert [value(score("rougeL", reference, text)) for text in responses] == [3 / 4, 2 / 4, 2 / 4]
    assert [value(score("rouge2", reference, text)) for text in responses[:2]] == pytest.approx([1 / 3, 1 / 3])
    assert [value(score("rougeS", reference, text)) for text in responses] == pytest.approx([3 / 6, 1 / 6, 2 / 6])


def test_rouge_of_equal_shares_is_equal():
    # F = 2 x 2 / 33; 2 P R / (P + R), of three roundings, differs in the last digit for some of the lengths.
    for longer in range(2, 32):
        reference = "a b " + " ".join(f"x{number}" for number in range(longer - 2))
        response = "a b " + " ".join(f"y{number}" for number in range(31 - longer))
        assert value(score("rouge1", reference, response)) == 4 / 33


def test_rouge_s_counts_pairs_up_to_its_gap():
    # 6 words: 5 neighbours and 4, 3, 2, 1 pairs with 1, 2, 3, 4 words between; "a f" has 4 between.
    words = "one two three four five six"
    assert value(score("rougeS", words, "one six", measure="recall")) == pytest.approx(1 / 15)
    assert value(score("rougeS", words, "one six", measure="precision", gap="4")) == 1
    assert value(score("rougeS", words, "one six", gap="3")) == 0
    assert score("rougeS", *ENGLISH, gap="0") == score("rouge2", *ENGLISH)
    assert "at most 3 words" in set_options(METRICS["rougeS"], {"gap": "3"}).formula


def test_rouge_shows_any_of_its_measures():
    # 3 of the response's 4 words are among the reference's 6.
    texts = ("ice and rest of the ankle", "ice the ankle daily")
    outcome = score("rouge1", *texts)
    assert isinstance(outcome, Score)
    assert outcome.parts == pytest.approx({"precision": 3 / 4, "recall": 3 / 6, "fmeasure": 0.6})
    assert outcome.value == outcome.parts["fmeasure"]
    for measure in ("precision", "recall"):
        assert value(score("rouge1", *texts, measure=measure)) == outcome.parts[measure]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rouge1", {"measure": "f1"}, "measure.*'f1'.*fmeasure, recall, precision"),
        ("rougeS", {"gap": "-1"}, r"gap.*-1.*0\.\.100"),
        ("rougeS", {"measure": "p"}, "measure.*'p'"),
        ("chrf", {"word_order": "9"}, r"word_order.*9.*0\.\.4"),
    ],
)
def test_options_that_cannot_be(name: str, options: dict[str, str], message: str):
    with pytest.raises(UsageError, match=message):
        set_options(METRICS[name], options)


@given(st.lists(st.sampled_from("abc"), max_size=40), st.lists(st.sampled_from("abc"), max_size=40))
def test_common_subsequence_is_that_of_the_table(a: list[str], b: list[str]):
    # Cormen et al., Introduction to Algorithms, section 15.4.
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    assert measure_common_subsequence(a, b) == table[-1][-1]


def test_nist_by_hand():
    # Reference of 4 words: each stands there once and weighs log2(4/1) = 2; a pair weighs log2(1/1) = 0.
    # Response of 4 words, 3 of them in the reference: 3 * 2 / 4 = 1.5; as long as the reference: no penalty.
    assert value(score("nist", "rest and drink water", "drink water and sleep")) == pytest.approx(1.5)
    # Half as long, both words right: 2 * 2 / 2 = 2, times exp(log(.5) / log(1.5)^2 * log(2/4)^2) (Doddington 2002,
    # Eq. 3: the penalty is .5 where the response has 2/3 of the words).
    penalty = math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(2 / 4) ** 2)
    assert value(score("nist", "rest and drink water", "drink water")) == pytest.approx(2 * penalty)


@pytest.mark.parametrize(
    ("reference", "response", "lang", "exact", "f1"),
    [
        # SQuAD's normalisation: case, punctuation and articles do not count; 400-mg becomes one word.
        ("The left kidney.", "left Kidney", "en", 1, 1),
        ("400-mg", "400mg", "en", 1, 1),
        ("400 mg", "400mg", "en", 0, 0),
        # SQuAD's exact match of such an answer with itself is 1 too.
        ("A", "a.", "en", 1, 1),
        ("A", "B", "en", 0, 0),
        ("A", "a cat", "en", 0, 0),
        # A sign after it is kept: two blood groups.
        ("A+", "A-", "en", 0, 0),
        ("A-", "A", "en", 0, 0),
        ("A+", "a+.", "en", 1, 1),
        ("A", "- A", "en", 1, 1),
        ("un", "Un", "fr", 1, 1),
        # 2 of 3 words and 2 of 2.
        ("rest, ice, heat", "ice and rest", "en", 0, 2 * 2 / (3 + 3)),
        # A word that stands there once is shared once.
        ("pain", "pain pain", "en", 0, 2 * 1 / (1 + 2)),
        ("左肾。", "左 肾", "zh", 1, 1),
        ("维生素A", "维生素a", "zh", 1, 1),
        # 左 肾 结 石 and 左 肾: 2 of 4 and 2 of 2.
        ("左肾结石", "左肾", "zh", 0, 2 * 2 / (4 + 2)),
        ("左肾", "肾左", "zh", 0, 1),
    ],
)
def test_words_in_common(reference: str, response: str, lang: Lang, exact: float, f1: float):
    assert value(score("exact-match", reference, response, lang)) == exact
    assert value(score("token-f1", reference, response, lang)) == pytest.approx(f1)


def test_parts_of_token_f1():
    outcome = score("token-f1", "rest, ice, heat, sleep", "ice and rest")
    assert outcome == Score(2 * 2 / (4 + 3), {"precision": 2 / 3, "recall": 2 / 4})


def test_length_ratio():
    # BLEU's tokens: 4 words and 1 full stop; 2 words.
    expected = Score(2 / 5, {"response_tokens": 2.0, "reference_tokens": 5.0})
    assert score("length-ratio", "rest and drink water.", "drink water") == expected
    assert value(score("length-ratio", "多喝水", "多喝温水。", "zh")) == 5 / 3


@pytest.mark.parametrize("name", WITHOUT_DATA)
@pytest.mark.parametrize(("texts", "lang"), [(ENGLISH, "en"), (CHINESE, "zh")])
def test_identical_and_empty_answers(name: str, texts: tuple[str, str], lang: Lang):
    highest = METRICS[name].range[1]
    if highest is not None:
        assert value(score(name, texts[0], texts[0], lang)) == pytest.approx(highest)
    assert value(score(name, texts[0], "", lang)) == 0


@pytest.mark.parametrize("name", WITHOUT_DATA)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_reference_without_tokens(name: str, lang: Lang):
    outcome = score(name, "", "Rest.", lang)
    if name == "chrf" or name.startswith("bleu"):
        assert value(outcome) == 0
    else:
        assert isinstance(outcome, Failure)
        assert outcome.kind == "no-reference-tokens"


def long_text(seed: int) -> str:
    words = random.Random(seed).choices([f"w{number}" for number in range(5_000)], k=20_000)
    return " ".join(words)


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_odd_chinese_answers_have_a_score(name: str):
    lowest, highest = METRICS[name].range
    assert lowest == 0
    for response in ("", "Rest.", "😀😀", "多喝水 and rest 😀"):
        assert 0 <= value(score(name, "Rest and 多喝水.", response, "zh")) <= (highest or math.inf)
    assert 0 <= value(score(name, long_text(1), long_text(2), "zh")) <= (highest or math.inf)


@pytest.mark.parametrize(("tokenizer", "kind"), [("13a", Tokenizer13a), ("zh", TokenizerZh)])
def test_a_long_run_leaves_no_texts_in_sacrebleu(tokenizer: str, kind: type):
    for number in range(600):
        assert str(number) in split_for_bleu(f"Take {number} 片。", tokenizer)
    for keeper in (kind, TokenizerRegexp):
        assert keeper.__call__.cache_info().currsize == 0


def test_signatures_name_versions_and_tokens():
    sacrebleu = metadata.version("sacrebleu")
    assert METRICS["bleu"].signature == (
        f"bleu|order:4|tokens_en:13a|tokens_zh:zh|smooth:exp|effective_order:yes|sacrebleu:{sacrebleu}|v:1"
    )
    for name, option, to in (("rougeS", "gap", "2"), ("rouge1", "measure", "recall"), ("chrf", "word_order", "2")):
        assert f"|{option}:{to}|" in set_options(METRICS[name], {option: to}).signature
    assert len({metric.signature for metric in METRICS.values()}) == len(METRICS)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "zh"]), st.sampled_from(sorted(WITHOUT_DATA)))
def test_any_text_is_scored_within_the_range(reference: str, response: str, lang: Lang, name: str):
    outcome = score(name, reference, response, lang)
    if isinstance(outcome, Score):
        _, highest = METRICS[name].range
        assert 0 <= outcome.value <= (math.inf if highest is None else highest + 1e-9)
