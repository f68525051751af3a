"""Canonical ids of concepts: CURIEs as OBO ontologies write them."""

from __future__ import annotations

import re
from functools import lru_cache

# {a source's prefix, in capitals: ours}. Prefixes that are not listed are kept unchanged.
_PREFIXES = {
    **{prefix: prefix for prefix in ("DOID", "MONDO", "HP", "MESH", "CHEBI", "UMLS", "RXCUI", "SNOMEDCT", "NCIT")},
    **{prefix: prefix for prefix in ("SYMP", "UBERON", "FMA", "MAXO", "EFO", "GO", "OMIM", "ORPHA", "UNII", "LOINC")},
    **{prefix: prefix for prefix in ("ICD9", "ICD9CM", "ICD10", "ICD10CM", "ICD10PCS", "ICD11", "ICDO", "MEDDRA")},
    "MSH": "MESH",
    "UMLS_CUI": "UMLS",
    "RXNORM": "RXCUI",
    "SCTID": "SNOMEDCT",
    "SCT": "SNOMEDCT",
    "SNOMED": "SNOMEDCT",
    "SNOMED_CT": "SNOMEDCT",
    "SNOMEDCT_US": "SNOMEDCT",
    "NCI": "NCIT",
    "ORDO": "ORPHA",
    "ORPHANET": "ORPHA",
    "MIM": "OMIM",
    "NCBITAXON": "NCBITaxon",
    "LNC": "LOINC",
    "ICD-9": "ICD9",
    "ICD-9-CM": "ICD9CM",
    "ICD-10": "ICD10",
    "ICD-10-CM": "ICD10CM",
    "ICD-O": "ICDO",
}

_CANONICAL_PREFIXES = frozenset(_PREFIXES.values())

# Prefixes of literature and web pages, not of concepts.
_LITERATURE = frozenset(("HTTP", "HTTPS", "FTP", "URL", "MAILTO", "PMID", "PMC", "DOI", "ISBN", "WIKIPEDIA", "ORCID"))

# "SNOMEDCT_US_2016_03_01", "NCI2009_04D": prefixes with a release, in old versions of DOID.
_RELEASE = re.compile(r"_?(?:19|20)\d\d(?:_\w+)?$")

_OBO_IRI = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z][\w.]*)_([A-Za-z0-9]+)")
# IRIs of other vocabularies in Mondo, HPO and ORDO.
_IRI_BASES = {
    "http://www.orpha.net/ORDO/Orphanet_": "ORPHA",
    "http://identifiers.org/mesh/": "MESH",
    "http://id.nlm.nih.gov/mesh/": "MESH",
    "http://linkedlifedata.com/resource/umls/id/": "UMLS",
    "http://identifiers.org/snomedct/": "SNOMEDCT",
    "http://snomed.info/id/": "SNOMEDCT",
    "http://identifiers.org/meddra/": "MEDDRA",
    "http://identifiers.org/omim/": "OMIM",
    "https://omim.org/entry/": "OMIM",
    "http://purl.bioontology.org/ontology/ICD10CM/": "ICD10CM",
    "http://www.ebi.ac.uk/efo/EFO_": "EFO",
}


def canonical_curie(text: str) -> str | None:
    """Return an id as a CURIE with the prefix used in graphs, or None if the text is not the id of a concept.

    >>> canonical_curie("http://purl.obolibrary.org/obo/DOID_255"), canonical_curie("SNOMEDCT_US_2016_03_01:33176006")
    ('DOID:255', 'SNOMEDCT:33176006')
    >>> canonical_curie("PMID:17554300") is None
    True
    """
    text = text.strip()
    prefix, _, local = text.partition(":")
    if local.isalnum() and prefix in _CANONICAL_PREFIXES:
        return text  # the most frequent case
    if local.startswith("//"):
        prefix, local = _split_iri(text)
    prefix = _find_prefix(prefix)
    local = local.strip()
    # Text with spaces is a sentence with a colon. Lone surrogates, which JSON can contain, cannot be stored.
    return f"{prefix}:{local}" if prefix and local and " " not in local and local.isprintable() else None


def _split_iri(iri: str) -> tuple[str, str]:
    if found := _OBO_IRI.fullmatch(iri):
        return found[1], found[2]
    for base, prefix in _IRI_BASES.items():
        if iri.startswith(base):
            local = iri.removeprefix(base)
            return ("", "") if "/" in local else (prefix, local)
    return "", ""


@lru_cache(maxsize=1 << 12)
def _find_prefix(prefix: str) -> str:
    if not re.fullmatch(r"[A-Za-z][\w.-]*", prefix):
        return ""
    capitals = prefix.upper()
    if capitals in _LITERATURE:
        return ""
    return _PREFIXES.get(_RELEASE.sub("", capitals), prefix)
