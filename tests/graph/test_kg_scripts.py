"""The scripts in kg/ that clean and merge the sources of the shipped graph."""

import importlib
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record


@pytest.fixture
def load_script(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "kg")

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def test_synonyms_with_opposite_qualifiers_are_dropped(load_script) -> None:
    # DOID:6132 lists all of these as exact synonyms.
    texts = ["bronchitis", "acute bronchitis", "Chronic bronchitis", "chest cold", "primary bronchitis"]
    names = [Name(text, "en", "name" if text == "bronchitis" else "synonym", "doid") for text in texts]
    kept = [name.text for name in load_script("cleaning").drop_opposites(names)]
    assert kept == ["bronchitis", "chest cold", "primary bronchitis"]


def test_a_wrong_synonym_joins_nothing(load_script) -> None:
    merge = load_script("merge").merge

    def count(wrong: set[tuple[str, str]]) -> int:
        names = [Name("gout", "en", "name", "doid"), Name("podagra", "en", "synonym", "doid")]
        doid = Record("DOID:1", "doid", "gout", "disease", names)
        hl7 = Record("HL7:1", "hl7", "podagra", "disease", [Name("podagra", "en", "name", "hl7")])
        return len(merge([doid, hl7], wrong=wrong, wrong_edges=()).concepts)

    assert count(set()) == 1
    assert count({("podagra", "gout")}) == 2


@pytest.mark.parametrize("member", ["nope", "folder/"])
def test_a_member_that_a_package_lacks(load_script, tmp_path: Path, member: str) -> None:
    read_member = load_script("fetch").read_member
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_bytes(b"text")
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "folder", "folder")
    with zipfile.ZipFile(tmp_path / "p.whl", "w") as archive:
        archive.write(tmp_path / "folder" / "a", "folder/a")
    for package in (tmp_path / "p.tar.gz", tmp_path / "p.whl"):
        assert read_member(package, "folder/a") == b"text"
        with pytest.raises(SystemExit, match=f"{package.name} has no file {member!r}"):
            read_member(package, member)
