"""What kind of thing a concept is, where its id or its category says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType

# Ontologies whose concepts are of one type. ChEBI stands nowhere here: few of its substances are drugs, and which are
# their roles say. Of HPO the modes of inheritance and other modifiers, some 1%, are symptoms by this rule as well.
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

# Biolink model 4 (https://biolink.github.io/biolink-model/), the classes that say what a name means in an answer.
# A chemical entity need not be a drug; a gene, a protein or a pathway is none of our types.
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
    """Return the type that all concepts with the prefix of this CURIE have, or None where they have several."""
    return _BY_PREFIX.get(curie.partition(":")[0])


def type_of_category(categories: str) -> ConceptType | None:
    """Return the type for a Biolink category, or for the first one of several (separated by "|") that has one.

    >>> type_of_category("biolink:NamedThing|biolink:Disease")
    'disease'
    """
    for category in categories.split("|"):
        if found := _BY_CATEGORY.get(category.removeprefix("biolink:")):
            return found
    return None
