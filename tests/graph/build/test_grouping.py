import pytest

from imapeval.graph.build.grouping import have_same_qualifiers, invert_qualifiers, list_qualifiers, make_key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # DOID:9452 refers to MeSH's "Fatty Liver" and "Fatty Liver, Alcoholic" alike.
        ("Fatty Liver", "Fatty Liver, Alcoholic", False),
        ("Non-alcoholic fatty liver", "nonalcoholic fatty liver", True),
        ("non alcoholic fatty liver", "Non-alcoholic fatty liver", True),
        ("non alcoholic fatty liver", "alcoholic fatty liver", False),
        ("acute hepatitis", "Chronic hepatitis", False),
        ("type II diabetes", "Type 2 diabetes", True),
        ("type I diabetes", "type 2 diabetes", False),
        ("type I diabetes", "type II diabetes", False),
        ("mucopolysaccharidosis type IV", "mucopolysaccharidosis type VI", False),
        ("mucopolysaccharidosis type IV", "mucopolysaccharidosis type 4", True),
        # The other name need not have a "type II" of something else.
        ("glycogen storage disease type II", "Pompe disease", True),
        ("glycogen storage disease type 2", "Pompe disease", False),
        ("subacute thyroiditis", "thyroiditis", True),  # no word of its own
    ],
)
def test_qualifiers_are_compared(one: str, other: str, same: bool) -> None:
    assert have_same_qualifiers(one, other) is same
    assert have_same_qualifiers(other, one) is same


def test_qualifiers_are_inverted() -> None:
    assert list_qualifiers("Acute-on-chronic liver failure") == {"acute", "chronic"}
    assert invert_qualifiers("Non-Alcoholic, adult") == ("nonalcoholic, adult", "alcoholic, juvenile")
    assert invert_qualifiers("gout") == ("gout", "gout")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("代谢综合症", "代谢综合征"),
        ("盆腔淤血症候群", "盆腔瘀血综合征"),
        ("胸部X射线", "胸部X线"),
        ("胸部X光", "胸部X线"),
        ("药物过敏", "药过敏"),
        ("返酸返流", "反酸反流"),
        ("二型糖尿病", "II型糖尿病"),
        ("diabetes type II", "diabetes type 2"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert make_key(one, None) == make_key(other, None)
