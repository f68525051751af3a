import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.llm.prices import TABLE, Price, find_price, parse_price
from imapeval.llm.protocol import Usage


def test_a_known_model_at_its_makers_address():
    price = find_price("openai:gpt-4.1-mini")
    # OpenAI's price list, developers.openai.com/api/docs/pricing: 0.40 in, 0.10 cached, 1.60 out.
    assert price == Price(0.4, 1.6, 0.1, price.source if price else "")
    assert price.source.startswith("litellm 1.")
    assert find_price("openai:gpt-4.1-mini", base_url="https://api.openai.com/v1/") == price
    assert find_price("openai: gpt-4.1-mini ") == price, "`open_model` opens that one"


@pytest.mark.parametrize(
    ("spec", "base_url"),
    [
        ("openai:gpt-4.1-mini", "http://127.0.0.1:8000/v1"),
        ("openai:gpt-4.1-mini", "https://openrouter.ai/api/v1"),
        ("openai:gpt-4.1-mini", "https://mine.openai.azure.com/openai/v1"),
        ("openai:gpt-4.1-mini", "https://api.openai.com.example/v1"),
        ("openai:gpt-4.1-mini", "http://[::1"),
        ("openai:gpt-4.1-min", None),
        ("openai:GPT-4.1-mini", None),
        ("openai:deepseek-v4-flash", None),
        ("openai:source", "https://source/v1"),
        ("local:gpt-4.1-mini", None),
        ("vllm:Qwen/Qwen3-8B", None),
    ],
)
def test_no_other_price_is_guessed(spec: str, base_url: str | None):
    assert find_price(spec, base_url=base_url) is None


def test_the_environment_may_name_another_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.deepseek.com")
    assert find_price("openai:gpt-4.1-mini") is None
    assert find_price("openai:deepseek-v4-flash") is not None


def test_the_table_names_its_source_and_every_price_is_one():
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    assert table.pop("source").keys() >= {"package", "sha256", "read", "licence"}
    prices = [Price(**price) for models in table.values() for price in models.values()]
    page = Path(__file__).parents[2] / "docs" / "cost.md"
    assert f"A price is known for {len(prices)} text models" in page.read_text(encoding="utf-8")
    for price in prices:
        # From the cheapest to the dearest that is sold; a price per token or per thousand would be out of it.
        assert 0.01 <= price.prompt <= 50
        assert price.prompt <= price.completion <= 300
        assert price.reused is None or 0 < price.reused < price.prompt


def test_cost():
    usage = Usage(1_000_000, 500_000, reused_tokens=400_000)
    assert Price(2.0, 8.0, 0.5).cost_of(usage) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.5 * 8.0)
    assert Price(2.0, 8.0).cost_of(usage) == pytest.approx(2.0 + 4.0)


def test_a_price_can_be_given():
    assert parse_price("0.40, 1.60") == Price(0.4, 1.6, source="--price")
    assert parse_price("0,0").cost_of(Usage(10, 10)) == 0


@pytest.mark.parametrize("text", ["", "1", "1;2", "1,2,3", "a,b", "-1,2", "1,nan", "inf,1"])
def test_an_invalid_price_is_rejected(text: str):
    with pytest.raises(UsageError, match="--price"):
        parse_price(text)


@pytest.mark.parametrize(
    "prices", [(math.nan, 1), (1, math.inf), (-1, 1), (1, 1, -1), (1, 1, math.nan), ("0.4", "1.6"), (True, 1)]
)
def test_what_is_no_price_is_refused(prices: Any):
    with pytest.raises(UsageError, match="price"):
        Price(*prices)


def test_numbers_of_numpy_are_prices():
    price = Price(np.int64(1), np.float32(2.5), np.int64(0))  # pyright: ignore[reportArgumentType]
    assert price == Price(1.0, 2.5, 0.0)
    assert json.loads(json.dumps(asdict(price))) == asdict(price)
