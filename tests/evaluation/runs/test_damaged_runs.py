"""Whatever stands in the files of a run: it is read, or refused by one error that names the file."""

import copy
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from imapeval.cli.main import app
from imapeval.errors import ImapEvalError, InputError
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter, export_table
from imapeval.evaluation.samples import read
from imapeval.explain.answers import collect_answers
from imapeval.explain.context import iterate_contexts
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.report.junit import iterate_junit
from imapeval.report.markdown import write_markdown
from imapeval.report.run_page import write_report
from imapeval.report.summary import summarise
from imapeval.study.data.joining import join_ratings
from imapeval.types import Sample, Score

FILES = ("manifest.json", "usage.json", "samples.jsonl", "imaps.jsonl", "results.jsonl")
DATA = [
    {
        "id": f"{language}{n}",
        "question": question,
        "references": [reference, "Rest and plenty of water."],
        "response": response,
        "system": f"s{n}",
        "ratings": {"accuracy": 3 + n, "tone": 2.5},
        "task": "advice",
    }
    for language, question, reference in (
        (
            "en",
            "My knee hurts after a fall. What is the treatment?",
            "Surgical repair of the meniscus, or physiotherapy.",
        ),
        ("zh", "膝盖疼怎么治疗？", "建议手术治疗，不建议服用阿司匹林。"),
    )
    for n, response in enumerate(["Arthroscopy. Do not take aspirin.", "The treatment is surgery if it locks.", ""])
]


