"""MeSH in NLM's XML: descriptors (desc2026.xml), supplementary records (supp...) and pharmacological actions (pa...).

The elements are those of NLM's document types nlmdescriptorrecordset, nlmsupplementalrecordset and
nlmpharmacologicalactionset. A file is read record by record; only the tree numbers are kept until all
descriptors are known.

How MeSH's hierarchies are read:

- The descriptor one step up the tree is the broader one; if the file lacks it, the next one up.
- In anatomy (A) and geography (Z) a descriptor is a part of its parent, except for tissues and cells.
- In the chemical trees (D except D27) a drug is below what it is made from: hydrochlorothiazide below chlorothiazide,
  which is not a clinical relation. MeSH names classes in the plural and substances in the singular: only classes are
  taken as parents there.
- The pharmacological actions of a drug are its classes: the trees do not say that ibuprofen is an NSAID.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from xml.etree import ElementTree
from xml.parsers import expat

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import MAX_NAME, XML_CHUNK, Format, Record, reject_large_entities, restore_word_order
from imapeval.graph.readers.parsing.concept_types import type_of_semantic_types
from imapeval.text.normalise import fold_plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from imapeval.graph.model import ConceptType, NameKind, Scope
    from imapeval.graph.readers.base import Source

_PREFIX = "MESH:"
_RECORDS = {
    "DescriptorRecordSet": "DescriptorRecord",
    "SupplementalRecordSet": "SupplementalRecord",
    "PharmacologicalActionSet": "PharmacologicalAction",
}
"""{root of a file: the elements that are its records}."""
_FILES = re.compile(r"(?:desc|supp|pa)\d{4}\w*\.(?:xml|xml\.gz|gz)")

# (tree prefix, type); the first prefix that any of a descriptor's tree numbers has is used. C23.888 are signs and
# symptoms, the rest of C23 pathological processes, which are diseases if they are elsewhere in C as well.
# D20.215.894 are vaccines, D27.505 pharmacologic actions, G07.203 and J02 diet and food, F01.829.458 life style.
_TREES: tuple[tuple[str, ConceptType], ...] = (
    ("C23.888", "symptom"),
    ("F01.145.126", "symptom"),
    *((f"C{n:02}", "disease") for n in (*range(1, 23), 24, 25, 26)),
    ("F03", "disease"),
    ("C23", "symptom"),
    ("E04", "procedure"),
    ("E01.370", "test"),
    ("E05.200", "test"),
    *((tree, "procedure") for tree in ("E02", "E03", "E06", "E07")),
    ("D20.215.894", "drug"),
    ("D27.505", "drug"),
    ("A", "body_part"),
    ("B", "organism"),
    ("H02", "department"),
    *((tree, "lifestyle") for tree in ("F01.145.317.269", "F01.145.805", "F01.829.458", "G07.203", "I03.350", "J02")),
)
_SUPPLEMENTS: dict[str, ConceptType] = {"2": "procedure", "3": "disease", "4": "organism"}
"""Types by SCRClass: protocols, rare diseases, organisms; 1 are chemicals."""
_MAX_TREE_NUMBER = 200
"""Characters; those of 2026 have at most 55. All steps up from each are looked up."""
_PARTS = re.compile(r"A(?!10|11(?!\.284))|Z")
"""Tree numbers of parts of their parents: not tissues (A10) and cells (A11), but the contents of cells."""

_KINDS: dict[str, NameKind] = {"ABB": "abbreviation", "ACR": "abbreviation", "TRD": "brand"}
"""By LexicalTag: abbreviation, acronym, trade name. Names with "ABX" and "ACX" only contain an abbreviation."""
_SCOPES: dict[str, Scope] = {"NRW": "narrow", "BRD": "broad", "REL": "related"}
"""By RelationName: what the second concept is to the first, the preferred one."""


class _Tree:
    """Tree numbers of the descriptors read so far."""

    def __init__(self) -> None:
        self._at: dict[str, str] = {}
        self._classes: set[str] = set()

    def add(self, record: Record, heading: str, numbers: list[str]) -> None:
        self._at.update(dict.fromkeys(numbers, record.id))
        # The head of an inverted heading comes first: "Estrogens, Conjugated".
        last = heading.partition(",")[0].rpartition(" ")[2].lower()
        if fold_plural(last) != last:
            self._classes.add(record.id)

    def make_edges(self, source: Source) -> Iterator[Record]:
        for number, one in self._at.items():
            chemical = number.startswith("D") and not number.startswith("D27")
            above = number.rpartition(".")[0]
            while above and (above not in self._at or (chemical and self._at[above] not in self._classes)):
                above = above.rpartition(".")[0]
            if above and self._at[above] != one:
                highs = [self._at[above]]
                if _PARTS.match(number):
                    yield Record(one, source.name, wholes=highs)
                else:
                    yield Record(one, source.name, parents=highs)


def _recognise(path: Path, head: bytes) -> bool:
    if path.is_dir():
        return any(_FILES.fullmatch(file.name) for file in path.iterdir())
    return any(f"<{root}".encode() in head for root in _RECORDS)


def _read_records(source: Source) -> Iterator[Record]:
    paths = [source.path]
    if source.path.is_dir():
        paths = sorted(file for file in source.path.iterdir() if _FILES.fullmatch(file.name))
    if not paths:
        raise InputError(
            "it has no MeSH file",
            path=source.path,
            fix="Give a file such as desc2026.xml, or the folder that holds it.",
        )
    tree = _Tree()
    for path in paths:
        for number, element in enumerate(_parse_records(source, path), 1):
            if element.tag == "PharmacologicalAction":
                yield from _read_action(source, element)
            else:
                yield from _read_record(source, element, tree, place=f"{path.name} record {number}")
    yield from tree.make_edges(source)


def _parse_records(source: Source, path: Path) -> Iterator[Element]:
    """Yield the records of a file; each is freed after use.

    Raises:
        InputError: It is not MeSH in XML, is truncated, declares nested entities or is not in English.
    """
    root, depth, done = None, 0, 0
    reject_large_entities(source, path)
    try:
        with source.open(path) as file:
            for event, element in _iterate_xml(file):
                if root is None:
                    root = element
                    _check_root(root, path)
                depth += 1 if event == "start" else -1
                if event == "end" and depth == 1 and element.tag == _RECORDS[root.tag]:
                    yield element
                    done += 1
                    root.clear()
    except ElementTree.ParseError as error:
        line = error.position[0]
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_SYNTAX]:
            raise InputError("it is not XML", path=path, line=line, fix="Give a file such as desc2026.xml.") from error
        ended = (
            expat.errors.XML_ERROR_NO_ELEMENTS,
            expat.errors.XML_ERROR_UNCLOSED_TOKEN,
            expat.errors.XML_ERROR_PARTIAL_CHAR,
        )
        cut = error.code in {expat.errors.codes[text] for text in ended}
        raise InputError(
            f"the file is truncated here, after {done:,} whole records" if cut else f"the XML is damaged ({error})",
            path=path,
            line=line,
            fix="Download or copy it again.",
        ) from error


def _iterate_xml(file: BinaryIO) -> Iterator[tuple[str, Element]]:
    # As `iterparse`, which reads 16 KiB at a time.
    parser = cast("Any", ElementTree.XMLPullParser(("start", "end")))
    while chunk := file.read(XML_CHUNK):
        parser.feed(chunk)
        yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


def _check_root(root: Element, path: Path) -> None:
    if root.tag not in _RECORDS:
        raise InputError(
            f"its root is <{root.tag}>", path=path, fix=f"Give a file with one of {', '.join(_RECORDS)} in it."
        )
    language = root.get("LanguageCode", "eng")
    if language != "eng":
        raise InputError(
            f"it is in the language {language!r}",
            path=path,
            fix="Give NLM's English file; translations come as a babelon or CSV file beside it.",
        )


def _read_action(source: Source, element: Element) -> Iterator[Record]:
    action = _find_text(element, "DescriptorReferredTo/DescriptorUI")
    for substance in _find_texts(element, "PharmacologicalActionSubstanceList/Substance/RecordUI") if action else ():
        yield Record(_PREFIX + substance, source.name, type="drug", parents=[_PREFIX + action])


def _read_record(source: Source, element: Element, tree: _Tree, *, place: str) -> Iterator[Record]:
    stem = "Descriptor" if element.tag == "DescriptorRecord" else "SupplementalRecord"
    ui, heading = _find_text(element, f"{stem}UI"), _find_text(element, f"{stem}Name/String")
    if not ui or not heading:
        source.problems.add("a record without id or name", place)
        return
    record = Record(_PREFIX + ui, source.name)
    actions = _find_texts(element, "PharmacologicalActionList/PharmacologicalAction/DescriptorReferredTo/DescriptorUI")
    numbers = _find_texts(element, "TreeNumberList/TreeNumber")
    if any(len(number) > _MAX_TREE_NUMBER for number in numbers):
        source.problems.add(f"a tree number of more than {_MAX_TREE_NUMBER} characters", place)
        numbers = [number for number in numbers if len(number) <= _MAX_TREE_NUMBER]
    tuis = _find_texts(element, ".//SemanticTypeUI")
    record.type = (
        next((kind for prefix, kind in _TREES if any(number.startswith(prefix) for number in numbers)), None)
        or _SUPPLEMENTS.get(element.get("SCRClass", ""))
        or ("drug" if actions else None)
        # Files until about 2017 have semantic types; in later ones a chemical without an action has the type of its
        # class.
        or (type_of_semantic_types(tuis) if tuis else None)
    )
    record.parents = [_PREFIX + action for action in dict.fromkeys([*actions, *_find_headings(element)])]
    record.names = list(_read_names(source, element, heading, place))
    record.label = next((name.text for name in record.names if name.kind == "name"), "")
    tree.add(record, heading, numbers)
    yield record


def _find_headings(element: Element) -> Iterator[str]:
    """Yield the descriptors that a supplementary record is a kind of.

    Those are marked with an asterisk; a heading with a qualifier ("Fluoxetine/analogs & derivatives") is a topic.
    """
    for mapped in element.iterfind("HeadingMappedToList/HeadingMappedTo"):
        marked = _find_text(mapped, "DescriptorReferredTo/DescriptorUI")
        ui = marked.removeprefix("*")
        if ui and ui != marked and mapped.find("QualifierReferredTo") is None:
            yield ui


def _read_names(source: Source, element: Element, heading: str, place: str) -> Iterator[Name]:
    # Permuted terms are other terms in inverted order, so in natural order they are duplicates.
    seen: set[str] = set()
    for inverted, kind, scope in _list_terms(element, heading):
        text = restore_word_order(inverted)
        if not text or text in seen:
            continue
        seen.add(text)
        if len(text) > MAX_NAME:
            source.problems.add(f"a name of more than {MAX_NAME:,} characters", place)
        else:
            yield Name(text, "en", kind, source.name, scope)


def _list_terms(element: Element, heading: str) -> Iterator[tuple[str, NameKind, Scope]]:
    yield heading, "name", "exact"
    concepts = element.findall("ConceptList/Concept")
    preferred = {_find_text(one, "ConceptUI") for one in concepts if one.get("PreferredConceptYN") == "Y"}
    scopes: dict[str, Scope] = dict.fromkeys(preferred, "exact")
    for relation in element.iterfind("ConceptList/Concept/ConceptRelationList/ConceptRelation"):
        if _find_text(relation, "Concept1UI") in preferred:
            scopes.setdefault(
                _find_text(relation, "Concept2UI"), _SCOPES.get(relation.get("RelationName", ""), "related")
            )
    for concept in concepts:
        scope = scopes.get(_find_text(concept, "ConceptUI"), "related")
        for term in concept.iterfind("TermList/Term"):
            yield _find_text(term, "String"), _KINDS.get(term.get("LexicalTag", ""), "synonym"), scope


def _find_text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _find_texts(element: Element, path: str) -> list[str]:
    """Return the texts at a path, blank ones left out."""
    return [text for found in element.iterfind(path) if (text := (found.text or "").strip())]


FORMAT = Format(
    "mesh", "MeSH (XML): descriptors, supplementary records, pharmacological actions", _recognise, _read_records
)
