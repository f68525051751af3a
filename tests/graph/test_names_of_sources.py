"""What kg/ does to the names of a source before they are merged."""

import runpy
from pathlib import Path

ENTRY = runpy.run_path(str(Path(__file__).parents[2] / "kg" / "entry.py"))


def test_names_that_contradict_each_other_are_dropped() -> None:
    # DOID:6132 lists all of these as exact synonyms.
    texts = ["bronchitis", "acute bronchitis", "Chronic bronchitis", "chest cold", "primary bronchitis"]
    names = [(text, "en", "name" if text == "bronchitis" else "synonym") for text in texts]
    kept = [text for text, *_ in ENTRY["drop_opposites"](names)]
    assert kept == ["bronchitis", "chest cold", "primary bronchitis"]


def test_index_entries_are_turned_round() -> None:
    assert ENTRY["turn_round"]("Leukemia, Myeloid, Acute") == "Acute Myeloid Leukemia"
    assert ENTRY["turn_round"]("Ear, Nose and Throat") == "Ear, Nose and Throat"
