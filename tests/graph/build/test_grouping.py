import pytest

from imapeval.graph.build.grouping import have_same_qualifiers, invert_qualifiers, list_qualifiers


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
