"""Relations asked of a real llama.cpp server with a real model."""

import pytest

from imapeval.evaluation.pipeline import open_graph, open_matcher
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.matching import llm
from imapeval.matching.protocol import relate_values
from imapeval.types import Failure

MOST_TOKENS = 60
"""Room for one pair; the model is far too weak to end a longer list."""

VALUES = {
    "en": ("raise the head of the bed", "sleep with the upper body propped up"),
    "zh": ("床头抬高", "睡觉时垫高上半身"),
}


@pytest.mark.llm
@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_a_pair_is_related_or_its_failure_named(llama_url, tmp_path, monkeypatch, lang):
    """SmolLM2 knows nothing of medicine: only the shape is asked of it."""
    monkeypatch.setattr(llm, "_MAX_TOKENS", MOST_TOKENS)
    model = CachedModel(OpenAIModel("smollm2", base_url=llama_url), tmp_path / "cache.sqlite")
    matcher = open_matcher(open_graph(), llm=model)
    match = await relate_values(matcher, *VALUES[lang], lang=lang)
    if isinstance(match, Failure):
        assert match.stage in ("matching", "llm")
        assert match.raw
        return
    assert match.decided_by in ("llm", "encoder")
    assert match.evidence["prompt"] == f"value-relation.{lang}.v2"
    again = await relate_values(matcher, *VALUES[lang], lang=lang)
    assert (again, again.evidence) == (match, match.evidence)
