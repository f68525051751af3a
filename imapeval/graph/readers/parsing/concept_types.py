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
    # and others) are none: what is given as a drug has T121 besides.
    "drug": "T121 T127 T195 T200 T203",
    # Disorders but for findings and symptoms.
    "disease": "T019 T020 T037 T046 T047 T048 T049 T050 T190 T191",
    # Finding, sign or symptom.
    "symptom": "T033 T184",
    # Health care activity, therapeutic or preventive procedure.
    "procedure": "T058 T061",
    # Laboratory or test result, laboratory procedure, diagnostic procedure, clinical attribute.
    "test": "T034 T059 T060 T201",
    # Anatomy, cells and body substances among it.
    "body_part": "T017 T018 T021 T022 T023 T024 T025 T026 T029 T030 T031",
    # Biomedical occupation or discipline, health care related organization.
    "department": "T091 T093",
    # Living beings but for people and groups of them.
    "organism": "T001 T002 T004 T005 T007 T008 T010 T011 T012 T013 T014 T015 T194 T204",
    # Behaviour: in general, social, individual; recreational activity; food.
    "lifestyle": "T053 T054 T055 T056 T168",
    # Organism attribute (age, sex, weight), age group, hazardous substance.
    "factor": "T032 T100 T131",
    # Activities and events, chemicals, concepts and ideas, devices, genes, places, groups of people, objects,
    # occupations, organizations, phenomena, physiology, research and teaching.
    "other": (
        "T016 T028 T038 T039 T040 T041 T042 T043 T044 T045 T051 T052 T057 T062 T063 T064 T065 T066 T067 T068 T069 T070 "
        "T071 T072 T073 T074 T075 T077 T078 T079 T080 T081 T082 T083 T085 T086 T087 T088 T089 T090 T092 T094 T095 T096 "
        "T097 T098 T099 T101 T102 T103 T104 T109 T114 T116 T120 T122 T123 T125 T126 T129 T130 T167 T169 T170 T171 T185 "
        "T192 T196 T197"
    ),
}
"""Types of concepts with their semantic types (TUI) of the UMLS Semantic Network, 127 in all. If a concept has several,
the first type in this order is used."""

SEMANTIC_TYPES: dict[str, ConceptType] = {tui: kind for kind, group in _GROUPS.items() for tui in group.split()}
"""{TUI: type}."""

_ORDER: dict[ConceptType, int] = {kind: place for place, kind in enumerate(_GROUPS)}


def type_of_semantic_types(tuis: Iterable[str]) -> ConceptType:
    """Return the type of a concept with these semantic types; unknown ones count as "other".

    >>> type_of_semantic_types(["T109", "T121"])
    'drug'
    """
    found: list[ConceptType] = [SEMANTIC_TYPES.get(tui, "other") for tui in tuis]
    return min(found, key=_ORDER.__getitem__) if found else "other"
