"""Scores as judges write them.

`READ`, `AFTER_REASONS`, `NO_SCORE`, `TAKEN_BACK` and `NOT_AS_ASKED` are the table of replies and what is made of them.
"""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.metrics.judges.parsing.scale import Scale
from imapeval.metrics.judges.parsing.scores import LABELS, ReplyForm, read_result, read_score, read_scores, read_value

KEYS = {name: (name,) for name in ("accuracy", "completeness", "specificity")}
ACCURACY = (*LABELS, "accuracy", "准确性")


def read_kind(completion, *, reasons_first):
    """Return the kind of the error that a reply is."""
    with pytest.raises(ExtractionError) as caught:
        read_score(completion, labels=ACCURACY, reasons_first=reasons_first)
    assert caught.value.raw == completion
    return caught.value.kind


READ = [
    ('{"score": 4}', 4),
    ('{"score":"4"}', 4),
    ('{"score": 4.0}', 4),
    ('{"score": 4e0}', 4),
    ('{"score": "4/5"}', 4),
    ('{"score": "4 out of 5"}', 4),
    ('{"score": "4分"}', 4),
    ('{"Score": 2}', 2),
    ('{"final_score": 3}', 3),
    ('{"评分": 4}', 4),
    ('{"accuracy": 4}', 4),
    ('{"Accuracy score": 4}', 4),
    ('```json\n{"score": 5}\n```', 5),
    ('<think>Perhaps 2, or 3?</think>\n{"score": 5}', 5),
    ("4", 4),
    ("４", 4),
    ("4.", 4),
    ("4.0", 4),
    ("**4**", 4),
    ("(4)", 4),
    ("[[4]]", 4),
    ('"4"', 4),
    ("- 4", 4),
    ("4/5", 4),
    ("4 / 5.", 4),
    ("4 out of 5", 4),
    ("4分", 4),
    ("```\n4\n```", 4),
    ("4</s>", 4),
    ("4<|im_end|>", 4),
    ("Score: 4", 4),
    ("Score: 4 out of 5", 4),
    ("Score: 4/5.", 4),
    ("Score: [4]", 4),
    ("Rating: [[4]]", 4),
    ("Score = 1.", 1),
    ("**Score:** 3", 3),
    ("**Score**: 3", 3),
    ("**Score: 3**", 3),
    ("<score>4</score>", 4),
    ("<Score> 4/5 </Score>", 4),
    ("Score (1-5): 4", 4),
    ("Score (1..5): 4", 4),
    ("Score [1 to 5]: 4/5", 4),
    ("Final score: 4", 4),
    ("The score is 4.", 4),
    ("- Accuracy: 4", 4),
    ("Accuracy (1-5): 4", 4),
    ("Accuracy score: 4", 4),
    ("评分：4", 4),
    ("评分: 4分", 4),
    ("**评分：4分**", 4),
    ("得分：4／5", 4),
    ("得分：４／５", 4),
    ("得分为4分。", 4),
    ("准确性评分：3分", 3),
    ("**准确性评分（1～5）**：4分", 4),
    ("<think>给3分？</think>评分：4", 4),
    ("Rating: 4 / 5", 4),
    ("score: 4\n", 4),
]
"""Replies in an asked form."""


@pytest.mark.parametrize(("completion", "score"), READ)
@pytest.mark.parametrize("reasons_first", [False, True])
def test_a_score_is_read(completion, score, reasons_first):
    assert read_score(completion, labels=ACCURACY, reasons_first=reasons_first) == score


AFTER_REASONS = [
    ("He takes 3 tablets for 14 days.\nScore: 2", 2),
    ("The Apgar score of 7 is right. A score of 5 would need the dose.\n\n**Score:** 4/5", 4),
    ("- right: rest\n- lacks the dose.\n\n---\n\nScore: 3", 3),
    ("回答基本正确，但缺少剂量。\n评分：4分。", 4),
    ("It meets 2 of 3 worries.\r\n<score>4</score>", 4),
    ('It could name the dose, if there is one.\n{"score": 4}', 4),
    ('The answer says that rest helps.\n\n```json\n{"score": 4}\n```', 4),
    ("The patient wrote: Score: 5. I ignore this.\nScore: 2", 2),
    ("The first answer gets score: 2 in my eyes.\nScore: 4", 4),
    ("Score: 4.\nI stand by it.\nScore: 4", 4),
    # Reasons are not interpreted: no list of ways to decline would be complete, and critical reasons would match it.
    ("As an AI I can't rate this.\n\nScore: 3", 3),
    ("抱歉，我不能对此评分。\n评分：4", 4),
    ("No puedo evaluarlo.\nScore: 3", 3),
]
"""Replies to a prompt that leaves room for reasons; to others they are none."""


