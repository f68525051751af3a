import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from imapeval.graph.readers.parsing.concept_types import type_of_category, type_of_id
from imapeval.graph.readers.parsing.curies import canonical_curie


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DOID:255", "DOID:255"),
        ("http://purl.obolibrary.org/obo/DOID_255", "DOID:255"),
        ("https://purl.obolibrary.org/obo/NCBITaxon_9606", "NCBITaxon:9606"),
        ("http://purl.obolibrary.org/obo/APOLLO_SV_00000001", "APOLLO_SV:00000001"),
        ("http://purl.obolibrary.org/obo/doid#has_symptom", None),
        ("http://www.orpha.net/ORDO/Orphanet_558", "ORPHA:558"),
        ("http://linkedlifedata.com/resource/umls/id/C0015967", "UMLS:C0015967"),
        ("MeSH:D005334", "MESH:D005334"),
        ("mesh:D005334", "MESH:D005334"),
        ("UMLS_CUI:C0015967", "UMLS:C0015967"),
        ("RXNORM:5640", "RXCUI:5640"),
        ("SCTID:386661006", "SNOMEDCT:386661006"),
        ("SNOMEDCT_US:386661006", "SNOMEDCT:386661006"),
        ("SNOMEDCT_US_2016_03_01:386661006", "SNOMEDCT:386661006"),
        ("NCI2009_04D:C3038", "NCIT:C3038"),
        ("ICD-10:R50", "ICD10:R50"),
        ("imap:ibuprofen", "imap:ibuprofen"),
        ("url:http://en.wikipedia.org/wiki/Fever", None),
        ("https://en.wikipedia.org/wiki/Fever", None),
        ("PMID:17554300", None),
        ("note: this is text", None),
        ("HP:0001 ", "HP:0001"),
        ("HP: 0001", "HP:0001"),
        ("UMLS_CUI: C1", "UMLS:C1"),
        ("MESH:", None),
        (":D005334", None),
        ("http://identifiers.org/mesh/", None),
        ("http://identifiers.org/mesh/two words", None),
        ("X:\ud800", None),
        ("fever", None),
        ("", None),
    ],
)
def test_curie(text: str, expected: str | None) -> None:
    assert canonical_curie(text) == expected


STARTS = ("MSH:", "NCI2009_04D:", "obo:", "PMID:", "http://purl.obolibrary.org/obo/", "http://snomed.info/id/")


@given(st.sampled_from(STARTS), st.text(st.sampled_from("aZ09_:/#. \u3000\u200b\ud800"), max_size=8))
@example("http://snomed.info/id/", "//a")
def test_canonical_curies_are_unchanged(start: str, text: str) -> None:
    found = canonical_curie(start + text)
    assert found is None or canonical_curie(found) == found


def test_types() -> None:
    assert type_of_id("MONDO:0005148") == "disease"
    # A substance need not be a drug.
    assert type_of_id("CHEBI:15377") is None
    assert type_of_category("biolink:ChemicalEntity") is None
    assert type_of_category("biolink:OntologyClass|biolink:Drug") == "drug"
