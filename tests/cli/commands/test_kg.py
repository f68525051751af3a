"""`imapeval kg`: building a graph of one's own, and looking into one."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command

OBO = """format-version: 1.2
ontology: toy

[Term]
id: X:1
name: pain

[Term]
id: X:2
name: headache
synonym: "cephalalgia" EXACT []
synonym: "head ache after wine" NARROW []
is_a: X:1

[Term]
id: X:3
name: migraine
xref: Y:7
is_a: X:2

[Term]
id: X:4
name: left knee
relationship: part_of X:5

[Term]
id: X:5
name: leg
"""
CHINESE = "id,name,lang\nX:2,头痛,zh\nX:9,no such language,xx\n"


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "toy.obo").write_text(OBO, encoding="utf-8")
    (tmp_path / "toy.csv").write_text(CHINESE, encoding="utf-8")
    return tmp_path / "toy.obo", tmp_path / "toy.csv"


@pytest.fixture
def graph(imapeval: Command, sources: tuple[Path, Path], tmp_path: Path) -> Path:
    done = imapeval("kg", "build", "--source", sources[0], "--source", sources[1], "--out", tmp_path / "my.kg")
    assert done.returncode == 0, done.stderr
    return tmp_path / "my.kg"


def test_build_tells_what_became_of_every_source(imapeval: Command, sources: tuple[Path, Path], tmp_path: Path):
    command = ("kg", "build", "--source", sources[0], "--source", f"table:{sources[1]}", "--out", tmp_path / "my.kg")
    told = imapeval(*command).stdout
    assert "5 concepts" in told
    assert "2 is-a edges, 1 part-of edges" in told
    assert "toy.csv line 3" in told  # the language that nobody knows
    found = json.loads(imapeval(*command, "--json").stdout)
    assert (found["concepts"], found["edges"], found["parts"]) == (5, 2, 1)
    assert [source["format"] for source in found["sources"]] == ["obo", "table"]


def test_build_says_what_a_file_is_not(imapeval: Command, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    done = imapeval("kg", "build", "--source", "notes.txt", "--out", "my.kg")
    assert done.returncode == 2
    assert "notes.txt" in done.stderr
    assert "obo" in done.stderr
    assert not (tmp_path / "my.kg").exists()


def test_build_takes_a_path_that_looks_like_markup(imapeval: Command, sources: tuple[Path, Path], tmp_path: Path):
    folder = tmp_path / "["
    folder.mkdir()
    shutil.copy(sources[0], folder / "b].obo")
    done = imapeval("kg", "build", "--source", "[/b].obo", "--out", "my.kg")
    assert done.returncode == 0, done.stderr


def test_info_by_id_alias_and_name(imapeval: Command, graph: Path):
    (found,) = json.loads(imapeval("kg", "info", "X:2", "--kg", graph, "--json").stdout)
    assert [parent["label"] for parent in found["kind_of"]] == ["pain"]
    assert [kind["label"] for kind in found["kinds"]] == ["migraine"]
    assert {(name["text"], name["lang"], name["scope"]) for name in found["names"]} == {
        ("headache", "en", "exact"),
        ("cephalalgia", "en", "exact"),
        ("head ache after wine", "en", "narrow"),
        ("头痛", "zh", "exact"),
    }
    assert imapeval("kg", "info", "Y:7", "--kg", graph).stdout.startswith("migraine (X:3)")
    assert "a part of: leg (X:5)" in imapeval("kg", "info", "left knee", "--kg", graph).stdout
    unknown = imapeval("kg", "info", "it's X\\99", "--kg", graph)
    assert unknown.returncode == 2
    assert shlex.split(unknown.stderr.rpartition("imapeval kg search")[2]) == ["it's X\\99"]


def test_stats(imapeval: Command, graph: Path):
    found = json.loads(imapeval("kg", "stats", "--kg", graph, "--json").stdout)
    assert (found["concepts"], found["edges"], found["parts"]) == (5, 2, 1)
    assert "concepts: 5" in imapeval("kg", "stats", "--kg", graph / "graph.sqlite").stdout


def test_index_is_made_once_and_serves_search_and_relate(imapeval: Command, graph: Path):
    made = json.loads(imapeval("kg", "index", graph, "--json").stdout)
    assert made["names"] == 8
    found = json.loads(imapeval("kg", "search", "headake", "--kg", graph, "--json").stdout)
    assert found[0]["concept"] == "X:2"
    shown = imapeval("kg", "relate", "migraine", "cephalalgia", "--kg", graph, "--explain").stdout
    assert shown.startswith("migraine -> cephalalgia: belonging\n")
    assert "migraine is a kind of headache" in shown
    # A narrow synonym is no name of the concept, but of a kind of it.
    told = json.loads(imapeval("kg", "relate", "headache", "head ache after wine", "--kg", graph, "--json").stdout)
    assert told["relation"] == "containment"


def test_the_shipped_graph_answers_in_both_languages(imapeval: Command):
    assert imapeval("kg", "relate", "布洛芬", "非甾体抗炎药").stdout == "布洛芬 -> 非甾体抗炎药: belonging\n"
    first = imapeval("kg", "search", "ibuprofin", "--type", "drug").stdout.splitlines()[0]
    assert "ibuprofen" in first


def test_no_score_is_shown_as_nothing(imapeval: Command):
    told = [line.partition("  ")[0] for line in imapeval("kg", "search", "qwxz").stdout.splitlines()]
    found = json.loads(imapeval("kg", "search", "qwxz", "--json").stdout)
    assert 0 < min(one["score"] for one in found) < 0.005
    assert [float(score) for score in told] == pytest.approx([one["score"] for one in found], rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "fever", "--type", "sickness"), "disease, symptom"),
        (("search", " "), "empty"),
        (("relate", "a", "b", "--lang", "fr"), "--lang 'fr'"),
        (("relate", "", "fever"), "empty"),
        (("info", ""), "empty"),
        (("info", "\udcff"), "not UTF-8"),
        (("stats", "--kg", "nowhere.kg"), "nowhere.kg"),
    ],
)
def test_bad_usage_names_the_mend(imapeval: Command, arguments: tuple[str, ...], said: str):
    done = imapeval("kg", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_graph_without_its_folder_says_so(imapeval: Command, graph: Path):
    shutil.rmtree(graph)
    done = imapeval("kg", "info", "X:2", "--kg", graph)
    assert done.returncode == 2
    assert "my.kg" in done.stderr