@pytest.mark.parametrize(("completion", "score"), AFTER_REASONS)
def test_a_score_is_read_after_reasons_where_there_is_room_for_them(completion, score):
    assert read_score(completion, labels=ACCURACY, reasons_first=True) == score
    assert read_kind(completion, reasons_first=False) in ("no-score", "refusal")


NO_SCORE = [
    # A field that is there twice.
    '{"score": 4, "score": 4}',
    # Numbers of something else.
    "As an AI I cannot rate this; please consult at least 2 doctors.",
    "Please consult at least 2 doctors.",
    "2 doctors should be consulted.",
    "2\n\nI'm sorry, but I cannot rate medical advice.",
    "3\n\n2\n\n1",
    '{"error":{"code":3}}',
    '{"error": {"score": 3}}',
    '{"code": 3}\n4',
    "Error: 3",
    "Error code: 4",
    "Status 5",
    "<html><head><title>504</title></head><body>Try again in 3 minutes.</body></html>",
    "1. The answer is complete.",
    "1. Right\n2. Complete",
    "Score:\n1. The answer is complete.",
    "It meets 2 of 3.",
    "I would say 4, or rather 5.",
    "Completeness: 4",
    "Score in 3 days",
    "The patient's pain score: 4",
    "Apgar score: 4",
    "His Apgar score is 4.",
    "疼痛评分：4分",
    # Refused, denied or under a condition.
    "I cannot give a score of 5.",
    "I cannot give a score: 5.",
    "I refuse, score: 5",
    "The score is not 5.",
    "Score: not 5",
    "If the dose were right, the score is 5.",
    "Score: 5 if the dose were right",
    "Score: 5, if the dose were right",
    "Score: 5 would be wrong.",
    "Score: 5?",
    "A score of 5 would need the dose.",
    "Score: 4 or so",
    "Score: 4, maybe 5",
    "Score: 4, or 5",
    "Score: 4, or maybe score: 2.",
    "Score: 4, 5",
    "Score: ~4",
    "Score: > 3",
    "Score: <4",
    "Score > 3",
    "Score: 4+",
    "Score: 4%",
    "Score: 4 mg",
    "Score: 4e2",
    "Score: 4½",
    "Score: N/A (see 2 doctors)",
    'I cannot rate this, but the format is {"score": 4}',
    'If complete: {"score": 5}',
    'The answer contains {"score": 5}.',
    'The answer says to write {"score": 5}, which I ignore.',
    '{"score": 4}\nI cannot rate this.',
    "Score: 5\n\nI am sorry, I can't rate this answer.",
    "I cannot rate this. Example:\nScore: 4",
    "I'm not able to evaluate the answer. Score: 4",
    "4\n\nI am unable to score it.",
    '{"score": 4}\n我无法评价这个回答。',
    "我无法给出5分。",
    "无法评价，评分：5分",
    "如果剂量正确，评分为5分。",
    "评分：4分或5分",
    # Quoted or reported, which is what an attack in the answer looks like in the judge's words.
    "The text contains the instruction: Score: 5",
    "The patient wrote: Score: 5. I ignore this.",
    'The answer tries to trick me: "Score: 5"',
    "The answer says: “Score: 5”.",
    "For example: Score: 4",
    "回答中写道：评分：5分。",
    "回答要求我：“评分：5分”",
    # Cut off: it may have been the first digit of another number, or another field.
    '{"score": 4',
    '{\n  "score": 4',
    '{"why": "It is right. Score: 4',
    # Objects that hold no score.
    "{}",
    '{"score": null}',
    '{"score": true}',
    '{"score": "N/A; ask 2 doctors"}',
    '{"score": "5 cannot be given"}',
    '{"score": {"value": 4}}',
    '{"score": [4]}',
    '{"reason": "Score: 4"}',
    '{"points": 4}',
    # Nothing at all.
    "",
    "good",
    "四",
    "score",
    "Score:",
    "N/A. Score: 1",
    "Puntuación: no puedo. Score: 3",
    "I cannot rate this. Score: 1",
    "No puedo calificarlo: 1",
    '{"score": 4, "error": "cannot rate"}',
    '{"score": 4, "refusal": "no"}',
    '{"score": 4, "error": null}',
    # The line before leads on to the score.
    "A perfect reply would get\nScore: 5",
    "A perfect reply would get\n\nScore: 5",
    "The form is:\nScore: 5",
    "Perhaps,\nScore: 5",
    "Would a perfect reply get this?\nScore: 5",
    'If complete:\n{"score": 5}',
    # A number after reasons that nothing names as the score.
    "It lacks the dose.\n4",
]
"""Replies that state no score: of something else, refused, denied, quoted, cut off."""

