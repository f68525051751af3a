"""The small model that ships with imapeval: how far two facts agree, and how much a fact matters to a question.

A bilingual encoder (three layers of multilingual-e5-small), trained on answers that language models wrote and whose
facts they related (`models/facts/README.md`). Every text is encoded once; two small networks then compare what was
encoded. It runs on one thread of the CPU. A result depends, bit for bit, only on its own texts, not on others in the
same batch.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from imapeval import _resources
from imapeval.text.language import has_chinese

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

RELATIONS = ("unmatched", "exact", "containment", "belonging", "contradiction")
"""What the model tells apart, in the order of its output."""

MIRRORED = [0, 1, 3, 2, 4]
"""The place in `RELATIONS` of each relation seen from the other side."""

AGREEMENT = (0.0, 1.0, 0.6, 0.3, 0.0)
"""How far facts with each of these relations agree: their credits in imapScore."""

MAX_TOKENS = 62
"""Maximum tokens of a text, without those that mark its start and end; what follows is ignored."""

_MAX_CHARACTERS = 1000
"""Characters of a text that are searched for tokens."""

_NETWORKS = ("encoder.onnx", "relations.onnx", "importance.onnx")
_VOCABULARY = "vocabulary.model"
_START, _PADDING, _END = 0, 1, 2
_BUCKET = 8
"""Texts are padded to a multiple of this many tokens, so that many can share one call. The padding depends on the
text alone, because it decides the order of a sum."""
_CHUNK = 256
"""Maximum rows of a call."""
_CACHED = 10_000
"""Maximum number of encoded texts that are kept: about 5 KB each, 20 KB at most."""


class _Encoded(NamedTuple):
    """An encoded text: its vector, and a vector for each token, padded to a bucket, with a mask of those that count.

    Or several texts of one bucket, with a row for each.
    """

    vector: Floats
    tokens: Floats
    mask: npt.NDArray[np.bool_]

    def take(self, rows: npt.NDArray[np.intp]) -> _Encoded:
        """Return some of several texts."""
        return _Encoded(self.vector[rows], self.tokens[rows], self.mask[rows])


class FactModel:
    """Compares facts; see the module's docstring. Can be shared between threads.

    Attributes:
        identity: Name and hash of the model, for signatures.

    Raises:
        ResourceError: A file of the model is missing.
    """

    def __init__(self) -> None:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
        import sentencepiece

        files = [_resources.find("models", "facts", name) for name in (*_NETWORKS, _VOCABULARY)]
        contents = [file.read_bytes() for file in files]
        digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents))
        self.identity = f"facts#{digest.hexdigest()[:12]}"
        runtime: Any = onnxruntime
        options = runtime.SessionOptions()
        # The matrices are small: a second thread gains little on idle cores and loses much on busy ones.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        networks: list[Any] = [runtime.InferenceSession(content, options) for content in contents[:3]]
        self._encoder, self._relations, self._importance = networks
        self._pieces: Any = sentencepiece.SentencePieceProcessor(model_proto=contents[3])
        self._known: dict[tuple[str, bool], _Encoded] = {}
        self._lock = threading.Lock()

    def weigh(self, question: str, facts: Sequence[str]) -> Floats:
        """Return how much each fact of an answer matters to the question, 0..1, shape (facts,).

        The expected value of three classes: 0 for what says nothing about the question (general advice, courtesies,
        fragments), .5 for a side point, 1 for a main point.
        """
        if not facts:
            return np.zeros(0, dtype=np.float32)
        asked = shorten_question(question)
        encoded = self._encode(facts)
        vectors = np.stack([encoded[fact].vector for fact in facts])
        questions = np.broadcast_to(self._encode([asked], alone=True)[asked].vector, vectors.shape)
        return _run(self._importance, question=questions, fact=vectors)[0] @ np.array([0, 0.5, 1], dtype=np.float32)

    def relate(self, reference: Sequence[str], response: Sequence[str], similarities: npt.NDArray[Any]) -> Floats:
        """Return the probability of each of `RELATIONS` for every pair of facts, shape (reference, response, 5).

        The mean of both directions, so that exchanging the sides mirrors the relations.

        Args:
            reference: The facts of one answer.
            response: The facts of the other.
            similarities: Of the facts by encoder and tokens (`imapeval.matching.hybrid`), shape (reference, response).
        """
        found = np.zeros((len(reference), len(response), len(RELATIONS)), dtype=np.float32)
        encoded = self._encode([*reference, *response])
        overlaps = measure_overlaps(reference, response)
        features = np.stack([overlaps, similarities], axis=-1).astype(np.float32)
        for (rows, ours), (columns, theirs) in product(_group(encoded, reference), _group(encoded, response)):
            first, second = np.indices((len(rows), len(columns))).reshape(2, -1)
            for start in range(0, len(first), _CHUNK):
                chunk = slice(start, start + _CHUNK)
                one, other = ours.take(first[chunk]), theirs.take(second[chunk])
                places = rows[first[chunk]], columns[second[chunk]]
                seen = self._compare(one, other, features[places])
                seen += self._compare(other, one, features[places])[:, MIRRORED]
                found[places] = seen / 2
        return found

    def _compare(self, ours: _Encoded, theirs: _Encoded, features: Floats) -> Floats:
        """Return the probabilities for pairs of encoded facts, shape (pairs, 5)."""
        a, p, p_mask = ours
        b, q, q_mask = theirs
        return _run(self._relations, a=a, p=p, p_mask=p_mask, b=b, q=q, q_mask=q_mask, features=features)[0]

    def _encode(self, texts: Sequence[str], *, alone: bool = False) -> dict[str, _Encoded]:
        """Encode texts together, or each alone, which changes the last bits but is faster for one long text."""
        with self._lock:
            found = {text: self._known[text, alone] for text in texts if (text, alone) in self._known}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        # In lower case, so that capitals change no score. JSON can express lone surrogates, which have no pieces.
        lowered = [text[:_MAX_CHARACTERS].lower().encode("utf-8", "replace").decode() for text in missing]
        buckets: dict[int, list[tuple[str, list[int]]]] = defaultdict(list)
        for text, characters in zip(missing, lowered, strict=True):
            # One by one, because a list would be encoded by threads that take longer to start.
            ids = [_START, *self._pieces.encode(characters)[:MAX_TOKENS], _END]
            buckets[len(ids) + -len(ids) % _BUCKET].append((text, ids))
        for length, members in buckets.items():
            size = 1 if alone else _CHUNK
            for start in range(0, len(members), size):
                chunk = members[start : start + size]
                ids = np.array([ids + [_PADDING] * (length - len(ids)) for _, ids in chunk])
                mask = np.arange(length) < np.array([[len(ids)] for _, ids in chunk])
                vectors, tokens = _run(self._encoder, least=1 if alone else 2, ids=ids, mask=mask.astype(np.int64))
                encoded = map(_Encoded, vectors, tokens, mask)
                found.update(zip((text for text, _ in chunk), encoded, strict=True))
        with self._lock:
            self._known.update(((text, alone), found[text]) for text in missing)
            while len(self._known) > _CACHED:
                del self._known[next(iter(self._known))]
        return found


def _group(encoded: Mapping[str, _Encoded], facts: Sequence[str]) -> list[tuple[npt.NDArray[np.intp], _Encoded]]:
    """Return the facts of each bucket together, with their places."""
    buckets: dict[int, list[int]] = defaultdict(list)
    for place, fact in enumerate(facts):
        buckets[len(encoded[fact].mask)].append(place)
    return [
        (np.array(places), _Encoded(*map(np.stack, zip(*(encoded[facts[place]] for place in places), strict=True))))
        for places in buckets.values()
    ]


def open_fact_model() -> FactModel:
    """Return the model, which is loaded once per process."""
    with _opening:
        return _open()


@cache
def _open() -> FactModel:
    return FactModel()


_opening = threading.Lock()
"""Threads that open the model at the same time open it once."""


def measure_overlaps(reference: Sequence[str], response: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the Dice coefficient of character bigrams for every pair of facts, shape (reference, response)."""
    ours, theirs = ([_find_bigrams(fact) for fact in facts] for facts in (reference, response))
    overlaps = [2 * len(one & other) / (len(one) + len(other)) for one in ours for other in theirs]
    return np.array(overlaps).reshape(len(ours), len(theirs))


def _find_bigrams(text: str) -> set[str]:
    letters = "".join(text.lower().split())
    return {letters[place : place + 2] for place in range(len(letters) - 1)} or {letters}


def shorten_question(question: str) -> str:
    """Return the end of a question, which is where most patients put what they ask; the model reads no more of it."""
    words = " ".join(question.split())
    return words[-80 if has_chinese(words) else -260 :]


def _run(network: Any, *, least: int = 2, **inputs: npt.NDArray[Any]) -> list[Floats]:
    """Run a network on at least two rows: a single row is multiplied in a different order from several."""
    rows = len(next(iter(inputs.values())))
    if rows < least:
        inputs = {name: np.concatenate([given, given]) for name, given in inputs.items()}
    return [output[:rows] for output in network.run(None, inputs)]
