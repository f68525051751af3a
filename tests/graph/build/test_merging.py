import pytest

from imapeval.graph.build.grouping import are_compatible, make_key
from imapeval.graph.build.merging import Merged, combine_by_id, merge
from imapeval.graph.model import Concept, ConceptType, Name, Scope
from imapeval.graph.readers.base import Record


def record(
    concept_id: str,
    label: str = "",
    *synonyms: str,
    kind: ConceptType | None = "disease",
    parents: list[str] | None = None,
    xrefs: list[str] | None = None,
) -> Record:
    source = concept_id.partition(":")[0].lower()
    names = [Name(label, "en", "name", source)] if label else []
    names += [Name(text, "en", "synonym", source) for text in synonyms]
    return Record(concept_id, source, label, kind, names, parents or [], xrefs=xrefs or [])


def run(*sources: list[Record]) -> Merged:
    return merge({records[0].source: combine_by_id(records) for records in sources})


def ids(merged: Merged) -> list[str]:
    return [concept.id for concept in merged.concepts]


def find(merged: Merged, concept_id: str) -> Concept:
    return next(concept for concept in merged.concepts if concept.id == concept_id)


def test_records_with_the_same_id_are_combined() -> None:
    chinese = Record("D:1", "d", names=[Name("哮喘", "zh", "name", "d")], xrefs=["M:1"])
    edge = Record("D:1", "d", parents=["D:2"], wholes=["U:1"])
    (found,) = combine_by_id([Record("D:1", "d"), record("D:1", "asthma"), chinese, edge]).values()
    assert (found.label, found.type) == ("asthma", "disease")
    assert [name.text for name in found.names] == ["asthma", "哮喘"]
    assert (found.parents, found.wholes, found.xrefs) == (["D:2"], ["U:1"], ["M:1"])


def test_one_source_is_unchanged() -> None:
    merged = run([record("D:1", "asthma", parents=["D:2"]), record("D:2", "lung disease"), record("D:3", "asthma")])
    assert ids(merged) == ["D:1", "D:2", "D:3"]
    assert find(merged, "D:1").parents == ("D:2",)
    assert not merged.counts


@pytest.mark.parametrize("claims_first", [True, False])
def test_a_cross_reference_needs_a_shared_name(claims_first: bool) -> None:
    # Either side may state the reference.
    d, m = (["M:1"], []) if claims_first else ([], ["D:1"])
    shared = run(
        [record("D:1", "heart attack", "MI", xrefs=d)], [record("M:1", "myocardial infarct", "heart attack", xrefs=m)]
    )
    assert ids(shared) == ["D:1"]
    assert find(shared, "D:1").aliases == ("M:1",)
    assert shared.counts == {("m", "cross-reference"): 1}
    assert shared.samples["m", "cross-reference"] == [("M:1", "myocardial infarct", "D:1", "heart attack")]
    near = run([record("D:1", "heart attack", xrefs=d)], [record("M:1", "coronary disease", xrefs=m)])
    assert ids(near) == ["D:1", "M:1"]


def test_a_shared_abbreviation_or_related_name_is_not_enough() -> None:
    for extra in (Name("MS", "en", "abbreviation", "x"), Name("sclerosis", "en", "synonym", "x", "related")):
        one, other = record("D:1", "multiple sclerosis", xrefs=["M:1"]), record("M:1", "mitral stenosis")
        one.names.append(extra)
        other.names.append(extra)
        assert ids(run([one], [other])) == ["D:1", "M:1"]


def test_equal_labels_of_compatible_types_are_merged() -> None:
    merged = run(
        [record("D:1", "Fevers")], [record("S:1", "fever", kind="symptom"), record("S:2", "FEVER", kind="drug")]
    )
    assert ids(merged) == ["D:1", "S:2"]
    assert find(merged, "D:1").type == "disease"
    assert merged.counts == {("s", "same name"): 1}


def test_a_known_name_joins_only_if_it_is_unique() -> None:
    known = [record("D:1", "neoplasm", "tumor"), record("D:2", "cancer", "malignancy")]
    assert run(known, [record("M:1", "malignancy")]).counts == {("m", "known name"): 1}
    ambiguous = [*known, record("D:3", "swelling", "tumor")]
    assert ids(run(ambiguous, [record("M:1", "tumor")])) == ["D:1", "D:2", "D:3", "M:1"]


@pytest.mark.parametrize("xrefs", [[], ["D:1"]])
def test_names_with_other_qualifiers_are_not_merged(xrefs: list[str]) -> None:
    # DOID:6132 lists "acute bronchitis" and "chronic bronchitis" among the synonyms of bronchitis.
    known = [record("D:1", "bronchitis", "acute bronchitis", "chest cold")]
    assert ids(run(known, [record("M:1", "acute bronchitis", xrefs=xrefs)])) == ["D:1", "M:1"]
    assert ids(run(known, [record("M:1", "chest cold", xrefs=xrefs)])) == ["D:1"]


