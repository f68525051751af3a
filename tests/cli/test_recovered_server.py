"""A server whose completions are of no use, and that is mended: it is asked anew, once by each run."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData

SAMPLES = [Sample(str(n), "What helps against pain?", ("Rest.",), f"Rest {n}.") for n in range(4)]
PAGE = "<html><title>502 Bad Gateway</title></html>"
USELESS = [PAGE, "I'm sorry, but I can't help with that.", '{"query": ["help"], "constr']


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("useless", USELESS, ids=["page", "refusal", "cut"])
def test_a_mended_server_is_asked_again(
    imapeval: Command, write_data: WriteData, tmp_path: Path, serve: Callable[..., Any], useless: str
) -> None:
    said: list[str] = [useless]
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        seen[json.dumps(body["messages"])] += 1
        facts = [{"term": "help", "values": ["Rest"]}]
        good = json.dumps({"query": ["help"], "constraint": [], "inform": facts})
        message = {"content": said[0] or good}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return 200, {"choices": [{"finish_reason": "stop", "message": message}], "usage": usage}

    server = serve(answer)
    llm = ("--llm", "openai:m", "--base-url", server.url, "--relations", "graph", "--price", "1,1")
    command = ("score", write_data(SAMPLES), "--metrics", "imapscore:paper", "--out", "run", "--json", *llm)
    broken = json.loads(imapeval(*command).stdout)
    assert broken["failed"] == len(SAMPLES)
    # The question that all samples share, and once more with a note; not once for each sample.
    assert set(seen.values()) == {1}
    assert len(seen) == 2

    # As long as nothing is mended, the next run pays once more.
    imapeval(*command)
    assert set(seen.values()) == {2}

    said[0] = ""
    mended = json.loads(imapeval(*command).stdout)
    assert mended["failed"] == 0
    # What was paid for nothing stays counted.
    assert mended["usage"]["prompt_tokens"] == 100 * server.calls

    calls = server.calls
    assert imapeval(*command[:4], "--out", "another", *command[6:]).returncode == 0
    assert server.calls == calls


NOTHING = ['I cannot read it. {"facts": []}', '{"facts": [], "facts": []}', '{"facts": ["抱歉，我无法提供医疗建议。"]}']


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("useless", NOTHING)
def test_what_looks_like_an_empty_list_is_asked_for_again(
    imapeval: Command, write_data: WriteData, serve: Callable[..., Any], useless: str
) -> None:
    said = [useless]

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        good = json.dumps({"supported": True} if "fact-support" in json.dumps(body) else {"facts": ["Rest."]})
        return 200, {"choices": [{"finish_reason": "stop", "message": {"content": said[0] or good}}]}

    server = serve(answer)
    llm = ("--llm", "openai:m", "--base-url", server.url)
    command = ("score", write_data(SAMPLES[:1]), "--metrics", "factscore", "--out", "run", "--json", *llm)
    assert json.loads(imapeval(*command).stdout)["failed"] == 1
    assert server.calls == 2
    said[0] = ""
    assert json.loads(imapeval(*command).stdout)["failed"] == 0
    assert server.calls == 4
