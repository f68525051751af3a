"""What the offline reader takes for the statements of a table; the tables were written for this test."""

import pytest

from imapeval.extraction.lexicon.statements import read_statements
from imapeval.text.markup import PlainText

TABLES = [
    # A yes or no belongs to the first cell of its row.
    ("| Food | Allowed? |\n|---|---|\n| Rice | Yes |\n| Figs | No |", "en", ["Rice allowed", "Figs not allowed"]),
    (
        "| Food | Avoid? | Why |\n|:--|:-:|--:|\n| Tea, beer | ✅ | acid |\n| Rice | ❌ | |",
        "en",
        ["Avoid Tea", "Avoid beer", "acid", "Rice"],
    ),
    ("| 食物 | 能否食用 |\n|---|---|\n| 米饭 | 可以 |\n| 柚子 | 不可以 |", "zh", ["米饭能食用", "柚子不能食用"]),
    ("| 药物 | 孕期是否安全 |\n|---|---|\n| 布洛芬 | 否 |", "zh", ["布洛芬孕期不安全"]),
    ("Food\tAllowed\nRice\tYes\nFigs\tNo", "en", ["Rice allowed", "Figs not allowed"]),
    (
        "<table><tr><th>Food</th><th>Safe</th></tr>\n<tr><td>Figs</td>\n<td>No</td></tr></table>",
        "en",
        ["Figs not safe"],
    ),
    # A column is a list below its header.
    (
        "| Eat | Avoid |\n|---|---|\n| Fish, beans | Liver, beer |\n| Milk | - |",
        "en",
        ["Fish", "beans", "Avoid Liver", "Avoid beer", "Milk"],
    ),
    ("Do | Don't\n--- | ---\nRest | Run", "en", ["Rest", "Don't Run"]),
    (
        "| 类别 | 推荐 | 忌口 |\n|---|---|---|\n| 肉类 | 鸡肉 | 腊肉、香肠 |",
        "zh",
        ["鸡肉", "忌腊肉", "忌香肠"],
    ),
    ("| Sign | Found | Absent |\n|---|---|---|\n| Skin | spots | ulcers |", "en", ["spots", "no ulcers"]),
    ("| Test | Positive | Negative |\n|---|---|---|\n| Flu | 5 | 3 |", "en", ["Flu 5 3"]),
    ("Foods to avoid:\n\n| Food | Why |\n|---|---|\n| Coffee | acid |", "en", ["avoid Coffee", "acid"]),
    # Doses and verdicts belong to their drug.
    (
        "Plan:\n\n| Drug | Dose | How |\n|---|---|---|\n| Aspirin | 75 mg | daily |\n| Ibuprofen | Avoid | |\n\nRest.",
        "en",
        ["Plan", "Aspirin 75 mg daily", "Avoid Ibuprofen", "Rest"],
    ),
    ("| 药物 | 用量 |\n|---|---|\n| 布洛芬 | 禁用 |\n| 阿莫西林 | 500mg |", "zh", ["禁用布洛芬", "阿莫西林500mg"]),
    ("| Test | Result |\n|---|---|\n| CT | no bleeding |", "en", ["CT", "no bleeding"]),
    ("| Test | Result |\n|---|---|\n| Albumin | ↓ |\n| CRP | high |", "en", ["Albumin low", "CRP high"]),
    # No tables.
    ("Take A | B.\nThen rest.", "en", ["Take A | B", "rest"]),
    ("|---|---|\n|---|---|", "en", []),
    ("||\n||", "en", []),
    ("1.\tRest\n2.\tIce", "en", ["Rest", "Ice"]),
]


@pytest.mark.parametrize(("text", "lang", "statements"), TABLES)
def test_tables(text, lang, statements):
    assert [piece.text for piece in read_statements(PlainText(text).text, lang)] == statements


def test_the_cells_have_their_places():
    text = "Rest.\n\n| Eat | Avoid |\n|---|---|\n| Fish | Liver |\n\nDrink water."
    found = [(piece.text, text[piece.start : piece.end]) for piece in read_statements(text, "en")]
    assert found == [("Rest", "Rest"), ("Fish", "Fish"), ("Avoid Liver", "Liver"), ("Drink water", "Drink water")]
