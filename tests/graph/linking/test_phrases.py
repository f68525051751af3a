import pytest

from imapeval.graph.linking.phrases import find_heads, is_enumeration


@pytest.mark.parametrize(
    ("value", "head"),
    [
        ("grade 3 glioma", ("glioma", "")),
        ("stage 2 gastric cancer", ("gastric cancer", "")),
        ("stage 2 colitis", ("colitis", "")),
        ("brca2 gene mutation", ("gene mutation", "brca2")),
        ("aspirin 100 mg daily", ("aspirin", "")),
        ("阿司匹林100mg每日", ("阿司匹林", "")),
        ("insulin 10 unit", ("insulin", "")),
        ("metronidazole 2 gram", ("metronidazole", "")),
    ],
)
def test_a_unit_is_a_whole_word(value: str, head: tuple[str, str]) -> None:
    assert next(find_heads(value)) == head


@pytest.mark.parametrize(
    "value",
    [
        "2型糖尿病、高血压",
        "1型糖尿病，甲状腺炎",
        "type 1 diabetes, thyroiditis",
        "vitamin B12, folic acid",
        "糖尿病、高血压",
        "asthma/pneumonia",
    ],
)
def test_a_list_may_have_digits(value: str) -> None:
    assert is_enumeration(value)


@pytest.mark.parametrize(
    "value",
    [
        "asthma, stage IV",
        "1,25-dihydroxyvitamin D",
        "BRCA1/2",
        "L4/L5 disc herniation",
        "10 mg/kg",
        "amoxicillin 500 MG, three times a day",
        "metformin 2 tablets, twice a day",
        "阿莫西林0.5g，每日三次",
    ],
)
def test_one_thing_is_no_list(value: str) -> None:
    assert not is_enumeration(value)
