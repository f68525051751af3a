"""A `Reader` that reads each text several times and keeps what most readings say (Wang et al. 2024: at least 2 of 3).

Readings of one text word the same fact differently, so that near-identical pairs count as one, a *cluster*:

- the terms are the same but for case, width, spaces, punctuation and number;
- neither differs from the other in polarity, in a number or in a side such as acute and chronic;
- and the values are one by their wording (`imapeval.wording.text.compare`), or one says all words of the other and
  their tokens overlap by `OVERLAP` or more. Overlap alone would make one of "colchicine 500 mg twice daily" and
  "naproxen 500 mg twice daily".

What one reading lists as two facts stays two where only the overlap speaks for one: "chest X-ray" beside "X-ray".
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ExtractionError, ProviderError, SampleError
from imapeval.extraction.parsing import ASKED
from imapeval.graph.normalise import normalise
from imapeval.llm.client import LASTING
from imapeval.polarity import negated, restrains
from imapeval.signature import signature
from imapeval.types import AnswerImap, Pair, QuestionImap
from imapeval.wording.contrast import find_sides
from imapeval.wording.text import Verdict, compare, overlap, read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable, Iterable, Sequence

    from imapeval.extraction.extractor import Reader
    from imapeval.types import Lang

TEMPERATURE = 0.9
"""Of sampling, so that readings differ where the text leaves room: Wang et al. 2024."""

OVERLAP = 0.8
"""Dice coefficient of tokens from which two wordings, one a part of the other, are one: two words of three."""

_NUMERAL = re.compile(
    r".*\d.*|one|two|three|four|five|six|seven|eight|nine|ten|half|double|i{1,3}|iv|vi{0,3}|ix|x"
    "|[一二三四五六七八九十两半倍]"
)
_RESERVE = re.compile(
    r"\b(?:unlikely|improbable|hardly|rarely|seldom|except|unless|instead|rather than)\b"
    "|很少|极少|罕见|除非|除外|可能性[很较]?[小低]",
    re.IGNORECASE,
)
"""What turns a statement round or takes from it without being a negator."""

_SAME = 2.0
"""Likeness of two wordings of one name; more than any overlap."""

_Wording = tuple[str, str]
"""Term and value."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Vote:
    """What several readings agree on.

    Attributes:
        pairs: One per cluster that enough readings have, in the wording that most of its readings use, the earliest on
            ties; in the order in which the readings first have them.
        clusters: The clusters of each reading, those that are not kept as well, by number.
    """

    pairs: tuple[Pair, ...]
    clusters: tuple[frozenset[int], ...]


