"""Rewording by a real llama.cpp server with a real model: only the shape is asked of it."""

import pytest

from imapeval.llm.providers.openai import OpenAIModel
from imapeval.study.robustness import rewording
from imapeval.study.robustness.rewording import keep_letters_and_digits, reword_answers
from imapeval.types import Failure, Sample

pytestmark = [pytest.mark.llm, pytest.mark.slow]

SAMPLES = [
    Sample("a", "How is a boil treated?", ("Warm cloths.",), "Put a warm wet cloth on it three times a day."),
    Sample("b", "What helps a cold?", ("Rest.",), "Rest, drink enough, and wait: most colds pass on their own."),
]


async def test_rewordings_differ_from_the_answer_or_say_why_not(llama_url, monkeypatch):
    # A small model finds no end of a longer answer.
    monkeypatch.setattr(rewording, "_ROOM", 8)
    made = await reword_answers(SAMPLES, model=OpenAIModel("smollm2", base_url=llama_url), count=2)
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
