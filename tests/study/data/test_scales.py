import pytest

from imapeval.errors import UsageError
from imapeval.study.data.ratings import parse_scales
from imapeval.study.data.scales import RatingScale, describe_scale, is_on_scale, list_ratings


def test_scales_of_a_command_line():
    assert parse_scales(["accuracy=0:5:0.5", "a=b=1:7"]) == {
        "accuracy": RatingScale(0, 5, 0.5),
        "a=b": RatingScale(1, 7),
    }


@pytest.mark.parametrize(
    "texts",
    [
        ["accuracy"],
        ["accuracy=0"],
        ["=0:5"],
        ["accuracy=0:x"],
        ["accuracy=0:nan"],
        ["accuracy=0:5:1:2"],
        ["accuracy=5:0"],
        ["accuracy=0:5:0"],
        ["accuracy=0:7:2"],
        ["accuracy=0:1:.6"],
        ["accuracy=0:5", "accuracy=0:5"],
    ],
)
def test_an_invalid_scale_is_named(texts: list[str]):
    with pytest.raises(UsageError) as caught:
        parse_scales(texts)
    assert "--scale" in str(caught.value)
    assert texts[-1].partition("=")[0] in str(caught.value)


@pytest.mark.parametrize(
    ("scale", "on", "off"),
    [
        (RatingScale(0, 5, 0.5), (0, 2.5, 5), (-0.5, 5.5, 2.25)),
        (RatingScale(1, 4), (1, 3.99, 4), (0.99, 4.01)),
        (RatingScale(0, 1, 0.1), (0.1 + 0.2, 0.7), (0.75,)),
    ],
)
def test_what_lies_on_a_scale(scale: RatingScale, on: tuple[float, ...], off: tuple[float, ...]):
    assert all(is_on_scale(scale, rating) for rating in on)
    assert not any(is_on_scale(scale, rating) for rating in off)


def test_possible_ratings():
    assert list_ratings(RatingScale(0, 1, 0.1)) == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert list_ratings(RatingScale(0, 5)) == ()
    # No rating is above the end of the scale.
    assert list_ratings(RatingScale(0, 7, 2)) == (0, 2, 4, 6)


def test_a_scale_in_words():
    assert describe_scale(RatingScale(0, 5, 0.5)) == "0 to 5 in steps of 0.5"
    assert describe_scale(RatingScale(1, 100)) == "1 to 100"
