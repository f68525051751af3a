"""The type of a concept, by the prefix of its id, its Biolink category, or its UMLS semantic types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.graph.model import ConceptType

# Ontologies with concepts of one type. ChEBI is not listed: its roles show that few of its substances are drugs. In HPO
# modes of inheritance and other modifiers, some 1%, become symptoms as well.
_BY_PREFIX: dict[str, ConceptType] = {
    "DOID": "disease",
    "MONDO": "disease",
    "ORPHA": "disease",
    "HP": "symptom",
    "SYMP": "symptom",
    "UBERON": "body_part",
    "FMA": "body_part",
    "MAXO": "procedure",
    "ICD10PCS": "procedure",
    "RXCUI": "drug",
    "NCBITaxon": "organism",
}

# Classes of the Biolink model 4 (https://biolink.github.io/biolink-model/) that determine a type. A chemical entity
# need not be a drug; there is no type for genes, proteins and pathways.
_BY_CATEGORY: dict[str, ConceptType] = {
    "Disease": "disease",
    "PhenotypicFeature": "symptom",
    "ClinicalFinding": "symptom",
    "BehavioralFeature": "symptom",
    "Drug": "drug",
    "Vaccine": "drug",
    "Procedure": "procedure",
    "Treatment": "procedure",
    "ClinicalIntervention": "procedure",
    "DiagnosticAid": "test",
    "AnatomicalEntity": "body_part",
    "GrossAnatomicalStructure": "body_part",
    "OrganismTaxon": "organism",
    "Virus": "organism",
    "Bacterium": "organism",
    "Fungus": "organism",
    "ExposureEvent": "factor",
    "EnvironmentalExposure": "factor",
}


def type_of_id(curie: str) -> ConceptType | None:
    """Return the type of all concepts with the prefix of this CURIE, or None if they have several types."""
    return _BY_PREFIX.get(curie.partition(":")[0])


def type_of_category(categories: str) -> ConceptType | None:
    """Return the type of a Biolink category, or of the first of several (separated by "|") that has one.

    >>> type_of_category("biolink:NamedThing|biolink:Disease")
    'disease'
    """
    for category in categories.split("|"):
        if found := _BY_CATEGORY.get(category.removeprefix("biolink:")):
            return found
    return None


_GROUPS: dict[ConceptType, str] = {
    # Pharmacologic substance, vitamin, antibiotic, clinical drug, drug delivery device. Chemicals as such (T109, T116
    # and others) are not drugs: what is given as a drug also has T121.
    "drug": "T121 T127 T195 T200 T203",
    # Disorders, except findings and symptoms.
    "disease": "T019 T020 T037 T046 T047 T048 T049 T050 T190 T191",
    # Finding, sign or symptom.
    "symptom": "T033 T184",
    # Health care activity, therapeutic or preventive procedure.
    "procedure": "T058 T061",
    # Laboratory or test result, laboratory procedure, diagnostic procedure, clinical attribute.
    "test": "T034 T059 T060 T201",
    # Anatomy, including cells and body substances.
    "body_part": "T017 T018 T021 T022 T023 T024 T025 T026 T029 T030 T031",
    # Biomedical occupation or discipline, health care related organization.
    "department": "T091 T093",
    # Organisms, except people and groups of people.
    "organism": "T001 T002 T004 T005 T007 T008 T010 T011 T012 T013 T014 T015 T194 T204",
    # Behaviour: in general, social, individual; recreational activity; food.
    "lifestyle": "T053 T054 T055 T056 T168",
    # Organism attribute (age, sex, weight), age group, hazardous substance.
    "factor": "T032 T100 T131",
}
"""Types of concepts with their semantic types (TUI) of the UMLS Semantic Network; the 69 of its 127 that are not listed
are "other". If a concept has several, the first type in this order is used."""

_BY_TUI: dict[str, ConceptType] = {tui: kind for kind, group in _GROUPS.items() for tui in group.split()}


def type_of_semantic_types(tuis: Iterable[str]) -> ConceptType:
    """Return the type of a concept with these semantic types; "other" if none of them has a type.

    >>> type_of_semantic_types(["T109", "T121"])
    'drug'
    """
    found = {_BY_TUI.get(tui) for tui in tuis}
    for kind in _GROUPS:
        if kind in found:
            return kind
    return "other"
