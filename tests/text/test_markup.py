import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.text.markup import EditedText, PlainText, fold_confusables

SAME = {
    "**Rest** the knee": "Rest the knee",
    "__rest__ and ***ice***": "rest and ice",
    "*rest* and _ice_": "rest and ice",
    "~~rest~~ `ibuprofen`": "rest ibuprofen",
    "# Advice\nRest": "Advice\nRest",
    "> quoted\n> 1. rest": "quoted\n1. rest",
    "> 5 cm\n>= 3 cm": "> 5 cm\n>= 3 cm",
    "[rest](http://x.y) and ![a picture](a.png)": "rest and a picture",
    "Rest\n---\nIce": "Rest\n\nIce",
    "Rest\r\n---\r\n↓\rIce": "Rest\n\n\nIce",
    "- **no** coffee": "- no coffee",
    # What data sets write in place of a file.
    "Acne (attachment removed to protect patient identity), mild": "Acne, mild",
    "Attachment removed (see below)": "Attachment removed (see below)",
    # HTML: tags of blocks end a line.
    "<b>Rest</b> the <span class='x'>knee</span>": "Rest the knee",
    "<p>Rest</p><p>Ice</p>": "\nRest\n\nIce\n",
    "Rest<br/>Ice": "Rest\nIce",
    "<!-- no -->rest": "rest",
    "&lt;5 mg &amp; more&#33;": "<5 mg & more!",
    "4 x 10<sup>9</sup>/L, 4 x 10**9/L": "4 x 10^9/L, 4 x 10**9/L",
    # Invisible characters.
    "re\u00adst, re\u200bst, re\u2060st\ufeff": "rest, rest, rest",
    "布洛\u200b芬": "布洛芬",
    "re\u115fst, re\u1160st, re\uffa0st, re\u180bst, 卧\U000e0100床": "rest, rest, rest, rest, 卧床",
    "rest\u2800and\u3164sleep": "rest and sleep",
    "re&shy;st, re&#8203;st": "rest, rest",
    # Unusual forms of letters.
    "ａｖｏｉｄ，ｎｏｔ（ｎｏｗ）": "avoid,not(now)",
    "口服５ｍｇ，１～２次（饭后）": "口服5mg，1~2次（饭后）",
    "𝗔𝘃𝗼𝗶𝗱 𝑎𝑙𝑐𝑜ℎ𝑜𝑙": "Avoid alcohol",
    "\u0430v\u043eid \u0430 scan": "avoid a scan",
    # Russian, Greek and units stay.
    "оставить в покое": "оставить в покое",
    "50 \u039cG OF \u0392-carotene at 38 ℃ and 50 ºF": "50 \u039cG OF \u0392-carotene at 38 ℃ and 50 ºF",
    # Arrows for high and low, but not those from one thing to the next.
    "↓ ferritin, ↑TIBC, Ca ↓, 血钙↑↑": "low ferritin, high TIBC, Ca low, 血钙升高",
    "HIV (-), HBV (+), HCV: -ve": "HIV negative, HBV positive, HCV negative",
    "Fever -, cough -, rash +\nICE -": "Fever negative, cough negative, rash positive\nICE -",
    "尿蛋白（－），压痛-，血糖：+": "尿蛋白阴性，压痛阴性，血糖阳性",
    "K+, Na+; 尿蛋白(++)": "K+, Na+; 尿蛋白(++)",
    # What is taken back.
    "Take 20 mg daily - sorry, I meant 40 mg.": "Take 40 mg daily.",
    "每晚20毫克，更正：10毫克": "每晚10毫克",
    "20毫克，不对，是10毫克，口服": "10毫克，口服",
    "Basal 20 units, correction 4 units": "Basal 20 units, correction 4 units",
    "Take 20 mg. Sorry, 3 days only.": "Take 20 mg. Sorry, 3 days only.",
    "休息 -": "休息 -",
    "5 mg → 10 mg": "5 mg → 10 mg",
    "Rest\n↓\nIce, 清洗↓消毒 ⬇️": "Rest\n\nIce, 清洗↓消毒 ⬇",
    # A text in capitals.
    "TAKE IBUPROFEN 400 MG": "take ibuprofen 400 mg",
    "TAKE ASPIRIN EVERY DAY (阿司匹林)": "take aspirin every day (阿司匹林)",
    "İSTANBUL: REST THE KNEE": "İstanbul: rest the knee",
    # Not layout.
    "CT, MRI, ECG": "CT, MRI, ECG",
    "建议做MRCP、HIDA、CT和MRI": "建议做MRCP、HIDA、CT和MRI",
    "Rest THE LEFT KNEE": "Rest THE LEFT KNEE",
    "HbA1c <7%, p < 0.05, BP <140/90": "HbA1c <7%, p < 0.05, BP <140/90",
    "a * b, 2*3*4, snake_case_name": "a * b, 2*3*4, snake_case_name",
    "* rest\n* ice": "* rest\n* ice",
}


