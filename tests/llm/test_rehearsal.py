import pytest

from imapeval.errors import ProviderError
from imapeval.llm.client import Completion, Message, Request, Usage
from imapeval.llm.rehearsal import Asked, Rehearsal, pend

REQUEST = Request((Message("user", "What helps?"),), schema_name="question-imap")
MADE_UP = Completion("made up", "stop", "", Usage(0, 0))
KNOWN = Completion("paid for", "stop", "m", Usage(3, 2), cached=True)


async def test_what_was_paid_for_is_given():
    rehearsal = Rehearsal("m", find=lambda _: KNOWN, reply=pend)
    rehearsal.asked = []
    assert await rehearsal.complete(REQUEST) == KNOWN
    assert rehearsal.asked == [Asked(REQUEST, KNOWN)]


async def test_what_was_not_is_pending():
    rehearsal = Rehearsal("m", find=lambda _: None, reply=pend)
    rehearsal.asked = []
    with pytest.raises(ProviderError, match="question-imap") as caught:
        await rehearsal.complete(REQUEST)
    assert caught.value.kind == "pending"
    assert rehearsal.asked == [Asked(REQUEST, error=caught.value)]


async def test_a_made_up_reply_is_told_from_a_known_one():
    rehearsal = Rehearsal("m", find=lambda _: None, reply=lambda _: MADE_UP)
    rehearsal.asked = []
    assert await rehearsal.complete(REQUEST) == MADE_UP
    assert rehearsal.asked == [Asked(REQUEST)]


async def test_nothing_is_noted_unless_wanted():
    rehearsal = Rehearsal("m", find=lambda _: None, reply=lambda _: MADE_UP)
    assert await rehearsal.complete(REQUEST) == MADE_UP
    assert rehearsal.asked is None
