"""What kg/ does to the names of a source before they are merged."""

import runpy
from pathlib import Path

from imapeval.graph.model import Name
from imapeval.graph.readers.parsing.names import restore_word_order

CLEANING = runpy.run_path(str(Path(__file__).parents[2] / "kg" / "cleaning.py"))


def test_names_that_contradict_each_other_are_dropped() -> None:
    # DOID:6132 lists all of these as exact synonyms.
    texts = ["bronchitis", "acute bronchitis", "Chronic bronchitis", "chest cold", "primary bronchitis"]
    names = [Name(text, "en", "name" if text == "bronchitis" else "synonym", "doid") for text in texts]
    kept = [name.text for name in CLEANING["drop_opposites"](names)]
    assert kept == ["bronchitis", "chest cold", "primary bronchitis"]


def test_index_entries_are_turned_round() -> None:
    assert restore_word_order("Leukemia, Myeloid, Acute") == "Acute Myeloid Leukemia"
    assert restore_word_order("Ear, Nose and Throat") == "Ear, Nose and Throat"