class VotingReader:
    """Reads each text with every one of several readers and keeps what a majority of them say.

    The question is voted on first; answers are read in the light of the voted question.

    A reading that fails counts as one that was not made, as long as a majority is left to agree. Only where asking
    again may help, as after a timeout, the text fails whatever the others say: its imap must not depend on the weather.

    Args:
        readers: At least 2, alike but for the seed.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        if len(readers) < 2:
            raise ValueError(f"{len(readers)} readers cannot vote")
        self._readers = readers
        self._needed = len(readers) // 2 + 1

    @property
    def signature(self) -> str:
        """Votes, the rule by which they are counted, and the reader."""
        voted = signature("voted", votes=len(self._readers), keep=self._needed, same=f"wording/dice:{OVERLAP:g}", v="2")
        return f"{voted}|{self._readers[0].signature}"

    @property
    def concurrency(self) -> int:
        """So many texts that their readings together are as many as the reader makes good use of."""
        return -(-self._readers[0].concurrency // len(self._readers))

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return what most readings find asked and given; see `Reader.read_question`.

        Raises:
            SampleError: Too many readings failed, as the first that did; or most agree on nothing that is asked (kind
                "no-agreement").
        """
        work = (reader.read_question(question, lang=lang) for reader in self._readers)
        readings = await gather_readings(work, needed=self._needed)
        query = vote([reading.query for reading in readings], needed=self._needed)
        constraint = vote([reading.constraint for reading in readings], needed=self._needed)
        if not query.pairs:
            terms = "; ".join(", ".join(pair.term for pair in reading.query) for reading in readings)
            raise ExtractionError(
                f"of {len(self._readers)} readings no {self._needed} agree on anything that is asked",
                kind="no-agreement",
                raw=terms,
            )
        return QuestionImap(query.pairs, constraint.pairs, measure_stability(query, constraint))

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Return the facts that most readings find; see `Reader.read_answer`.

        Raises:
            SampleError: Too many readings failed, as the first that did.
        """
        work = (reader.read_answer(answer, question=question, imap=imap, lang=lang) for reader in self._readers)
        readings = await gather_readings(work, needed=self._needed)
        inform = vote([reading.inform for reading in readings], needed=self._needed)
        return AnswerImap(inform.pairs, measure_stability(inform))


async def gather_readings(readings: Iterable[Awaitable[_T]], *, needed: int) -> list[_T]:
    """Return the readings that were made, at least so many.

    Raises:
        ImapEvalError: One failed for a reason that concerns more than this text, else for one that does not last.
        SampleError: Too many failed, as the first that did.
    """
    # Every reading is waited for even where one fails: it is paid for, and the cache keeps it.
    made = await asyncio.gather(*readings, return_exceptions=True)
    errors = [reading for reading in made if isinstance(reading, BaseException)]
    # What does not last may not happen again, or waits for its batch ("pending").
    passing = [error for error in errors if not _lasts(error)]
    if passing:
        # What ends the run must not hide behind what fails one text.
        raise min(passing, key=lambda error: isinstance(error, SampleError))
    if len(made) - len(errors) < needed:
        raise errors[0]
    return [reading for reading in made if not isinstance(reading, BaseException)]


def _lasts(error: BaseException) -> bool:
    return error.kind in LASTING if isinstance(error, ProviderError) else isinstance(error, SampleError)


def vote(readings: Sequence[Sequence[Pair]], *, needed: int) -> Vote:
    """Return the pairs that so many readings have. Pure.

    A reading votes once for a cluster, however often it words it. Which clusters are kept does not depend on the order
    of the readings.

    >>> rest, sleep = Pair("advice", "bed rest"), Pair("advice", "sleep")
    >>> vote([[rest, sleep], [Pair("advice", "Bed-rest")], [rest]], needed=2).pairs
    (Pair(term='advice', value='bed rest', span=None),)
    """
    cluster_of = _cluster(readings)
    clusters = tuple(frozenset(cluster_of[_word(pair)] for pair in reading) for reading in readings)
    counts = Counter(cluster for found in clusters for cluster in found)
    wordings: dict[int, Counter[_Wording]] = {}
    first: dict[_Wording, Pair] = {}
    for reading in readings:
        # A set that keeps its order: how often one reading repeats itself says nothing.
        for wording in dict.fromkeys(map(_word, reading)):
            wordings.setdefault(cluster_of[wording], Counter())[wording] += 1
        for pair in reading:
            first.setdefault(_word(pair), pair)
    return Vote(
        # `most_common` keeps the order of first appearance among equals, and so does the dict.
        tuple(first[found.most_common(1)[0][0]] for cluster, found in wordings.items() if counts[cluster] >= needed),
        clusters,
    )


def measure_stability(*votes: Vote) -> float:
    """Return how far the readings of one text agreed: the mean Dice coefficient of their clusters, over all pairs.

    Args:
        votes: On the parts of the same readings, such as query and constraint; at least 2 readings.

    Returns:
        0 (no two readings share a cluster) to 1 (all have the same ones, or none has any).
    """
    whole = [
        frozenset((part, cluster) for part, clusters in enumerate(parts) for cluster in clusters)
        for parts in zip(*(vote.clusters for vote in votes), strict=True)
    ]
    return fmean(2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0 for a, b in combinations(whole, 2))


def _word(pair: Pair) -> _Wording:
    return pair.term, pair.value


def _cluster(readings: Sequence[Sequence[Pair]]) -> dict[_Wording, int]:
    """Number the clusters of near-identical wordings, from 0 in the order in which they first appear."""
    owners: dict[_Wording, set[int]] = {}
    for number, reading in enumerate(readings):
        for pair in reading:
            owners.setdefault(_word(pair), set()).add(number)
    groups: dict[Hashable, list[_Wording]] = {}
    for wording in owners:
        groups.setdefault(_facets(wording), []).append(wording)
    links = [
        (likeness, *sorted((a, b)))
        for group in groups.values()
        for a, b in combinations(group, 2)
        if (likeness := _liken(_told(a), _told(b)))
    ]
    members = {wording: [wording] for wording in owners}
    # The closest first, and by their letters among equals: the order of the readings must not decide.
    for likeness, a, b in sorted(links, key=lambda link: (-link[0], *link[1:])):
        ours, theirs = members[a], members[b]
        listed_as_two = any(owners[one] & owners[other] for one in ours for other in theirs)
        if ours is not theirs and (likeness == _SAME or not listed_as_two):
            ours.extend(theirs)
            members.update((wording, ours) for wording in theirs)
    numbers: dict[int, int] = {}
    return {wording: numbers.setdefault(id(members[wording]), len(numbers)) for wording in owners}


def _told(wording: _Wording) -> str:
    """Return the text by which a pair says something: of a query pair the term."""
    term, value = wording
    return term if value == ASKED else value


def _facets(wording: _Wording) -> Hashable:
    """Return what near-identical pairs never differ in."""
    term, value = wording
    told = _told(wording)
    known = read(told)
    return (
        value == ASKED or normalise(term) or term,
        negated(told),
        restrains(told),
        frozenset(map(str.lower, _RESERVE.findall(told))),
        frozenset(known.quantities.items()),
        frozenset(filter(_NUMERAL.fullmatch, known.words)),
        frozenset(find_sides(told).taken.items()),
    )


def _liken(a: str, b: str) -> float:
    """Return how alike two wordings of the same facets are: `_SAME`, at least `OVERLAP`, or 0 for different facts."""
    if compare(a, b) is Verdict.SAME:
        return _SAME
    ours, theirs = read(a).words, read(b).words
    shared = overlap(a, b) if ours <= theirs or theirs <= ours else 0.0
    return shared if shared >= OVERLAP else 0.0
