from hypothesis import given
from hypothesis import strategies as st

from imapeval.extraction.lexicon.clauses import split_items, split_sentences


def pieces(text: str) -> list[list[str]]:
    return [[item.text for item in split_items(sentence)] for sentence in split_sentences(text)]


def test_english_lists_and_sentences() -> None:
    assert pieces("You can take Sudafed. Avoid cold spicy foods, smoking and alcohol.") == [
        ["You can take Sudafed"],
        ["Avoid cold spicy foods", "smoking", "alcohol"],
    ]


def test_chinese_lists_conjunctions_and_examples() -> None:
    assert pieces("应检查补体C3、类风湿因子和心电图。可以用利尿剂（如呋塞米），及时就医。") == [
        ["应检查补体C3", "类风湿因子", "心电图"],
        ["可以用利尿剂", "如呋塞米", "及时就医"],
    ]


def test_a_limit_is_one_item() -> None:
    assert pieces("Adults aged 65 and over, children of 12 years or older. 65岁及以上人群，38度或以上") == [
        ["Adults aged 65 and over", "children of 12 years or older"],
        ["65岁及以上人群", "38度或以上"],
    ]
    assert pieces("Aspirin 75 mg and over-the-counter drugs, rest or up to 2 tablets") == [
        ["Aspirin 75 mg", "over-the-counter drugs", "rest", "up to 2 tablets"]
    ]


def test_what_follows_each_other_is_one_item() -> None:
    assert pieces("Surgery followed by radiotherapy. Fever, followed by a rash, and cough.") == [
        ["Surgery followed by radiotherapy"],
        ["Fever", "a rash", "cough"],
    ]
    long = "a tablet " * 20
    assert pieces(f"{long} followed by rest.") == [[long.strip(), "rest"]]


def test_words_that_contain_a_conjunction_are_not_split() -> None:
    assert pieces("氧饱和度正常，症状温和，涉及参与者") == [["氧饱和度正常", "症状温和", "涉及参与者"]]


def test_list_markers_and_markdown_are_removed() -> None:
    text = "## Treatment\n1. **Antibiotics:** amoxicillin\n- Rest\n（2）多喝水\n3、卧床休息"
    assert pieces(text) == [["Treatment"], ["Antibiotics"], ["amoxicillin"], ["Rest"], ["多喝水"], ["卧床休息"]]


def test_a_sign_before_an_amount_is_no_marker() -> None:
    assert pieces("> 102 cm\n- >38 °C\n> >= 3 cm") == [["> 102 cm"], [">38 °C"], [">= 3 cm"]]


def test_items_numbered_within_a_line_are_sentences() -> None:
    assert pieces("Use 1) ice, 2) rest and 3) heat (see figure 2) for 2) days") == [
        ["Use"],
        ["ice"],
        ["rest"],
        ["heat (see figure 2) for 2) days"],
    ]
    assert pieces("应（1）冷敷，（2）休息；第1、2天①喝水") == [["应"], ["冷敷"], ["休息"], ["第1", "2天①喝水"]]
    assert pieces("grade 2) and sand 1) x\n2) y") == [["grade 2", "sand 1) x"], ["y"]]


def test_numbers_and_abbreviations_do_not_end_a_sentence() -> None:
    assert pieces("Take 2.5 mg e.g. daily. Dr. Smith gave 1,000 IU.") == [
        ["Take 2.5 mg", "daily"],
        ["Dr. Smith gave 1,000 IU"],
    ]


def test_abbreviations_in_brackets_stay_with_their_name() -> None:
    assert pieces("血清谷丙转氨酶（ALT）、computed tomography (CT)") == [
        ["血清谷丙转氨酶（ALT）", "computed tomography (CT)"]
    ]
    assert pieces("veshta bandhana (abdominal binder).") == [["veshta bandhana", "abdominal binder"]]


def test_emoji_and_punctuation_are_dropped() -> None:
    assert pieces("😀😀 … *** 。。") == []


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("，、。；()（）和及1.- *\n")))
def test_every_piece_is_at_its_span(text: str) -> None:
    for sentence in split_sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text
        for item in split_items(sentence):
            assert text[item.start : item.end] == item.text
            assert any(char.isalnum() for char in item.text)
