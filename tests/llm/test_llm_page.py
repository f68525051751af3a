"""The Python examples of docs/llm.md run as they are printed, and its limits are those of the code."""

import inspect
import re
from pathlib import Path

import pytest

from imapeval import redaction
from imapeval.evaluation.runs import usage_file
from imapeval.extraction import repeated
from imapeval.llm.middleware import cache, retry
from imapeval.llm.providers import llama_cpp, openai, vllm
from imapeval.llm.structured import client, faults
from imapeval.matching import llm

PAGE = (Path(__file__).parents[2] / "docs" / "llm.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], "llm.md", "exec", dont_inherit=True), {})
    assert len(EXAMPLES) == 2


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def test_limits_are_those_of_the_page():
    """Tests of what happens there lower most of them."""
    attempts, paid = NUMBERS[retry._MAX_ATTEMPTS], {2: "twice"}[retry._MAX_PAID]
    timeouts, rate_limited = NUMBERS[retry._MAX_TIMEOUTS], NUMBERS[retry._MAX_RATE_LIMITED]
    timeout = inspect.signature(openai.OpenAIModel).parameters["timeout"].default
    told = (
        f"{openai._CONCURRENCY} requests at a time (1 with `local:`, {vllm._CONCURRENCY:,} with `vllm:`",
        f"sent up to {attempts} times in all ({paid} if",
        f"timeouts ({timeout:.0f} seconds for a whole reply, {llama_cpp._TIMEOUT:,.0f} with `local:`) {timeouts} times",
        f'"too many requests" {rate_limited} times',
        f"after {NUMBERS[retry._OUTAGE_THRESHOLD]} different requests in a row without an answer",
        f"at intervals of up to {retry._LONGEST_PROBE_INTERVAL:.0f} seconds",
        f"After {NUMBERS[int(retry._LONGEST_OUTAGE / 60)]} minutes (",
        f"({NUMBERS[int(retry._LONGEST_OUTAGE_AT_START)]} seconds for a server that has never answered",
        f"renews the claim every {cache._RENEWAL:.0f} seconds",
        f"wait up to {cache._LEASE:.0f} seconds for the requests it had in flight",
        f"asks again after an hour{'' if cache._UNUSABLE_SECONDS == 3600 else '?'}",
        f"less than {usage_file._MIN_FREE / 1e6:.0f} MB left, no further request is sent",
        f"({openai._REPLY_BYTES >> 20} MB, more for long answers and probabilities)",
        f"more than {client.MAX_CHARACTERS:,} characters",
        f"After a loop the temperature is {faults.LOOP_TEMPERATURE}",
        f"the token limit is {faults.MORE_TOKENS} times as high",
        f"at temperature {repeated.TEMPERATURE:.1f}".replace(" 0.", " ."),
        f"more than {llm.MAX_FACTS} facts",
        f"{redaction._MIN_LENGTH} characters; {redaction._MIN_WORD_LENGTH} for a word of letters alone | everywhere",
        f"{redaction._MIN_LOGIN_LENGTH} characters | as a whole word",
        f"other values of a URL's query | {redaction._MIN_URL_VALUE_LENGTH} characters | everywhere",
    )
    page = " ".join(PAGE.split())
    assert [words for words in told if words not in page] == []
