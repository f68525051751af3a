"""Tokens per word, beside what the libraries count themselves on words that are given one by one."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.study.data.word_tokens import (
    _use_tiktoken,
    _use_tokenizers,
    count_word_tokens,
    open_tokenizer,
    read_texts,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "L'hypertension artérielle est traitée par un inhibiteur de l'enzyme de conversion.",
    "Aucune rhinopharyngite ; bradycardie à 45/min, œdème des membres inférieurs.",
    "Bradycardie.",
]


def train(kind: str) -> Any:
    """Return a small tokenizer of a kind that DrBenchmark's models have, with marks at the ends of a text."""
    tokenizers = pytest.importorskip("tokenizers")
    if kind == "wordpiece":  # PubMedBERT
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]", "[CLS]", "[SEP]"])
    else:  # CamemBERT, DrBERT
        tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        trainer = tokenizers.trainers.UnigramTrainer(
            vocab_size=90, special_tokens=["[UNK]", "[CLS]", "[SEP]"], unk_token="[UNK]"
        )
    tokenizer.train_from_iterator(TEXTS, trainer)
    marks = [(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return tokenizer


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_as_the_library_counts_given_words(kind: str):
    tokenizer = train(kind)
    found = count_word_tokens("t", _use_tokenizers(tokenizer), TEXTS, task="a", lang="fr")
    split = [text.split() for text in TEXTS]
    # DrBenchmark's SubwordAnalysis.py: len(tokenizer(words, is_split_into_words=True)) / len(words), marks included.
    by_text = fmean(len(tokenizer.encode(words, is_pretokenized=True).ids) / len(words) for words in split)
    sizes = [len(tokenizer.encode(word, add_special_tokens=False).ids) for words in split for word in words]
    assert (found.texts, found.words) == (3, len(sizes))
    assert found.by_text == pytest.approx(by_text)
    assert found.tokens_per_word == pytest.approx(sum(sizes) / len(sizes))
    # A word is whole where one piece has letters, as in MakeTableTokenization.py: "▁" alone is the space before it.
    pieces = [
        [piece for piece in tokenizer.encode(word, add_special_tokens=False).tokens if piece.strip("▁#")]
        for words in split
        for word in words
    ]
    assert found.whole == pytest.approx(sum(len(own) == 1 for own in pieces) / len(pieces))
    # Words of the data are taken as they are.
    assert count_word_tokens("t", _use_tokenizers(tokenizer), split, task="a", lang="fr") == found


def make_encoding() -> Any:
    """Return an encoding of single bytes, " b", "ab" and the two bytes of "é"."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b" b": 256, b"ab": 257, "é".encode(): 258, b" ab": 259}
    return tiktoken.Encoding("small", pat_str=r" ?[a-zé]+|.", mergeable_ranks=ranks, special_tokens={})


def test_tiktoken_by_hand():
    tokenizer = _use_tiktoken(make_encoding())
    # "ab", " b", " ", "é", " ", 0xc3, 0xa0: 7 tokens, 4 words; ab, b and é are whole, à is two tokens.
    found = count_word_tokens("t", tokenizer, ["ab b é à"], task="a", lang="fr")
    assert (found.words, found.tokens_per_word, found.whole, found.by_text) == (4, 7 / 4, 3 / 4, 7 / 4)
    assert tokenizer("à")[0] == [(0, 1), (0, 1)]


def test_a_token_of_two_words_keeps_neither_whole():
    def join(text: str) -> tuple[list[tuple[int, int]], int]:
        return [(0, 3), (4, 5)], 0

    assert count_word_tokens("t", join, ["a b c"], task="a", lang="en").whole == pytest.approx(1 / 3)


def test_chinese_is_counted_by_character():
    found = count_word_tokens("t", _use_tiktoken(make_encoding()), ["布洛芬 ab"], task="a", lang="zh")
    # 3 x 3 bytes, then " ab": 10 tokens of 4 units.
    assert (found.words, found.tokens_per_word, found.whole) == (4, 10 / 4, None)


def test_files(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    train("wordpiece").save(str(path))
    one, other = open_tokenizer(str(path)), open_tokenizer(str(tmp_path))
    assert one("Bradycardie.") == other("Bradycardie.")


@pytest.mark.parametrize("name", ["nowhere.json", "tiktoken:none"])
def test_no_tokenizer(name: str):
    pytest.importorskip("tiktoken")
    with pytest.raises(UsageError, match=r"none|nowhere"):
        open_tokenizer(name)


def test_a_file_that_is_no_tokenizer(tmp_path: Path):
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match=r"tokenizer\.json"):
        open_tokenizer(str(tmp_path))


def test_texts_by_task_and_language(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text(
        '{"task": "a", "lang": "fr", "text": "un deux"}\n'
        '{"task": "a", "question": "What?", "references": ["One.", "Two."]}\n'
        '{"question": "什么？"}\n'
        '{"task": "b", "lang": "fr", "tokens": ["100 000", "UI"], "other": "x"}\n'
        '{"task": "b", "lang": "de", "text": "Ruhe hilft."}\n'
    )
    assert read_texts(path) == {
        ("a", "fr"): ["un deux"],
        ("a", "en"): ["What?", "One.", "Two."],
        ("data", "zh"): ["什么？"],
        ("b", "fr"): [["100 000", "UI"]],
        ("b", "de"): ["Ruhe hilft."],
    }
    with pytest.raises(InputError, match="other") as caught:
        read_texts(path, columns=["other"])
    assert caught.value.line == 1
    with pytest.raises(InputError, match="no data set"):
        read_texts(tmp_path)


def test_languages_are_written_in_several_ways(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    langs = ["zh", "zh-CN", "ZH", "zh_TW", "EN", "en-US"]
    path.write_text("".join(f'{{"text": "头痛 ab", "lang": "{lang}"}}\n' for lang in langs))
    assert {lang: len(texts) for (_, lang), texts in read_texts(path).items()} == {"zh": 4, "en": 2}


def test_half_a_character_and_null_are_no_text(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"task": "a", "lang": "en", "text": "a \\ud800", "references": ["b", null]}\n')
    (texts,) = read_texts(path).values()
    assert len(texts) == 2
    found = count_word_tokens("t", _use_tiktoken(make_encoding()), texts, task="a", lang="en")
    assert found.texts == 2


def test_what_pandas_writes_for_a_missing_value_is_no_text(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": NaN, "question": "What?", "task": NaN, "lang": NaN}\n{"text": ""}\n{"references": []}\n')
    assert read_texts(path) == {("data", "en"): ["What?"]}


def test_the_place_of_an_error_is_counted_in_the_unit_of_the_file(tmp_path: Path):
    (tmp_path / "a.json").write_text('[\n{"other": "a"}\n]')
    with pytest.raises(InputError) as caught:
        read_texts(tmp_path / "a.json", columns=["text"])
    assert (caught.value.line, caught.value.unit) == (1, "record")


def test_texts_without_a_word_are_left_out(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"task": "a", "text": "Bradycardie."}\n{"task": "b", "text": "  "}\n{"task": "c", "tokens": [" "]}\n'
    )
    assert list(read_texts(path).values()) == [["Bradycardie."]]
    path.write_text('{"task": "b", "text": "  "}\n')
    with pytest.raises(InputError, match="no texts"):
        read_texts(path)
