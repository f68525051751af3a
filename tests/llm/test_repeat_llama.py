"""`imapeval study repeat` on a real llama.cpp server with a real model, twice."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app


@pytest.mark.llm
@pytest.mark.slow
def test_ratings_of_a_real_model_vary_and_are_paid_for_once(llama_url, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    rows = [
        {"question": "How is a boil treated?", "reference": "Warm cloths.", "response": response}
        for response in ("Put a warm wet cloth on it.", "Rest.", "Antibiotics for a month.")
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"id": str(n), **row}) + "\n" for n, row in enumerate(rows)), encoding="utf-8")
    command = ["study", "repeat", str(data), "--llm", "openai:smollm2", "--base-url", llama_url, "--votes", "4"]
    command += ["--metrics", "geval:accuracy", "--threshold", "geval:accuracy=3", "--json"]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == 0, first.stderr
    (found,) = json.loads(first.stdout)["metrics"]
    assert found["answers"] + found["incomplete"] == 3
    assert found["judgements"] == 4
    if found["answers"]:
        # At temperature 1 it does not rate everything alike twelve times.
        assert found["variance"]["judging"] > 0
        assert [flips["votes"] for flips in found["flips"]] == [1, 2, 4]
        assert all(0 <= flips["predicted"] <= 1 for flips in found["flips"])
        assert found["cost"]["judging"] > 0
    repeated = json.loads(again.stdout)
    assert repeated["metrics"] == [found]
    assert repeated["usage"]["calls"] == repeated["usage"]["cached"] or found["incomplete"]
