import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.llm.structured.faults import diagnose

VALUES = ", ".join(f'"fact number {n} of the answer"' for n in range(60))


@pytest.mark.parametrize(
    ("completion", "fault"),
    [
        ("I am sorry, but I cannot help with that.", "refusal"),
        ("I can’t provide medical advice.", "refusal"),
        ("As an AI language model, I do not diagnose.", "refusal"),
        ("I'm unable to assist with that.", "refusal"),
        ("I’m not able to provide medical advice.", "refusal"),
        ("I am unable to help.", "refusal"),
        ("抱歉，我无法提供诊断。", "refusal"),
        ("我无法为您提供医疗建议。", "refusal"),
        ("我不能为你解答", "refusal"),
        ("作为一个人工智能，我不能给出建议。", "refusal"),
        ("<think>Let me see", "only-thinking"),
        ("<think>Let me see</think>", "only-thinking"),
        ("{ }", "empty-object"),
        ("```json\n{}\n```", "empty-object"),
        ('{"inform": [' + "\n" * 150, "whitespace-loop"),
        ('{"inform": [{"term": "' + "\\n" * 150, "whitespace-loop"),
        ("The answer says to rest.", "unreadable-completion"),
        ("", "unreadable-completion"),
    ],
)
def test_diagnose(completion, fault):
    assert diagnose(completion) == fault


@pytest.mark.parametrize(
    ("completion", "fault"),
    [
        (
            '{"inform": [{"term": "symptom", "values": [' + '"swelling", "soreness", "hard lump", ' * 9,
            "repetition-loop",
        ),
        # The same few in no fixed order, as a sampling model loops.
        (
            '{"inform": [{"term": "symptom", "values": [' + ", ".join(f'"{"abc"[n * n % 7 % 3]}"' for n in range(50)),
            "repetition-loop",
        ),
        ("Inform-治疗-休息\n" * 20, "repetition-loop"),
        ('{"inform": [{"term": "advice", "values": [' + VALUES, "truncated"),
        ("Inform-治疗-休息\nInform-治疗-喝水\n", "truncated"),
    ],
)
def test_a_loop_is_no_mere_truncation(completion, fault):
    assert diagnose(completion, cut=True) == fault


@given(st.text())
def test_any_text_has_a_name(completion):
    diagnose(completion)


def test_it_takes_no_time_even_where_the_completion_is_very_long():
    start = time.process_time()
    for completion in ("ab " * 100_000, '"' * 100_000, "{[" * 50_000, " \\n" * 50_000):
        diagnose(completion, cut=True)
    assert time.process_time() - start < 5
