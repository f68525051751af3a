"""What an evaluation opens."""

import pytest

from imapeval.evaluation.forecast.dry_run import open_dry_run
from imapeval.evaluation.pipeline import LlmSettings, open_dry_run_model, open_pipeline
from imapeval.graph import encoder
from imapeval.llm.dry_run import pending_error
from imapeval.metrics import registry


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    monkeypatch.setattr(encoder, "open_encoder", lambda spec: opened.append(spec) or encoder.UseEncoder())
    return opened


@pytest.mark.parametrize("names", [["cosine", "imapscore"], ["imapscore"], ["cosine"]])
def test_metrics_and_matcher_share_the_encoder(opened: list[str], names: list[str]):
    open_pipeline(registry.choose(names, {}), encoder="st:x")
    assert opened == ["st:x"]


def test_without_need_no_encoder_is_opened(opened: list[str]):
    open_pipeline(registry.choose(["rouge1"], {}), encoder="st:x")
    settings = LlmSettings("openai:m", base_url="http://127.0.0.1:9/v1")
    model = open_dry_run_model(settings, reply=pending_error)
    open_dry_run(settings, model, metrics=registry.choose(["geval"], {}), encoder="st:x")
    assert opened == []
