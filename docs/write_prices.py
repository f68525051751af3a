"""Writes imapeval/llm/prices.json out of the price list that comes with litellm.

    pip download --no-deps litellm==1.109.1 -d DIR
    python docs/write_prices.py DIR/litellm-1.109.1-*.whl

Only providers whose address is in `HOSTS`, only text models that are sold on the day, only prices that name their
source and do not depend on whether the model thinks. Of prices that rise with the length of a request the lowest is
taken, which is good up to at least 32,000 tokens.
"""

import hashlib
import json
import re
import sys
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "imapeval" / "llm" / "prices.json"
LIST = "litellm/model_prices_and_context_window_backup.json"

HOSTS = {
    "openai": "api.openai.com",
    "deepseek": "api.deepseek.com",
    # The prices are those of the international edition; in China they are others, in yuan.
    "dashscope": "dashscope-intl.aliyuncs.com",
    "mistral": "api.mistral.ai",
    "gemini": "generativelanguage.googleapis.com",
}

OTHER_USES = re.compile(
    r"^ft:|audio|search|computer|research|robotics|omni|tts|lyria|-vl-|voxtral|pixtral|vision|cod(?:e|ing)\b|coder|"
    r"codestral|devstral|vibe|customtools|cyber|daybreak|rosalind|-law\b|container|-exp-|gemma|chat-latest"
)


def select(listed: dict[str, dict[str, Any]], today: date) -> dict[str, dict[str, dict[str, float]]]:
    """Return the prices in USD per million tokens by host and model."""
    found: dict[str, dict[str, dict[str, float]]] = {host: {} for host in HOSTS.values()}
    for key, entry in listed.items():
        host = HOSTS.get(entry.get("litellm_provider", ""))
        name = key.rpartition("/")[2]
        sold = date.fromisoformat(entry.get("deprecation_date", "9999-12-31")) > today if host else False
        if not sold or host is None or entry.get("mode") != "chat" or "source" not in entry or OTHER_USES.search(name):
            continue
        price = entry
        if "tiered_pricing" in entry:
            price = entry["tiered_pricing"][0]
            if price["range"][1] < 32_000:
                continue
        prompt, completion = price.get("input_cost_per_token"), price.get("output_cost_per_token")
        if not prompt or not completion or price.get("output_cost_per_reasoning_token", completion) != completion:
            continue
        kept = {"prompt": prompt, "completion": completion, "reused": price.get("cache_read_input_token_cost")}
        found[host][name] = {part: round(usd * 1e6, 6) for part, usd in kept.items() if usd is not None}
    return {host: dict(sorted(prices.items())) for host, prices in found.items()}


def main(wheel: Path) -> None:
    """Write the file."""
    with zipfile.ZipFile(wheel) as archive:
        raw = archive.read(LIST)
    today = datetime.now(UTC).date()
    source = {
        "package": "litellm " + wheel.name.split("-")[1],
        "file": LIST,
        "sha256": hashlib.sha256(raw).hexdigest(),
        "read": today.isoformat(),
        "licence": "MIT, Copyright (c) 2023 Berri AI",
        "unit": "USD per million tokens; 'reused' are prompt tokens that the server had in its own cache",
    }
    lines = [f'  "source": {json.dumps(source, indent=4).replace(chr(10) + "}", chr(10) + "  }")}']
    for host, prices in select(json.loads(raw), today).items():
        rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(price)}" for name, price in prices.items())
        lines.append(f"  {json.dumps(host)}: {{\n{rows}\n  }}")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
