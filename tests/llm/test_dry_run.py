import pytest

from imapeval.errors import ProviderError
from imapeval.llm.dry_run import DryRunModel, RecordedRequest, pending_error
from imapeval.llm.protocol import Completion, Message, Request, Usage

REQUEST = Request((Message("user", "What helps?"),), schema_name="question-imap")
MADE_UP = Completion("made up", "stop", "", Usage(0, 0))
KNOWN = Completion("paid for", "stop", "m", Usage(3, 2), cached=True)


async def test_cached_completions_are_returned():
    dry_run = DryRunModel("m", find_completion=lambda _: KNOWN, reply=pending_error)
    dry_run.recorded = []
    assert await dry_run.complete(REQUEST) == KNOWN
    assert dry_run.recorded == [RecordedRequest(REQUEST, KNOWN)]


async def test_requests_without_a_completion_are_pending():
    dry_run = DryRunModel("m", find_completion=lambda _: None, reply=pending_error)
    dry_run.recorded = []
    with pytest.raises(ProviderError, match="question-imap") as caught:
        await dry_run.complete(REQUEST)
    assert caught.value.kind == "pending"
    assert dry_run.recorded == [RecordedRequest(REQUEST, error=caught.value)]


async def test_simulated_replies_are_marked():
    dry_run = DryRunModel("m", find_completion=lambda _: None, reply=lambda _: MADE_UP)
    dry_run.recorded = []
    assert await dry_run.complete(REQUEST) == MADE_UP
    assert dry_run.recorded == [RecordedRequest(REQUEST)]


async def test_nothing_is_noted_unless_wanted():
    dry_run = DryRunModel("m", find_completion=lambda _: None, reply=lambda _: MADE_UP)
    assert await dry_run.complete(REQUEST) == MADE_UP
    assert dry_run.recorded is None
