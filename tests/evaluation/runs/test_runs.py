import json
import subprocess
import sys
from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.corrections import Correction, Mark, append_correction
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter, export_table
from imapeval.files import DRAFT_SUFFIX
from imapeval.llm.middleware.budget import Ledger
from imapeval.report.run_page import write_report
from imapeval.types import MAX_RAW_CHARACTERS, Failure, Imap, Match, Pair, Relation, Sample, Score, Turn

SAMPLES = [
    Sample("a", "Why?", ("So.", "Thus."), "Because.", "en", "s1", {"accuracy": 4.5}, {"task": "cause"}),
    Sample("b", "为什么？", (), "所以", "zh", "s2", turns=(Turn("user", "为什么？"), Turn("assistant", "所以"))),
]
SETTINGS = RunSettings({"m": "m|v:1", "n": "n|v:1"})
IMAP = Imap((Pair("t", "?"),), (), (Pair("t", "x", (0, 1)),), (Pair("t", "y"),))
RECORD = ImapRecord("a", IMAP, (Match("t", "x", "y", Relation.EXACT, 0.5, "text"),))
RESULTS = [
    Result("a", "m", Score(0.25, {"recall": 1.0}), "m|v:1"),
    Result("a", "n", Failure("extraction", "no-query", "nothing is asked"), "n|v:1"),
    Result("b", "m", Failure("llm", "rate-limit", "slow down"), "m|v:1"),
    Result("b", "n", Failure("metric", "internal", "KeyError: 1"), "n|v:1"),
]


