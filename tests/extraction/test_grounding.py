import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.extraction.grounding import GroundingText, fold_case

EN = (
    "Resting and cooling the joint ease the pain. Take colchicine 0.5 mg twice a day for three days, but no aspirin; "
    "offal and syrup raise the uric acid, so eat less of them. Beer is best avoided. It can cause 1,200 complaints."
)
ZH = "秋水仙碱０.５毫克，每天两次，连用三天；肾功能正常的话也可以用萘普生。内脏、海鲜会使尿酸升高，要少吃。啤酒不能喝。"


@pytest.mark.parametrize(
    ("text", "value", "term", "supported"),
    [
        (EN, "rest the joint", "advice", True),
        (EN, "eats less offal", "advice", True),
        (EN, "colchicine 0.5 mg 2 times a day for 3 days", "medicine", True),
        (EN, "colchicine 1 mg twice a day", "medicine", False),  # a number that is not there
        (EN, "1200 complaints", "", True),
        (EN, "colchicine 0.50 mg", "medicine", True),
        ("Take 1.0 g of it", "1 g", "", True),
        ("Take 10 g of it", "1 g", "", False),
        (EN, "surgical drainage", "treatment", False),
        (EN, "swollen knee", "", False),
        (EN, "eat shellfish", "", False),  # half of it
        (EN, "joint treatment", "treatment", True),
        (EN, "surgical treatment", "treatment", False),  # only what the term says already
        (EN, "avoid beer", "can drink beer", True),
        (EN, "no", "can drink beer", True),
        (EN, "yes, a little every day", "can drink beer", False),
        ("You must not drive.", "can't", "can i drive", True),
        ("Do not drive for a week.", "can’t for a week", "can i drive", True),
        ("Do not drive for a week.", "shouldn't for a week", "can i drive", True),
        ("Do not drive for a week.", "can't with epilepsy", "can i drive", False),
        ("Rest.", "no", "can drink beer", False),  # neither assent nor denial
        ("You should rest.", "no surgery", "treatment", False),
        ("You should rest.", "do not rest", "treatment", False),  # denies, and nothing in the text does
        (ZH, "肾功能正常可以用萘普生", "药物", True),
        (ZH, "少吃海鲜", "建议", True),
        (ZH, "每天2次，连用3天", "药物", True),
        (ZH, "每天5次", "药物", False),
        (ZH, "手术治疗", "治疗", False),
        (ZH, "不可以", "能否喝啤酒", True),
        (ZH, "啤酒不可以喝", "能否喝啤酒", True),
        ("多休息。", "不能", "能否喝啤酒", False),
        (ZH, "秋水仙碱0.5毫克", "药物", True),
        # Nothing but numbers and light words, and the text writes the number in another way.
        ("Take it 3 times daily", "three times daily", "", True),
        ("two weeks", "2 weeks", "", True),
        ("eleven days", "11 days", "", True),
        ("Often: 10 times", "ten times", "", True),
        ("3 weeks", "three days", "", False),
        ("每日3次", "每日三次", "", True),
        ("服药3天", "三天", "", True),
        ("每日两次", "每日三次", "", False),
        ("三天之内去看医生", "三天内就诊", "", True),
        ("百分之五", "5%", "", True),
        ("百分之五点三", "5%", "", False),
    ],
)
def test_a_value_needs_most_of_its_words_and_all_its_numbers(text, value, term, supported):
    assert GroundingText(text).supports(value, term=term) is supported


def test_zero_width_characters_are_ignored():
    assert GroundingText(EN).supports("col\u200bchicine")
    assert not GroundingText("colchi cine").supports("colchi\u200bcine")


@pytest.mark.parametrize(("text", "value"), [(EN, "休息"), (ZH, "rest"), (ZH + " NSAID", "take a rest")])
def test_the_other_script_is_foreign(text, value):
    assert GroundingText(text).is_other_script(value)


@pytest.mark.parametrize(("text", "value"), [(EN, "rest"), (ZH, "休息"), (ZH, "CT检查"), (EN, "5-10"), (EN, "β")])
def test_the_own_script_is_not(text, value):
    assert not GroundingText(text).is_other_script(value)


words = st.lists(
    st.sampled_from(["take", "colchicine", "0.5", "mg", "3", "days", "休息", "手术", "治疗", "no", "不能"]), max_size=9
)


@given(words, words)
def test_a_longer_text_supports_more(value, more):
    """For values without polarity, whose words are all there."""
    text = " ".join(value)
    if text and any(word.isalpha() for word in value):
        assert GroundingText(text + " " + " ".join(more)).supports(text)


@given(st.text(), st.text(max_size=30), st.text(max_size=10))
def test_never_crashes(text, value, term):
    ground = GroundingText(text)
    ground.supports(value, term=term)
    ground.is_other_script(value)


@given(st.text())
def test_folding_keeps_positions_and_is_idempotent(text):
    assert len(fold_case(text)) == len(text)
    assert fold_case(fold_case(text)) == fold_case(text)