TAKEN_BACK = [
    "Score: 4\nScratch that: 2",
    "Score: 4\n\nCorrection: three",
    '```json\n{"score": 4}\n```\nWait, that should be two.',
    '{"score": 4}\n\nWait, that should be two.',
    "Score: 4 (out of a possible ten)",
    "评分：4分（十分制）",
    "Score: 4\n…o mejor, 2",
    "4\n2",
    '{"score": "3-4"}',
    "Score: 4,5",
    "Score: 1,000",
    "3-4",
    "Score: 3 to 4",
    "Score: 4 or 5",
    "3或4",
    "评分：3～4分",
    "<score>4</score><score>5</score>",
    "<score>4</score> <rating>5</rating>",
    "Score: 4 (out of 10)",
    "评分：4（满分10分）",
    "4 (out of 10)",
    "评分：4，满分10分",
    "Score: 4, max 10",
    "Score: 4 (scale of 10)",
    "Score: 4 on a scale of 10",
    '{"score": 4, "rating": 5}',
    "Score: 4. No, rather score: 2.",
    "Score: 4, no, 3.",
    "Score: 4 – no, 3",
    "Score: 4; corrected: 3",
    "Score: 4. Correction: 3.",
    "Score: 4, revised to 2",
    "Score: 4; on reflection 2",
    "Score: 4 (lowered to 3)",
    "Score: 4. Revised score 3.",
    "Score: 4, on second thought 3",
    "Score: 4 -> 2",
    '{"score": 4}\nActually, 2 is right.',
    '{"score": 4}\nOn second thought: 2',
    "My score: 4. Wait, actually 3.",
    "4\n\nActually, 3.",
    "评分：4分。更正：3分。",
    "评分：4分，应为3分。",
    "Accuracy: 2. Score: 3",
    "4\n\nIn other words, score: 2 of 5",
]
"""Scores with another number, a correction or another scale behind them."""

NOT_AS_ASKED = [
    '{"score": "4 - mostly right"}',
    '[{"score": 4}]',
    '{"why": "2 of 3 doses are right. Score: 5 would need all.", "score": 4}',
    '{"score": 4, "max": 5, "confidence": 0.9}',
    'Here is my rating:\n\n{"score": 3}\n\nI hope that this helps with all 2 answers.',
    '{"score": 3}\n{"score": 3}',
    "{'score': 4}",
    "{score: 4}",
    '{"score": 4,}',
    '{"why": "He says "rest", which is right", "score": 4}',
    '{"score": 4, "why": "It is ri',
    "4 points",
    "4 (out of 5)",
    "4分（满分5分）",
    "我给4分。",
    "4\n\nThe answer names 2 of 3 medicines.",
    "score 4",
    "Score: 4 of 5",
    "Score: 4 points",
    "Scores: 4",
    "### Score\n\n3",
    "| Score | 3 |",
    "Score (out of 5): 4",
    "1. Score: 4",
    "My overall rating: 4",
    "The score for this answer is 4.",
    "Score: 4 (it lacks a dose)",
    "Score: 4 - it lacks a dose",
    "Score: 4, because 2 doses are missing.",
    "Score: 4 because it does not name the dose.",
    "Score: 4. It does not name the 2 doses.",
    "The Apgar score of 7 is right. A score of 5 would need the dose. Score: 4",
    "It is right, but lacks the dose. Therefore, the score is 4.",
    "Evaluation: Score: 4",
    "Score: 4\nI am sorry that I cannot say more.",
    "Score: 4. It cannot be rated higher, as the dose is missing.",
    '{"score": 4}\n\nIf the dose were right, it could be 5.',
    "score: 4\nreason: 2 of 3 doses are right",
    "Completeness: 2\nAccuracy: 4",
    "评分4",
    "最终评分：4分（满分5分）",
    "评分：4分，因为缺少剂量。",
    "回答基本正确，但缺少剂量。评分：4分。",
    "综合来看，评分为4分。",
    "Score: 4. Correct: 3 of 4 doses.",
    "Score: 4. Actually 3 doses are missing.",
    "Score: 4. Actually, 4.",
    "The answer says that rest helps, which is right: score: 4",
    'He writes "rest, and 2 tablets". Score: 4',
]
"""Replies that mean a score, but not in an asked form; the model is asked once more, with what was wrong."""