def test_spellings_of_numerals_are_the_same() -> None:
    merged = run([record("D:1", "diabetes mellitus type II")], [record("M:1", "diabetes mellitus type 2")])
    assert ids(merged) == ["D:1"]
    assert ids(run([record("D:1", "glycogenosis type III")], [record("M:1", "glycogenosis type 2")])) == ["D:1", "M:1"]


def test_a_shared_lay_name_is_not_enough() -> None:
    one, other = record("D:1", "bulimia nervosa"), record("M:1", "hyperphagia", xrefs=["D:1"])
    for each in (one, other):
        each.names.append(Name("binge eating", "en", "lay", each.source))
    assert ids(run([one], [other])) == ["D:1", "M:1"]


def test_cross_references_precede_equal_labels() -> None:
    # M:1 has the name of D:1, but M:2 says that it is D:1.
    mesh = [record("M:1", "heart attack"), record("M:2", "infarct", "heart attack", xrefs=["D:1"])]
    for order in (mesh, mesh[::-1]):
        merged = run([record("D:1", "heart attack")], order)
        assert find(merged, "D:1").aliases == ("M:2",)
        assert ids(merged) == ["D:1", "M:1"]


def test_equal_labels_precede_known_names() -> None:
    # M:2 is hepatitis; M:1 must not take its place because D:1 lists it among the synonyms.
    mesh = [record("M:1", "acute hepatitis"), record("M:2", "hepatitis")]
    for order in (mesh, mesh[::-1]):
        merged = run([record("D:1", "hepatitis", "acute hepatitis")], order)
        assert ids(merged) == ["D:1", "M:1"]
        assert find(merged, "D:1").aliases == ("M:2",)


def test_two_records_of_one_source_never_join_each_other() -> None:
    merged = run([record("D:1", "asthma")], [record("M:1", "asthma"), record("M:2", "asthma", xrefs=["D:1"])])
    assert ids(merged) == ["D:1", "M:1"] or ids(merged) == ["D:1", "M:2"]


def test_the_same_id_always_joins() -> None:
    translation = Record("D:1", "zh", names=[Name("哮喘", "zh", "name", "zh")])
    merged = merge({"d": combine_by_id([record("D:1", "asthma")]), "zh": combine_by_id([translation])})
    assert merged.counts == {("zh", "same id"): 1}
    assert [name.text for _, name in merged.names] == ["asthma", "哮喘"]
    assert find(merged, "D:1").aliases == ()


def test_precedence_is_the_order_of_the_sources() -> None:
    one, other = [record("D:1", "asthma")], [record("M:1", "Asthma", kind="symptom", xrefs=["D:1"])]
    assert (ids(run(one, other)), ids(run(other, one))) == (["D:1"], ["M:1"])
    assert find(run(other, one), "M:1").type == "symptom"


def test_only_the_label_has_the_kind_name() -> None:
    merged = run([record("D:1", "heart attack", xrefs=["M:1"])], [record("M:1", "infarct", "heart attack")])
    assert {(name.text, name.kind) for _, name in merged.names} == {
        ("heart attack", "name"),
        ("infarct", "synonym"),
        ("heart attack", "synonym"),
    }


def test_parents_are_found_through_other_ids_and_names() -> None:
    own = record("X:1", "childhood asthma")
    own.parent_names = ["Asthmas", "nothing of the kind"]
    merged = run(
        [record("D:1", "asthma"), record("D:2", "lung disease")],
        [record("M:1", "asthma", parents=["M:2", "M:9"]), record("M:2", "lung disease")],
        [own],
    )
    assert find(merged, "D:1").parents == ("D:2",)
    assert find(merged, "X:1").parents == ("D:1",)
    assert merged.unknown_parents == [("D:1", "M:9")]
    assert merged.unknown_names == [("X:1", "nothing of the kind")]


def test_parents_by_name_are_found_within_one_source() -> None:
    child = record("X:1", "childhood asthma")
    child.parent_names = ["asthma"]
    assert find(run([child, record("X:2", "asthma")]), "X:1").parents == ("X:2",)


def test_a_cycle_loses_the_edge_of_the_least_trusted_source() -> None:
    one = [record("D:1", "aa"), record("D:2", "bb", parents=["D:1"])]
    other = [record("M:1", "aa", parents=["M:2"]), record("M:2", "bb"), record("M:3", "cc", parents=["M:3"])]
    merged = run(one, other)
    assert merged.cycles == [("D:1", "D:2"), ("M:3",)]
    assert (find(merged, "D:2").parents, find(merged, "D:1").parents) == (("D:1",), ())
    inverse = run(other, one)
    assert (find(inverse, "M:1").parents, find(inverse, "M:2").parents) == (("M:2",), ())