@pytest.mark.parametrize(("text", "plain"), SAME.items())
def test_layout_is_removed(text, plain):
    assert PlainText(text).text == plain


def test_positions_in_the_original():
    original = "**Rest** the <b>le\u00adft</b> knee &amp; [ankle](http://x.y)"
    plain = PlainText(original)
    for words, written in (
        ("Rest", "Rest"),
        ("left", "le\u00adft"),
        ("knee", "knee"),
        ("&", "&amp;"),
        ("ankle", "ankle"),
    ):
        start = plain.text.index(words)
        begin, end = plain.to_original(start, start + len(words))
        assert original[begin:end] == written


@pytest.mark.parametrize("text", ["Serum calcium ↑", "take aspirin for the pulse ↑↑", "potassium &gt;", "<b>血钙↓</b>"])
def test_a_replacement_at_the_end_is_in_the_original_as_a_whole(text):
    plain = PlainText(text)
    assert text[slice(*plain.to_original(0, len(plain.text)))] == text.removeprefix("<b>").removesuffix("</b>")


@pytest.mark.parametrize("space", "\u00a0\u2002\u2009\u202f\u205f\u3000")
def test_spaces_of_other_widths_are_ordinary_ones(space):
    assert PlainText(f"ibuprofen 400{space}mg, rest{space}").text == "ibuprofen 400 mg, rest "


PIECES = st.sampled_from(
    [
        "rest ",
        "ICE",
        "布洛芬",
        "*",
        "**",
        "_",
        "`",
        "<b>",
        "</b>",
        "<br>",
        "&amp;",
        "&lt;",
        "&#65;",
        "\xad",
        "\u200b",
        "[a](b)",
        "# ",
        "> ",
        "\n",
        "---",
        "~~",
        "<",
        "&",
        "1",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_every_character_has_a_position_in_the_original(text):
    plain = PlainText(text)
    last = 0
    for place, char in enumerate(plain.text):
        start, end = plain.to_original(place, place + 1)
        assert last <= start < end <= len(text)
        last = start
        # A replacement has the position of the start of the original.
        assert text[start] in "&<" or text[start].casefold() == char.casefold()
    if plain.text:
        assert plain.to_original(0, len(plain.text))[1] <= len(text)


@given(st.text(max_size=60))
def test_a_text_without_layout_is_unchanged(text):
    words = fold_confusables("".join(char for char in text if char.isalnum() or char == " ")).lower()
    assert PlainText(words).text == words


def test_positions_of_edits():
    edited = EditedText("a--b", [(1, 3, "+")])
    assert edited.text == "a+b"
    assert [edited.to_original(place) for place in range(3)] == [0, 1, 3]


# Two texts that differ in white space only; what is one sentence, and what are lines of their own.
@pytest.mark.parametrize(
    ("text", "unwrapped"),
    [
        ("How  long is it \u00a0contagious?", "How long is it contagious?"),
        ("How\nlong is a person\r\n  with chickenpox contagious?", "How long is a person with chickenpox contagious?"),
        ("水痘\u3000\u3000多久不传染？", "水痘 多久不传染？"),
        # Not lines of a list, a dialogue, a title, a paragraph, or a writer without capitals, nor the cells of a table.
        ("Which of these:\n- ice\n- heat", "Which of these:\n- ice\n- heat"),
        ("Patient: I itch\nDoctor: Where?", "Patient: I itch\nDoctor: Where?"),
        ("水痘\n多久不传染？", "水痘\n多久不传染？"),
        ("Chickenpox\n\nhow long?", "Chickenpox\n\nhow long?"),
        ("i itch\nhow long?", "i itch\nhow long?"),
        ("TSH\t\t5", "TSH\t\t5"),
    ],
)
def test_unwrapping(text, unwrapped):
    plain = PlainText(text, unwrap=True)
    assert plain.text == unwrapped
    assert plain.to_original(0, len(plain.text)) == (0, len(text))
