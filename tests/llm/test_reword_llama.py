"""Rewording by a real llama.cpp server with a real model: only the shape is asked of it."""

import pytest

from imapeval.study.robustness.rewording import keep_letters_and_digits, reword_answers
from imapeval.types import Failure, Sample

pytestmark = [pytest.mark.llm, pytest.mark.slow]

SAMPLES = [
    Sample("a", "How is a boil treated?", ("Warm cloths.",), "Put a warm wet cloth on it."),
    Sample("b", "What helps a cold?", ("Rest.",), "Rest, and drink enough."),
]


async def test_rewordings_differ_from_the_answer_or_say_why_not(smollm2):
    made = await reword_answers(SAMPLES, model=smollm2, count=2)
    assert made.keys() == {"a", "b"}
    for sample in SAMPLES:
        assert len(made[sample.id]) == 2
        for number, item in enumerate(made[sample.id], 1):
            if isinstance(item, Failure):
                assert item.stage in ("rewording", "llm")
                assert item.kind != "internal"
            else:
                assert item.id == f"{sample.id}#{number}"
                assert keep_letters_and_digits(item.response) != keep_letters_and_digits(sample.response)
    assert any(isinstance(item, Sample) for items in made.values() for item in items)
