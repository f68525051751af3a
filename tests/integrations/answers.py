"""The answers of docs/frameworks, which all integrations score."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "frameworks"
ANSWERS = PAGES / "answers.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
