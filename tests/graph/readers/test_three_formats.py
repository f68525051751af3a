"""The Symptom Ontology of 2026-07-30 lies in three formats: the same content comes out of all of them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record
from imapeval.graph.readers.formats import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED = Path(__file__).parents[4] / "shared" / "terminology"

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/terminology")


def read(file: str) -> dict[str, Record]:
    known, source = open_source(str(SHARED / file))
    assert source.name == "symp"
    records = list(known.read(source))
    assert not source.problems.counts
    assert source.skipped["obsolete terms"] == 125  # grep -c "is_obsolete: true" symp.obo
    found = {record.id: record for record in records}
    assert len(found) == len(records) == 1020 - 125  # grep -c "\[Term\]" symp.obo
    return found


def test_counts_are_those_of_the_file() -> None:
    records = read("symp.obo").values()
    # 898 is_a lines; 552 xrefs and 11 alt_ids, less those of obsolete terms and one repeated.
    assert sum(len(record.parents) for record in records) == 898
    assert {record.type for record in records} == {"symptom"}


@pytest.mark.parametrize("file", ["symp.obographs.json", "symp.owl"])
def test_same_content(file: str) -> None:
    if file.endswith(".owl"):
        pytest.importorskip("pyoxigraph", reason="needs the extra 'owl'")
    ours, theirs = read("symp.obo"), read(file)
    assert ours.keys() == theirs.keys()
    parts: dict[str, Callable[[Record], object]] = {
        "label": lambda record: record.label,
        "names": lambda record: sorted(record.names, key=Name.__str__),
        "parents": lambda record: sorted(record.parents),
        "wholes": lambda record: sorted(record.wholes),
        "xrefs": lambda record: sorted(record.xrefs),
        "type": lambda record: record.type,
    }
    for part, take in parts.items():
        assert {key: take(ours[key]) for key in ours} == {key: take(theirs[key]) for key in ours}, part
