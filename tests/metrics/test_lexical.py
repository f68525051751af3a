"""Expected numbers: the library called directly (versions in the signatures), or worked out by hand."""

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from imapeval.metrics import lexical
from imapeval.metrics.base import Case
from imapeval.types import Failure, Imap, Lang, Outcome, Pair, Score

METRICS = {metric.name: metric for metric in lexical.build()}
ENGLISH = ("Take ibuprofen 400 mg and drink fluids.", "Taking ibuprofen helps; drink plenty of fluids.")
CHINESE = ("建议口服布洛芬400mg，多喝水。", "可以吃布洛芬，注意多喝温水。")


def score(name: str, reference: str, response: str, lang: Lang = "en", imap: Imap | None = None) -> Outcome:
    (outcome,) = METRICS[name].score([Case("a", "q", reference, response, lang, imap, None if imap is None else ())])
    return outcome


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_english_rouge_is_the_librarys(name: str):
    expected = RougeScorer([name], use_stemmer=True).score(*ENGLISH)[name]
    assert score(name, *ENGLISH) == Score(
        expected.fmeasure,
        {"precision": expected.precision, "recall": expected.recall, "fmeasure": expected.fmeasure},
    )


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


def test_rouge1_of_lin_2004():
    # Lin 2004, ROUGE, section 3: S1 "police killed the gunman", S2 "police kill the gunman" and S3 "the gunman kill
    # police". ROUGE-2 is the same for S2 and S3 ("the gunman"); ROUGE-L tells them apart: 3/4 and 2/4.
    # Unstemmed there; "killed" is put as "shot" here, so that the stemmer does not see kill = killed.
    reference = "police shot the gunman"
    assert value(score("rougeL", reference, "police kill the gunman")) == 3 / 4
    assert value(score("rougeL", reference, "the gunman kill police")) == 2 / 4
    assert value(score("rouge2", reference, "police kill the gunman")) == pytest.approx(1 / 3)
    assert value(score("rouge2", reference, "the gunman kill police")) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("texts", "lang", "tokens"), [(ENGLISH, "en", "13a"), (CHINESE, "zh", "zh")])
def test_bleu_is_the_librarys(texts: tuple[str, str], lang: Lang, tokens: str):
    reference, response = texts
    expected = sacrebleu.sentence_bleu(response, [reference], tokenize=tokens)
    outcome = score("bleu", reference, response, lang)
    assert isinstance(outcome, Score)
    assert outcome.value == expected.score
    assert outcome.parts == {"bp": expected.bp} | {f"p{n}": p for n, p in enumerate(expected.precisions, 1)}


@pytest.mark.parametrize(("texts", "lang"), [(ENGLISH, "en"), (CHINESE, "zh")])
def test_chrf_is_the_librarys(texts: tuple[str, str], lang: Lang):
    reference, response = texts
    assert value(score("chrf", reference, response, lang)) == sacrebleu.sentence_chrf(response, [reference]).score


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "bleu", "chrf"])
@pytest.mark.parametrize(("texts", "lang"), [(ENGLISH, "en"), (CHINESE, "zh")])
def test_identical_and_empty_answers(name: str, texts: tuple[str, str], lang: Lang):
    highest = METRICS[name].range[1]
    assert value(score(name, texts[0], texts[0], lang)) == pytest.approx(highest)
    for nothing in ("", "😀😀"):
        assert value(score(name, texts[0], nothing, lang)) == 0


def test_a_reference_without_tokens_is_no_measure():
    outcome = score("rouge1", "😀", "Rest.")
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-reference-tokens"


def test_too_long_for_rouge_l():
    text = "a " * 4_000
    outcome = score("rougeL", text, text)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, str(lexical.MAX_LCS_CELLS) in outcome.message) == ("too-long", True)
    assert value(score("rouge1", text, text)) == 1


IMAP = Imap(
    query=(Pair("drug", "?"),),
    constraint=(),
    reference=(Pair("drug", "ibuprofen"), Pair("dose", "400 mg"), Pair("drug", "fluids"), Pair("drug", "fluids")),
    response=(Pair("time", "at night"), Pair("dose", "400 mg"), Pair("drug", "paracetamol")),
)


def test_values_are_joined_by_the_references_terms():
    assert lexical.join_values(IMAP) == ("ibuprofen fluids 400 mg", "paracetamol 400 mg at night")


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "bleu", "chrf"])
def test_on_imaps(name: str):
    assert METRICS[f"{name}+imap"].requires == {"imap", "reference"}
    on_imap = score(f"{name}+imap", "ignored", "ignored", imap=IMAP)
    assert on_imap == score(name, *lexical.join_values(IMAP))


@pytest.mark.parametrize(
    ("imap", "kind"),
    [(Imap((), (), IMAP.reference, IMAP.response), "no-query"), (Imap(IMAP.query, (), (), ()), "no-reference-facts")],
)
def test_undefined_on_imaps(imap: Imap, kind: str):
    outcome = score("rouge1+imap", "x", "x", imap=imap)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


def test_a_response_without_facts_is_zero():
    assert value(score("rouge1+imap", "x", "x", imap=Imap(IMAP.query, (), IMAP.reference, ()))) == 0


def test_signatures_name_versions_and_tokens():
    assert METRICS["bleu"].signature == (
        f"bleu|tokens_en:13a|tokens_zh:zh|smooth:exp|effective_order:yes|sacrebleu:{sacrebleu.__version__}"
    )
    assert (
        METRICS["rouge1+imap"].signature
        == METRICS["rouge1"].signature.replace("rouge1|", "rouge1+imap|", 1) + "|join:space|order:terms"
    )
    assert len({metric.signature for metric in METRICS.values()}) == len(METRICS)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "zh"]), st.sampled_from(sorted(METRICS)[::2]))
def test_any_text_is_scored_within_the_range(reference: str, response: str, lang: Lang, name: str):
    metric = METRICS[name.removesuffix("+imap")]
    outcome = score(metric.name, reference, response, lang)
    if isinstance(outcome, Score):
        lowest, highest = metric.range
        assert lowest is not None
        assert highest is not None
        assert lowest <= outcome.value <= highest + 1e-9
