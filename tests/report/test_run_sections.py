import json
from pathlib import Path

from imapeval.evaluation.runs import Run
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Usage
from imapeval.report.run_page import render_settings


def test_what_the_model_cost_is_among_the_settings(run: Path):
    assert "language model" not in render_settings(Run(run).manifest)
    ledger = Ledger(price=Price(1.0, 4.0))
    ledger.record_call(Usage(1000, 100))
    path = run / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) | {"usage": ledger.report()}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    told = "1 call; 1,000 prompt and 100 completion tokens; USD 0.0014"
    assert f"<dt>language model</dt><dd><code>{told}</code></dd>" in render_settings(Run(run).manifest)