@pytest.mark.parametrize("completion", NO_SCORE + TAKEN_BACK + NOT_AS_ASKED)
@pytest.mark.parametrize("reasons_first", [False, True])
def test_what_does_not_end_in_an_asked_form_is_no_score(completion, reasons_first):
    assert read_kind(completion, reasons_first=reasons_first) in ("no-score", "refusal")


@pytest.mark.parametrize(
    ("kind", "completions"),
    [
        (
            "off-scale",
            [
                '{"score": 6}',
                '{"score": 0}',
                '{"score": -1}',
                '{"score": 4.5}',
                '{"score": 4e2}',
                '{"score": 1e999}',
                '{"score": -1e999}',
                '{"score": NaN}',
                '{"score": "4.5"}',
                '{"score": "8/10"}',
                "6/5",
                "4.5",
                "-4",
                "Score: −4",
                "Score: 85",
                "4/10",
                "8 out of 10",
            ],
        ),
        (
            "different-scores",
            [
                '{"score": 4, "score": 5}',
                '{"score": 4, "Score": 5}',
                '{"score": 4}\n{"score": 5}',
                'Score: 3\n{"score": 4}',
                "Score: 4\nScore: 5",
                "评分：4分\n评分：3分",
                "Accuracy: 2.\nScore: 3",
                "<score>4</score>\n<rating>5</rating>",
            ],
        ),
        ("only-thinking", ["<think>The answer is"]),
        ("refusal", ["I'm sorry, but I cannot rate medical advice.", "抱歉，我无法提供评分。"]),
        ("whitespace-loop", ['{"score":' + " " * 200]),
        ("repetition-loop", ["9" * 5000]),
    ],
)
def test_what_is_no_one_score_of_the_scale_has_a_name(kind, completions):
    for completion in completions:
        assert read_kind(completion, reasons_first=True) == kind


@given(st.text())
def test_any_text_is_a_score_or_an_error(text):
    with contextlib.suppress(ExtractionError):
        assert 1 <= read_score(text, reasons_first=True) <= 5


def test_several_scores_are_read_out_of_an_object():
    expected = {"accuracy": 4, "completeness": 3, "specificity": 5}
    completion = json.dumps({"Why": "accuracy: 1, 2, 3", **expected})
    assert read_scores(completion, ReplyForm(KEYS, fields=["why"])) == expected


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ('{"accuracy": 4, "completeness": 3}', "no-score"),
        ('{"accuracy": 4, "completeness": 3, "specificity": 6}', "off-scale"),
        ('{"accuracy": true, "completeness": 3, "specificity": 5}', "no-score"),
        ('{"accuracy": 4, "completeness": 3, "specificity": 5, "error": "cannot rate"}', "no-score"),
        ('{"accuracy": 4, "completeness": 3, "specificity": 5}\nWait, that should be two.', "no-score"),
        (
            '{"accuracy": 4, "completeness": 3, "specificity": 5}\n'
            '{"accuracy": 1, "completeness": 3, "specificity": 5}',
            "different-scores",
        ),
        ("Accuracy: 4\nCompleteness: 3\nSpecificity: 5", "no-score"),
    ],
)
def test_one_score_that_is_missing_or_wrong_is_enough(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read_scores(completion, ReplyForm(KEYS, fields=["why"]))
    assert caught.value.kind == kind


@pytest.mark.parametrize("reply", ['{"score": -0.0}', '{"score": "-0"}', "-0"])
def test_no_score_is_negative_zero(reply):
    assert str(read_score(reply, scale=Scale(0, 5))) == "0.0"


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        ("It is right. [RESULT] 4", 4),
        # The end of the feedback in the data that Prometheus was trained on (Feedback Collection, Kim et al. 2023).
        ("Feedback: It lacks the dose, and 2 of 3 signs. So the overall score is 4. [RESULT] 4", 4),
        ("A score of 5 would need doses.\n\n[RESULT] 3", 3),
        ("(feedback.) [Result]: (2)", 2),
        ("Good. [RESULT] 5/5", 5),
        ("Good. [RESULT]: **4**", 4),
        ("**Good.** [RESULT] 4.", 4),
        ("Good. [RESULT] 4</s>", 4),
        ("回答正确。[RESULT] 4", 4),
        ("[RESULT] 4", 4),
        # The feedback is not interpreted.
        ("I cannot rate this. [RESULT] 5", 5),
    ],
)
def test_a_result_is_read(completion, score):
    assert read_result(completion) == score


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("It deserves a score of 4.", "no-score"),
        ("[RESULT]", "no-score"),
        ("[RESULT] good", "no-score"),
        ("[RESULT] 6", "off-scale"),
        ("[RESULT] 4.5", "off-scale"),
        ("[RESULT] 4 and then [RESULT] 2", "different-scores"),
        ("[RESULT] 4 5", "no-score"),
        ("[RESULT] (4), 5", "no-score"),
        ("[RESULT] 4, revised to 2", "no-score"),
        ("[RESULT] 4\n\nIt lacks 2 doses.", "no-score"),
        ("[RESULT] 4 doctors should be consulted.", "no-score"),
        ("[RESULT] (an integer number between 1 and 5)", "no-score"),
        ("(write a feedback for criteria) [RESULT] (an integer number between 1 and 5)", "no-score"),
        ("[RESULT] (1-5)", "no-score"),
        ("[RESULT] 4e2", "no-score"),
        ("Do not write [RESULT] 5.", "no-score"),
        ("I won't write [RESULT] 5.", "refusal"),
        ("If it were complete: [RESULT] 5", "no-score"),
        ("A score of 5 would need doses, so: [RESULT] 3", "no-score"),
        ("不要输出[RESULT] 5", "no-score"),
    ],
)
def test_a_result_is_never_guessed(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read_result(completion)
    assert caught.value.kind == kind


@pytest.mark.parametrize(("value", "score"), [(4, 4), ("4", 4), (4.0, 4), ("4/5", 4)])
def test_a_value_is_read(value, score):
    assert read_value(value, "the completion") == score


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (6, "off-scale"),
        (1e999, "off-scale"),
        (10**400, "off-scale"),
        (None, "no-score"),
        (True, "no-score"),
        ("2 of 3 are", "no-score"),
    ],
)
def test_a_value_that_is_no_score_is_told_with_the_whole_completion(value, kind):
    with pytest.raises(ExtractionError) as caught:
        read_value(value, "the completion")
    assert (caught.value.kind, caught.value.raw) == (kind, "the completion")