def test_an_edge_within_a_merged_concept_is_dropped() -> None:
    merged = run(
        [record("D:1", "flu", "influenza a", xrefs=["M:1"])],
        [record("M:1", "flu", parents=["M:2"]), record("M:2", "influenza")],
        [record("N:1", "influenza a", parents=["N:2"]), record("N:2", "influenza")],
    )
    assert merged.cycles == []
    assert find(merged, "D:1").parents == ("M:2",)


def test_an_edge_between_types_made_incompatible_by_merging_is_left_out() -> None:
    merged = run(
        [record("D:1", "surgery", kind="department"), record("D:2", "drainage", kind="procedure", parents=["D:1"])],
        [record("M:1", "incision", kind="department", parents=["M:2"]), record("M:2", "surgery", kind="department")],
        [record("X:1", "incision", kind=None, xrefs=["M:1"])],
    )
    assert find(merged, "D:2").parents == ("D:1",)  # a source may mix types itself
    assert find(merged, "M:1").parents == ("D:1",)
    changed = run(
        [record("D:1", "cold", kind="symptom")],
        [record("M:1", "cold", kind="disease", parents=["M:2"]), record("M:2", "weather", kind="factor")],
    )
    assert find(changed, "D:1").parents == ()
    assert changed.incompatible_parents == [("D:1", "M:2")]


def test_types_come_from_the_nearest_typed_ancestor() -> None:
    merged = run(
        [
            record("X:1", "one", kind=None, parents=["X:2"]),
            record("X:2", "two", kind=None, parents=["X:3"]),
            record("X:3", "three", kind="drug", parents=["X:4"]),
            record("X:4", "four", kind="factor"),
            record("X:5", "five", kind=None),
        ]
    )
    assert [concept.type for concept in merged.concepts] == ["drug", "drug", "drug", "factor", "other"]
    assert merged.inherited == 2


def test_types_come_down_a_long_chain() -> None:
    below = [record(f"X:{n}", f"name {n}", kind=None, parents=[f"X:{n - 1}"]) for n in range(1, 10_000)]
    merged = run([record("X:0", "top", kind="drug"), *below])
    assert merged.inherited == len(below)
    assert {concept.type for concept in merged.concepts} == {"drug"}


def test_a_concept_without_names_is_left_out() -> None:
    merged = run([Record("X:1", "x", parents=["X:2"]), record("X:2", "two", parents=["X:1"])])
    assert ids(merged) == ["X:2"]
    assert merged.unnamed == ["X:1"]
    assert merged.unknown_parents == [("X:2", "X:1")]


def test_a_missing_label_is_the_best_name() -> None:
    names = [
        Name("哮喘", "zh", "name", "x"),
        Name("wheeze", "en", "synonym", "x", "related"),
        Name("asthma", "en", "synonym", "x"),
    ]
    assert run([Record("X:1", "x", names=names)]).concepts[0].label == "asthma"
    assert run([Record("X:1", "x", names=names[:2])]).concepts[0].label == "哮喘"


def test_the_label_becomes_a_name() -> None:
    merged = run([Record("X:1", "x", "asthma", names=[Name("哮喘", "zh", "name", "x")])])
    assert {name.text for _, name in merged.names} == {"asthma", "哮喘"}


def test_unique_cross_references_are_aliases() -> None:
    merged = run([record("D:1", "aa", xrefs=["U:1", "U:2"]), record("D:2", "bb", xrefs=["U:2", "D:1"])])
    assert [concept.aliases for concept in merged.concepts] == [("U:1",), ()]


def test_wholes_follow_merged_ids() -> None:
    part = record("M:1", "ventricle", kind="body_part")
    part.wholes = ["M:2", "M:9"]
    merged = run([record("D:2", "heart", kind="body_part")], [part, record("M:2", "heart", kind="body_part")])
    assert find(merged, "M:1").wholes == ("D:2",)
    assert merged.unknown_parents == [("M:1", "M:9")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("Non-Steroidal Anti-Inflammatory Agents", "nonsteroidal anti-inflammatory drug", True), ("agent", "drug", False)],
)
def test_keys_of_drugs(one: str, other: str, same: bool) -> None:
    assert (make_key(one, "drug") == make_key(other, "drug")) is same


def test_compatible_types() -> None:
    assert are_compatible("disease", "symptom")
    assert are_compatible("procedure", "test")
    assert not are_compatible("test", "lifestyle")
    assert not are_compatible("drug", None)


@pytest.mark.parametrize("scope", ["narrow", "broad", "related"])
def test_scopes_survive_merging(scope: Scope) -> None:
    one = record("D:1", "asthma")
    one.names.append(Name("wheeze", "en", "synonym", "d", scope))
    assert [name.scope for _, name in run([one]).names] == ["exact", scope]