def write(folder: Path, samples: list[Sample] = SAMPLES, settings: RunSettings = SETTINGS) -> RunWriter:
    return RunWriter(folder, samples, settings=settings, source="data.jsonl", command=["imapeval", "score"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with write(tmp_path / "run") as run:
        run.add(imaps=[RECORD], results=RESULTS)
        run.finish()
    return tmp_path / "run"


def test_what_is_written_is_read(folder: Path):
    run = Run(folder)
    assert run.samples() == SAMPLES
    assert run.results() == RESULTS
    (record,) = run.imaps()
    assert record.imap.reference == IMAP.reference
    assert record.matches == RECORD.matches
    assert run.manifest["counts"] == {"samples": 2, "scored": 1, "failed": 3, "missing": 0}
    assert run.manifest["data"]["source"] == "data.jsonl"
    assert run.manifest["finished"] >= run.manifest["started"]
    assert run.manifest["libraries"]["sacrebleu"]


def test_no_response_is_null_and_an_empty_one_a_text(tmp_path: Path):
    samples = [Sample("a", "Why?", (), "", answered=False), Sample("b", "Why?", (), "")]
    with write(tmp_path / "run", samples):
        pass
    lines = (tmp_path / "run" / "samples.jsonl").read_text().splitlines()
    assert [json.loads(line)["response"] for line in lines] == [None, ""]
    assert Run(tmp_path / "run").samples() == samples


def test_turns_are_written_where_there_are_any(folder: Path):
    first, second = map(json.loads, (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines())
    assert "turns" not in first
    assert second["turns"] == [{"role": "user", "content": "为什么？"}, {"role": "assistant", "content": "所以"}]


def test_lines_are_as_the_design_says(folder: Path):
    first, second = map(json.loads, (folder / "results.jsonl").read_text().splitlines()[:2])
    assert first == {
        "id": "a",
        "metric": "m",
        "score": 0.25,
        "parts": {"recall": 1.0},
        "failure": None,
        "signature": "m|v:1",
    }
    failure = {"stage": "extraction", "kind": "no-query", "message": "nothing is asked"}
    assert second == {"id": "a", "metric": "n", "score": None, "parts": {}, "failure": failure, "signature": "n|v:1"}


def test_the_raw_text_of_a_failure_is_kept_as_far_as_it_is_of_use(tmp_path: Path):
    texts = ["I am sorry.\n", "half a character: \ud800", "x" * MAX_RAW_CHARACTERS, "x" * (MAX_RAW_CHARACTERS + 1)]
    results = [Result("a", str(n), Failure("extraction", "k", "m", raw), "v:1") for n, raw in enumerate(texts)]
    settings = RunSettings({str(n): "v:1" for n in range(len(texts))})
    for _ in range(2):  # going on writes the same again
        with write(tmp_path / "run", settings=settings) as run:
            run.add(imaps=[], results=[] if run.finished else results)
        read = [result.outcome.raw for result in Run(tmp_path / "run").results()]
        assert read[:3] == texts[:3]
        assert read[3] == "x" * (MAX_RAW_CHARACTERS - 6) + " [cut]"
    (tmp_path / "run" / "results.jsonl").read_bytes().decode()


def test_going_on_keeps_what_is_final(folder: Path):
    started = Run(folder).manifest["started"]
    with write(folder) as run:
        assert list(run.finished.values()) == RESULTS[:2]
    assert Run(folder).results() == RESULTS[:2]
    assert Run(folder).manifest["started"] == started


def test_half_a_line_is_cut_off(folder: Path):
    for name in ("results.jsonl", "imaps.jsonl"):
        with (folder / name).open("ab") as file:
            file.write('{"id": "é'.encode()[:-1])
    assert Run(folder).results() == RESULTS
    assert len(Run(folder).imaps()) == 1
    with write(folder) as run:
        run.retain_imaps(["a"])
        run.add(imaps=[ImapRecord("b", IMAP, ())], results=[RESULTS[2]])
    assert Run(folder).results() == RESULTS[:3]
    assert [record.id for record in Run(folder).imaps()] == ["a", "b"]


def test_a_damaged_line_is_named(folder: Path):
    (folder / "results.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(InputError, match=r"results.jsonl, line 1: .*metric"):
        Run(folder).results()


def test_only_lines_of_the_given_samples_are_checked(folder: Path):
    run = Run(folder)
    assert list(run.find_samples({"b", "c"})) == SAMPLES[1:]
    assert list(run.find_results({"a"})) == RESULTS[:2]
    with (folder / "results.jsonl").open("ab") as file:
        file.write(b'{"id": "a", "metric": 3}\n')
    assert list(run.find_results({"b"})) == RESULTS[2:]
    with pytest.raises(InputError, match="line 5"):
        list(run.find_results({"a"}))
    with (folder / "results.jsonl").open("ab") as file:
        file.write(b"no JSON\n")
    with pytest.raises(InputError, match="line 6"):
        list(run.find_results({"b"}))


def test_an_id_that_is_no_text_is_named(folder: Path):
    run = Run(folder)
    line = b'{"id": ["x"], "metric": "rouge1"}\n'
    (folder / "results.jsonl").write_bytes(line)
    with pytest.raises(InputError, match="line 1"):
        list(run.find_results({"a"}))


def test_an_outcome_of_another_run_is_named(folder: Path):
    with (folder / "results.jsonl").open("a") as file:
        file.write(
            '{"id":"zzz","metric":"m","score":1,"parts":{},"failure":null,"signature":"m|v:1"}\n',
        )
    with pytest.raises(InputError, match=r"results.jsonl, line 5: 'zzz'"):
        Run(folder).results()


@pytest.mark.parametrize(
    ("samples", "settings", "difference"),
    [
        (SAMPLES[:1], SETTINGS, r"the data was 2 samples of data.jsonl \(sha256 \w{8}\), is now 1 samples of"),
        (SAMPLES, RunSettings({"m": "m|v:1"}), "the list of metrics was m,n, is now m"),
        # Other metrics need another extractor: only what was chosen is named.
        (SAMPLES, RunSettings({"m": "m|v:1"}, extractor="x"), r"settings: the list of metrics was m,n, is now m\. "),
        (SAMPLES, RunSettings({"m": "m|v:2", "n": "n|v:1"}), r"m was m\|v:1, is now m\|v:2"),
        (SAMPLES, RunSettings(SETTINGS.metrics, seed=7), "seed was 0, is now 7"),
        (SAMPLES, RunSettings(SETTINGS.metrics, extractor="x"), "extractor was , is now x"),
    ],
)
def test_other_data_or_settings_are_refused(
    folder: Path, samples: list[Sample], settings: RunSettings, difference: str
):
    before = (folder / "results.jsonl").read_bytes()
    with pytest.raises(UsageError, match=f"{difference}.*--out"):
        write(folder, samples, settings)
    assert (folder / "results.jsonl").read_bytes() == before


def test_two_writers_at_once(folder: Path):
    with write(folder), pytest.raises(UsageError, match="another process"):
        write(folder)
    with write(folder):
        pass


def test_a_folder_that_holds_something_else(tmp_path: Path):
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(UsageError, match="--out"):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    (tmp_path / ".lock").write_text("of another program")
    with pytest.raises(UsageError, match="--out"):
        write(tmp_path)
    assert (tmp_path / ".lock").read_text() == "of another program"
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="manifest"):
        write(tmp_path)


def test_no_run(tmp_path: Path):
    with pytest.raises(InputError, match="manifest"):
        Run(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file.run \(Not a directory\)"):
        write(tmp_path / "file" / "run")


@pytest.mark.skipif(sys.platform == "win32", reason="needs the limit on file sizes that POSIX systems have")
def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path: Path):
    # A limit on the file size stands in for the full disk: the same failing write(2), another errno.
    script = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from imapeval.errors import UsageError
from imapeval.llm.middleware.budget import Ledger
from imapeval.report.run_page import write_report
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Failure, Sample
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
samples = [Sample(f"a{n}", "q", ("r",), "") for n in range(30)]
with RunWriter(Path(sys.argv[2]), samples, settings=RunSettings({"m": "m|v:1"})) as run:
    try:
        failure = Failure("metric", "k", "x" * 200)
        run.add(imaps=[], results=[Result(f"a{n}", "m", failure, "m|v:1") for n in range(30)])
    except UsageError as error:
        print(error)
"""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script, root, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert str(tmp_path) in done.stdout
    results = Run(tmp_path).results()
    assert results
    assert [result.id for result in results] == [f"a{n}" for n in range(len(results))]


def test_columns_that_json_does_not_know(tmp_path: Path):
    samples = [Sample("a", "q", ("r",), "", meta={"half": "\ud83d", "path": Path("x")})]
    with write(tmp_path, samples):
        pass
    assert Run(tmp_path).samples()[0].meta == {"half": "\ud83d", "path": "x"}


@pytest.mark.parametrize("content", ["[]", "{}", '{"imapeval": "0", "data": {}, "settings": {}}'])
def test_a_manifest_of_another_kind(folder: Path, content: str):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="manifest"):
        Run(folder)
    with pytest.raises(InputError, match="manifest"):
        write(folder)


@pytest.mark.parametrize(
    ("content", "part"),
    [("", "holds 0 of 2 samples"), ("{}\n", "line 1: not a sample"), ("x\n", "line 1: not a sample")],
)
def test_samples_that_are_not_as_written(folder: Path, content: str, part: str):
    (folder / "samples.jsonl").write_text(content)
    with pytest.raises(InputError, match=part):
        Run(folder).samples()


def test_a_file_name_that_is_no_unicode(tmp_path: Path):
    settings = RunSettings({"m": "m|v:1"})
    with RunWriter(tmp_path / "run", SAMPLES, settings=settings, source="bad\udcff.jsonl", command=["bad\udcff"]):
        pass
    assert Run(tmp_path / "run").manifest["data"]["source"] == "bad\udcff.jsonl"


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
@pytest.mark.parametrize("name", ["results.csv", "report.html", "manifest.json", "samples.jsonl", "results.jsonl"])
def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path, name: str):
    theirs = tmp_path / "theirs"
    if (folder / name).exists():
        (folder / name).rename(theirs)
    else:
        theirs.write_text("theirs")
    before = theirs.read_bytes()
    (folder / name).symlink_to(theirs)
    with write(folder) as run:
        run.add(imaps=[], results=RESULTS[2:])
        run.finish()
    export_table(Run(folder))
    write_report(folder)
    assert theirs.read_bytes() == before
    assert not (folder / name).is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_link_to_a_folder_is_followed(folder: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(folder)
    with write(tmp_path / "link") as run:
        run.add(imaps=[], results=RESULTS[2:])
        run.finish()
    assert len(Run(folder).results()) == len(RESULTS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_imaps_that_are_a_link_are_not_added_to(folder: Path, tmp_path: Path):
    (folder / "imaps.jsonl").unlink()
    (folder / "imaps.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(UsageError, match=r"imaps\.jsonl"):
        write(folder)
    assert not (tmp_path / "theirs").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_usage_corrections_and_shards_that_are_links_are_refused(folder: Path, tmp_path: Path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "theirs").write_text("theirs, without a line break")
    for name, target in (("corrections.jsonl", "theirs"), ("results", "shards")):
        (folder / name).symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="symbolic links"):
        append_correction(folder, Correction(id="a", who="me", change=Mark(kind="reset")))
    with pytest.raises(UsageError, match="symbolic link"):
        export_table(Run(folder), "shards")
    (folder / "usage.json").symlink_to(tmp_path / "absent")
    with pytest.raises(UsageError, match=r"usage\.json"):
        RunWriter(folder, SAMPLES, settings=SETTINGS, source="data.jsonl", command=[], ledger=Ledger())
    assert (tmp_path / "theirs").read_text() == "theirs, without a line break"
    assert not list((tmp_path / "shards").iterdir())
    assert not (tmp_path / "absent").exists()


def test_what_a_killed_process_left_half_written_is_removed(folder: Path, tmp_path: Path):
    for place in (folder, tmp_path / "begun"):
        place.mkdir(exist_ok=True)
        for name in ("manifest.json", "report.html", "results.csv", "results.parquet", "results.xlsx"):
            (place / f".{name}.1f2e3d4c{DRAFT_SUFFIX}").write_text("{")
        with write(place):
            pass
        assert not list(place.glob(f".*{DRAFT_SUFFIX}"))


def test_a_file_is_no_run(tmp_path: Path):
    path = tmp_path / "data.csv"
    path.write_text("question,response\n")
    with pytest.raises(InputError, match="imapeval score") as caught:
        Run(path)
    assert caught.value.path == path
    with pytest.raises(UsageError, match="file"):
        RunWriter(path, [], settings=RunSettings({}))