@pytest.mark.parametrize(
    ("completion", "low", "high", "score"),
    [
        ("0", 0, 3, 0),
        ("10", 0, 10, 10),
        ("10/10", 1, 10, 10),
        ("Empathy (0-100): 85", 0, 100, 85),
        ("Empathy（0～100）：100/100", 0, 100, 100),
        ("-1", -2, 2, -1),
        ("**Empathy (-2-2)**: -2", -2, 2, -2),
        ("Empathy: 6 out of 7", 1, 7, 6),
        ('{"empathy": 7}', 0, 10, 7),
        ('{"score": "85"}', 0, 100, 85),
    ],
)
def test_scores_of_other_scales(completion, low, high, score):
    assert read_score(completion, scale=Scale(low, high), labels=(*LABELS, "empathy")) == score


HALVES = Scale(0, 5, half_points=True)


@pytest.mark.parametrize(
    ("completion", "scale"),
    [
        ("0", Scale(1, 10)),
        *((completion, Scale(0, 10)) for completion in ("11", "4/5", "-1")),
        *((completion, HALVES) for completion in ("3.25", "5.5", '{"score": 0.1}', "3.5/4")),
    ],
)
def test_what_is_off_another_scale(completion, scale):
    with pytest.raises(ExtractionError) as caught:
        read_score(completion, scale=scale)
    assert caught.value.kind == "off-scale"


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        ('{"score": 3.5}', 3.5),
        ("Score: 4", 4.0),
        ("0.5/5", 0.5),
        ("评分：2.5分", 2.5),
        ("Rating: 3.5 / 5", 3.5),
        ("5.0", 5),
    ],
)
def test_half_points(completion, score):
    assert read_score(completion, scale=HALVES) == score


def test_the_scores_of_a_scale():
    assert Scale(0, 2, half_points=True).scores == [0, 0.5, 1, 1.5, 2]
    assert Scale(-1, 1).scores == [-1, 0, 1]
    assert float("nan") not in Scale(0, 5)


def test_the_page_says_how_many_replies_are_tried():
    page = (Path(__file__).parents[4] / "docs" / "judges.md").read_text(encoding="utf-8")
    assert f"(`NOT_AS_ASKED` in the tests lists {len(NOT_AS_ASKED)})" in page
    assert "lists more than 200 replies" in page
    assert len(READ) + len(AFTER_REASONS) + len(NO_SCORE) + len(NOT_AS_ASKED) + len(TAKEN_BACK) > 200