def call(*args: str | Path) -> Outcome:
    """Run a command in this process."""
    done = CliRunner().invoke(app, [*map(str, args)])
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the program itself, with what a language model costs."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA))
    done = call("score", folder / "data.jsonl", "--metrics", "imapscore,rouge1,bleu", "--out", folder / "run")
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    kept = RunSettings(**manifest["settings"])
    ledger = Ledger(price=Price(1.0, 4.0))
    with RunWriter(folder / "run", read(folder / "data.jsonl"), settings=kept, ledger=ledger) as run:
        ledger.record_cached()
        run.finish()
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def use(folder: Path, made: Path) -> None:
    """Read and write everything that there is of a run, each by itself."""
    manifest = json.loads((made / "manifest.json").read_text())
    samples = Run(made).samples()

    def summary() -> None:
        found = Run(folder)
        settings = found.manifest["settings"]
        signatures, ranges = settings["metrics"], settings.get("ranges", {})
        metrics = list(signatures)
        answers = collect_answers(found.samples(), found.results(), found.imaps(), metrics=metrics)
        rows = summarise(found.samples(), found.results(), metrics=metrics, ranges=ranges, seed=settings["seed"])
        started = found.manifest["started"]
        junit = "".join(iterate_junit(answers, name="x", signatures=signatures, started=started))
        markdown = write_markdown(answers, rows, [], name="x", higher_is_better=dict.fromkeys(metrics, True))
        (junit + markdown).encode(errors="replace")

    def resume() -> None:
        with RunWriter(folder, samples, settings=RunSettings(**manifest["settings"]), ledger=Ledger()) as writer:
            writer.retain_imaps([sample.id for sample in samples])
            writer.finish()

    for task in (
        lambda: Run(folder).results(),
        lambda: list(Run(folder).find_imaps({sample.id for sample in samples})),
        lambda: json.dumps(list(iterate_contexts(Run(folder)))),
        lambda: join_ratings([Run(folder)]),
        lambda: export_table(Run(folder)),
        lambda: write_report(folder),
        summary,
        resume,
    ):
        try:
            task()
        except ImapEvalError as error:
            assert folder.name in str(error) or "rating" in str(error)  # noqa: PT017  # many tasks end well


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 5, 10**30, -(10**400), 1e300, 0.5, float("nan"), float("inf")])
    | st.sampled_from(["", "a", "\x1b[31m", "half \ud83d", "=1+1", "x" * 3000, "en0", "accuracy", "exact", "</script>"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
) | st.sampled_from([json.loads("[" * 150 + "]" * 150), json.loads('{"a":' * 150 + "1" + "}" * 150)])


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return the document with a value at a place; without it where the value is `...`."""
    if not path:
        return None if value is ... else value
    changed = copy.deepcopy(document)
    node = changed
    for key in path[:-1]:
        node = node[key]
    if value is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return changed


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_in_any_field(made: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    folder = shutil.copytree(made, tmp_path_factory.mktemp("fuzz") / "run")
    name = data.draw(st.sampled_from(FILES))
    lines = [(made / name).read_text()] if name.endswith(".json") else (made / name).read_text().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    document = json.loads(lines[number])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(document))))
        document = put(document, path, data.draw(json_values | st.just(...)))
    changed = json.dumps(document)
    lines[number : number + 1] = data.draw(st.sampled_from([[changed], [changed, lines[number]]]))
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    use(folder, made)
    shutil.rmtree(folder.parent)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FILES), st.floats(0, 1), st.sampled_from(["cut", "drop", "fill"]), st.binary(max_size=20))
@example("manifest.json", 0.0, "fill", b"[" * 100_000)
@example("usage.json", 0.0, "fill", b"[" * 100_000)
@example("results.jsonl", 0.0, "fill", b"[" * 100_000 + b"\\ud83d\n")
@example("samples.jsonl", 0.0, "fill", b'{"a":' * 100_000 + b"\n")
@example("imaps.jsonl", 0.0, "fill", b"[" * 100_000 + b"\n")
@example("results.jsonl", 0.5, "fill", bytes(4096))
def test_any_damage(
    made: Path, tmp_path_factory: pytest.TempPathFactory, name: str, at: float, how: str, put_in: bytes
):
    folder = shutil.copytree(made, tmp_path_factory.mktemp("fuzz") / "run")
    content = (made / name).read_bytes()
    place = int(at * len(content))
    rest = {"cut": b"", "drop": content[place + len(put_in) :], "fill": put_in + content[place:]}[how]
    (folder / name).write_bytes(content[:place] + rest)
    use(folder, made)
    shutil.rmtree(folder.parent)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file(run: Path, made: Path, name: str):
    (run / name).unlink()
    (run / name).mkdir()
    use(run, made)
    with pytest.raises(InputError, match=name):
        export_table(Run(run)), Run(run).imaps()


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes of POSIX systems")
@pytest.mark.parametrize("name", [*FILES, ".lock", "report.html"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(run: Path, made: Path, name: str):
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    for command in (
        ["score", made.parent / "data.jsonl", "--metrics", "imapscore,rouge1,bleu", "--out", run],
        ["report", run],
    ):
        done = call(*command)
        assert (done.exit_code, "Remove it." in done.stderr, str(run / name) in done.stderr) == (2, True, True)


def change(path: Path, number: int, **fields: Any) -> str:
    """Add a line like line `number` (counted from 1) with other fields, and return the line before it was changed."""
    line = path.read_text().splitlines()[number - 1]
    with path.open("a") as file:
        file.write(json.dumps(json.loads(line) | fields) + "\n")
    return line


@pytest.mark.parametrize(
    "again", [str, lambda line: json.dumps(json.loads(line), sort_keys=True)], ids=["same", "sorted"]
)
def test_a_line_that_is_there_twice_counts_once(run: Path, made: Path, again: Callable[[str], str]):
    for name in ("results.jsonl", "imaps.jsonl"):
        lines = (run / name).read_text().splitlines()
        (run / name).write_text("".join(f"{line}\n" for line in [*lines, *map(again, lines)]))
    assert Run(run).results() == Run(made).results()
    assert Run(run).imaps() == Run(made).imaps()
    assert export_table(Run(run)).read_bytes() == export_table(Run(made)).read_bytes()
    write_report(run)
    with RunWriter(run, Run(made).samples(), settings=RunSettings(**Run(made).manifest["settings"])):
        pass
    assert (run / "results.jsonl").read_bytes() == (made / "results.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("name", "line", "fields", "read"),
    [
        ("results.jsonl", 2, {"score": 0.123}, Run.results),
        ("imaps.jsonl", 3, {"response": [], "relations": []}, Run.imaps),
    ],
)
def test_two_lines_that_differ_are_both_named(
    run: Path, name: str, line: int, fields: dict[str, Any], read: Callable[[Run], object]
):
    count = len((run / name).read_text().splitlines())
    change(run / name, line, **fields)
    with pytest.raises(InputError, match=f"line {line}") as caught:
        read(Run(run))
    assert (caught.value.path, caught.value.line) == (run / name, count + 1)


def test_two_samples_of_one_id_are_both_named(run: Path):
    lines = (run / "samples.jsonl").read_text().splitlines()
    (run / "samples.jsonl").write_text("".join(f"{line}\n" for line in [lines[0], *lines[:-1]]))
    with pytest.raises(InputError, match="line 1") as caught:
        Run(run).samples()
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"score": 5},
        {"score": -0.2},
        {"score": 1e999},
        {"score": True},
        {"score": "1"},
        {"score": None},
        {"parts": {"recall": None}},
        {"parts": {"recall": True}},
        {"parts": {"recall": "1"}},
        {"parts": {"recall": 1e999}},
        {"parts": {"recall": float("nan")}},
        {"parts": {"recall": 5}},
        {"parts": {"precision": -0.2}},
        {"parts": {"contradictions": -1}},
        {"parts": {"references": -1}},
        {"parts": {"stability": 1.5}},
        {"repetitions": [[9.0]]},
        {"repetitions": [[float("nan")]]},
        {"repetitions": [[0.1], [0.2, 0.3]]},
        {"signature": "imapscore"},
        {"metric": "rouge2"},
        {"id": "zzz"},
        {"failure": {"stage": "llm", "kind": "x", "message": "y"}},
        {"failure": {}},
    ],
    ids=str,
)
def test_an_outcome_that_cannot_be_is_refused_with_its_line(run: Path, fields: dict[str, Any]):
    path = run / "results.jsonl"
    lines = path.read_text().splitlines()
    place = next(
        n for n, line in enumerate(lines) if json.loads(line)["metric"] == "imapscore" and '"failure": null' in line
    )
    lines[place] = json.dumps(json.loads(lines[place]) | fields)
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(InputError) as caught:
        Run(run).results()
    assert (caught.value.path, caught.value.line) == (path, place + 1)
    done = call("report", run)
    assert done.exit_code == 2
    assert f"results.jsonl, line {place + 1}" in done.stderr


@pytest.mark.parametrize("name", FILES)
def test_a_field_that_is_there_twice_is_refused(run: Path, name: str):
    path = run / name
    first, *others = [path.read_text().strip()] if name.endswith(".json") else path.read_text().splitlines()
    path.write_text("\n".join([f"{first[:-1]}, {first[1:]}", *others, ""]))
    with pytest.raises(InputError) as caught:
        (found := Run(run)).results(), found.imaps()
    assert caught.value.path == path


def test_rounding_is_no_fault(tmp_path: Path):
    samples = [Sample(str(n), "Why?", ("So.",), "So.") for n in range(2)]
    with RunWriter(tmp_path, samples, settings=RunSettings({"m": "m|v:1"}, ranges={"m": (0.0, 1.0)})) as run:
        run.add(imaps=[], results=[Result("0", "m", Score(1.0000002), "m|v:1"), Result("1", "m", Score(0), "m|v:1")])
    assert len(Run(tmp_path).results()) == 2
