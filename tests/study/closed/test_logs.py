import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from imapeval._optional import installed
from imapeval.errors import InputError, MissingExtraError, UsageError
from imapeval.evaluation.samples.rows import Row
from imapeval.study.closed.findings import analyse_closed_answers
from imapeval.study.closed.logs import holds_logs, inspect, read_logs
from imapeval.study.closed.logs.answers import find_gold, find_options, infer_labels

HERE = Path(__file__).parent / "logs"

OPTIONS = {
    "medqa": {"question": "?", "options": {"A": "Aspirin", "B": "Rest"}, "answer_idx": "B"},
    "medmcqa": {"question": "?", "opa": "Aspirin", "opb": "Rest", "opc": "", "cop": 1},
    "cmb": {"question": "?", "option": {"A": "Aspirin", "B": "Rest"}, "answer": "B"},
    "careqa": {"question": "?", "op1": "Aspirin", "op2": "Rest", "cop": 2},
    "mmlu": {"question": "?", "choices": ["Aspirin", "Rest"], "answer": 1},
    "arc": {"question": "?", "choices": {"text": ["Aspirin", "Rest"], "label": ["A", "B"]}, "answerKey": "B"},
    "records": {"question": "?", "options": [{"key": "A", "value": "Aspirin"}, {"key": "B", "value": "Rest"}]},
    "columns": {"question": "?", "A": "Aspirin", "B": "Rest"},
}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def refuse(path: Path, match: str | None = None) -> InputError:
    """Return the error of reading a file or folder."""
    with pytest.raises(InputError, match=match) as caught:
        read_logs([path])
    return caught.value


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_of_public_data_sets(kind: str):
    assert find_options(OPTIONS[kind]) == (("A", "B"), ("Aspirin", "Rest"))


def test_what_has_no_options():
    assert find_options({"question": "?", "options": [], "A": "only one"}) == ((), ())


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        ("B", {"B"}),
        ("b", {"B"}),
        (1, {"B"}),
        ("1", {"B"}),
        ("rest", {"B"}),
        (["A", "B"], {"A", "B"}),
        ("C", set()),
        ("²", set()),
        ("9" * 5000, set()),
    ],
)
def test_gold(given: Any, gold: set[str]):
    assert find_gold(given, ("A", "B"), ("Aspirin", "Rest")) == gold


def test_gold_in_brackets():
    """mmlu_flan_* and BBH of lm-evaluation-harness."""
    assert find_gold("(B)", ("A", "B"), ("Aspirin", "Rest")) == {"B"}
    assert find_gold("(B)", (), ()) == {"B"}
    assert infer_labels(["(A)", "(B)"] * 10) == ("A", "B")


@pytest.mark.parametrize(
    "record",
    [
        {"opa": "w", "opb": "", "opc": "y", "opd": 4},
        {"options": ["w", None, "y", 4]},
        {"choices": {"text": ["w", " ", "y", 4], "label": ["A", "B", "C", "D"]}},
        {"option": {"A": "w", "B": None, "C": "y", "D": "4", "E": None}},
    ],
)
def test_absent_options_leave_the_labels_of_the_others(record: dict[str, Any]):
    labels, options = find_options(record)
    assert (labels, options) == (("A", "C", "D"), ("w", "y", "4"))
    assert [find_gold(given, labels, options) for given in (1, 2, "C", "y")] == [set(), {"C"}, {"C"}, {"C"}]


@pytest.mark.parametrize("labels", [("F", "T"), ("F", "G", "H", "J"), ("B", "C", "D")])
def test_labels_that_do_not_begin_with_a_lack_no_options(labels: tuple[str, ...]):
    assert [find_gold(place, labels, ()) for place in range(len(labels))] == [{label} for label in labels]


def test_numbers_in_columns_named_by_letters_are_no_options():
    assert find_options({"A": 0.1, "B": 0.9}) == ((), ())
    assert find_options({"A": 1, "B": "none"}) == (("A", "B"), ("1", "none"))
    assert find_options({"op1": 1, "op2": 2}) == (("A", "B"), ("1", "2"))


@pytest.mark.parametrize("labels", ["ＡＢ", ("(A)", "(B)"), ("[A]", "[B]"), ("A.", "B."), ("A)", "B)")])
def test_labels_are_bare(labels: Sequence[str], tmp_path: Path):
    options = dict(zip(labels, ("Aspirin", "Rest"), strict=True))
    assert find_options({"options": options}) == (("A", "B"), ("Aspirin", "Rest"))
    row = {"system": "m", "options": options}
    given = [(labels[1], "B"), (labels[1], f"The answer is {labels[1]}"), ("B", labels[1]), ("ＢＡ", "A, B")]
    rows = [row | {"id": n, "answer": gold, "response": said} for n, (gold, said) in enumerate(given)]
    assert [answer.right for answer in read_logs([write_lines(tmp_path / "a.jsonl", rows)])] == [True] * 4


def test_full_width_numbers_are_labels(tmp_path: Path):
    row = {"id": 1, "system": "m", "options": {"１": "Aspirin", "２": "Rest"}, "answer": "１", "response": "１"}
    (answer,) = read_logs([write_lines(tmp_path / "a.jsonl", [row])])
    assert (answer.labels, answer.gold, answer.right) == (("1", "2"), {"1"}, True)


def test_words_as_labels_stay_as_they_are():
    assert find_options({"options": {"Vitamin K (oral)": "x", "No.": "y"}})[0] == ("Vitamin K (oral)", "No")


def test_gold_in_lists_nested_deep():
    given: Any = "A"
    for _ in range(5000):
        given = [given, "B"]
    assert find_gold(given, ("A", "B"), ()) == {"A", "B"}


def test_options_of_the_same_text_are_all_right():
    assert find_gold("rest", ("A", "B", "C"), ("Rest", "Aspirin", "rest ")) == {"A", "C"}


def test_more_options_than_letters():
    labels, options = find_options({"options": [f"option {n}" for n in range(30)]})
    assert (len(labels), len(set(labels)), labels[25:28], options[-1]) == (30, 30, ("Z", "AA", "AB"), "option 29")


def test_logs_of_the_harness_give_its_own_accuracy_to_the_item():
    answers = read_logs([HERE])
    for task, metric in (("kinds_mc", "acc"), ("kinds_gen", "exact_match")):
        part = [answer for answer in answers if answer.task == task]
        assert len(part) == 16
        assert {answer.model for answer in part} == {"HuggingFaceTB/SmolLM2-135M-Instruct"}
        assert [answer.item for answer in part] == [f"kind-{n}" for n in range(1, 17)]
        # Every answer of this model begins with a letter, so that our rules and its regular expression agree.
        assert [float(answer.right is True) for answer in part] == [answer.scores[metric] for answer in part]
        assert all(len(answer.labels) == len(answer.options) == 4 for answer in part)
        assert all(answer.gold <= set("ABCD") and len(answer.gold) == 1 for answer in part)
    assert all((answer.text is None) == (answer.task == "kinds_mc") for answer in answers)


def test_json_logs_of_inspect_are_told_from_tables(tmp_path: Path):
    """The head is what Inspect 0.3.285 writes; its logs are read in tests/integrations/inspect_ai."""
    (tmp_path / "other.json").write_text('{"version": 2, "name": "something else"}', encoding="utf-8")
    assert not holds_logs(tmp_path)
    log = tmp_path / "2026-11-26T11-55-43-00-00_task_LAoFmezWvNHXxX5bDBKsok.json"
    log.write_text('{\n  "version": 2,\n  "status": "success",\n  "eval": {\n', encoding="utf-8")
    assert holds_logs(tmp_path)
    # Without Inspect its reader is missing; with it, this log is damaged. A table would lack a column.
    error = InputError if installed("inspect-ai") else MissingExtraError
    for given in (log, tmp_path):
        with pytest.raises(error):
            read_logs([given])


def test_scores_of_inspect_are_what_its_value_to_float_makes_of_them(monkeypatch: pytest.MonkeyPatch):
    values = {"a": True, "b": False, "c": "0.5", "d": "Yes", "e": "false", "f": "C", "g": "N", "h": 2, "i": "unknown"}
    fields = {"references": ["A"], "response": "A", "system": "m", "sample_id": 1, "epoch": 1, "task": "t"}
    scores = {f"score.{name}": value for name, value in values.items()}
    row = Row(1, 1, fields | scores | {"choices": ["x", "y"], "question": "q"})
    monkeypatch.setattr(inspect, "load_inspect", lambda _: [row])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    (answer,) = inspect.read_inspect(HERE)
    assert answer.scores == {"a": 1, "b": 0, "c": 0.5, "d": 1, "e": 0, "f": 1, "g": 0, "h": 2}


def sample(n: int, doc: dict[str, Any], target: Any, responses: list[Any], **fields: Any) -> dict[str, Any]:
    return {
        "doc_id": n,
        "doc": doc,
        "target": target,
        "resps": responses,
        "filtered_resps": [],
        "metrics": [],
        **fields,
    }


def test_options_that_only_the_arguments_name(tmp_path: Path):
    """lm_eval 0.4.13's pubmedqa: the target is a text, and yes, no and maybe stand in the arguments."""
    likelihoods = [[["-2.0", "False"]], [["-1.0", "False"]], [["-9.0", "False"]]]
    arguments = {
        f"gen_args_{n}": {"arg_0": "Question ...", "arg_1": f" {text}"} for n, text in enumerate(("yes", "no", "maybe"))
    }
    rows = [
        sample(n, {"QUESTION": "q"}, gold, likelihoods, arguments=arguments) for n, gold in enumerate(("no", "yes"))
    ]
    answers = read_logs([write_lines(tmp_path / "samples_pubmedqa.jsonl", rows)])
    assert [answer.right for answer in answers] == [True, False]
    assert answers[0].options == ("yes", "no", "maybe")


@pytest.mark.parametrize("given", ["2", 2])
def test_the_harness_counts_options_that_are_numbers(given: Any, tmp_path: Path):
    """MedMCQA's `cop` is a position, although another option has the text 2."""
    doc = {"question": "How many?", "opa": "1", "opb": "2", "opc": "3", "opd": "4", "cop": 2}
    likelihoods = [[[str(-abs(2 - n) - 1), "False"]] for n in range(4)]
    rows = [sample(0, doc, given, likelihoods, metrics=["acc"], acc=1.0)]
    (answer,) = read_logs([write_lines(tmp_path / "samples_medmcqa.jsonl", rows)])
    assert (answer.gold, answer.choice.label, answer.right) == ({"C"}, "C", True)


def test_likelihoods_without_the_question_are_no_options(tmp_path: Path):
    """`acc_mutual_info` of lm-evaluation-harness."""
    likelihoods = [[[str(number), "False"]] for number in (-5, -9, -1, -8)]
    doc = {"question": "q", "choices": ["w", "x"], "answer": 0}
    row = sample(0, doc, 0, likelihoods, metrics=["acc", "acc_mutual_info"], acc=1.0, acc_mutual_info=0.0)
    (answer,) = read_logs([write_lines(tmp_path / "samples_mi.jsonl", [row | {"filter": name} for name in "xy"])])
    assert (answer.labels, answer.choice.label, answer.right) == (("A", "B"), "A", True)


def test_generated_answers_with_options_as_endings_or_without(tmp_path: Path):
    """lm_eval 0.4.13's medqa_4options has sent1 and ending0 to ending3."""
    doc = {"sent1": "Which?", "ending0": "tea", "ending1": "rest", "ending2": "ice", "ending3": "heat"}
    rows = [sample(0, doc, 1, [["The answer is B."]]), sample(1, doc, 2, [["Rest."]])]
    found = read_logs([write_lines(tmp_path / "samples_medqa.jsonl", rows)])
    assert [(answer.choice.label, answer.right) for answer in found] == [("B", True), ("B", False)]
    rows = [
        sample(n, {"question": "q"}, gold, [[text]]) for n, (gold, text) in enumerate((("yes", "Yes."), ("no", "Yes")))
    ]
    found = read_logs([write_lines(tmp_path / "samples_verdicts.jsonl", rows)])
    assert [answer.right for answer in found] == [True, False]


def test_all_right_options_have_to_be_chosen(tmp_path: Path):
    """CMB's questions with several right answers, "ABD"; a list of answers means any of them."""
    options = {"A": "tea", "B": "rest", "C": "ice", "D": "heat"}
    texts = ("ABD", "A, B and D", "答案：A、B、D", "A and B", "A", "A or B", "I cannot say.")
    rows = [
        {"id": n, "system": "m", "options": options, "answer": "ABD", "response": text} for n, text in enumerate(texts)
    ]
    rows.append({"id": "any", "system": "m", "options": options, "answer": ["A", "B"], "response": "A"})
    found = read_logs([write_lines(tmp_path / "cmb.jsonl", rows)])
    assert [answer.right for answer in found] == [True, True, True, False, False, None, None, True]
    (row,) = analyse_closed_answers(found[:-1]).models
    assert (row.readings["read"], row.guessing, row.always_one) == (5, pytest.approx(1 / 15), 1)


def test_open_ended_questions_are_left_out_and_named(tmp_path: Path):
    """lm_eval's careqa_open beside careqa_en: free answers have no right option."""
    doc = {"question": "q", "op1": "tea", "op2": "rest"}
    closed = [sample(n, doc, 0, [["A"]]) for n in range(3)]
    opened = [sample(n, {"question": "q"}, f"free text {n}", [["some text"]]) for n in range(20)]
    write_lines(tmp_path / "samples_careqa_en.jsonl", closed)
    write_lines(tmp_path / "samples_careqa_open.jsonl", opened)
    found = analyse_closed_answers(read_logs([tmp_path]))
    assert [(row.task, row.accuracy) for row in found.models] == [("careqa_en", 1)]
    assert found.left_out == {"careqa_open": 20}
    with pytest.raises(UsageError):
        analyse_closed_answers(read_logs([tmp_path / "samples_careqa_open.jsonl"]))


def test_several_filters_are_one_answer(tmp_path: Path):
    file = HERE / "HuggingFaceTB__SmolLM2-135M-Instruct" / "samples_kinds_gen_2026-11-23T07-20-21.010834.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    both = [
        row | {"filter": name, "exact_match": float(name == "strict")} for row in rows for name in ("strict", "lax")
    ]
    answers = read_logs([write_lines(tmp_path / "samples_x.jsonl", both)])
    assert len(answers) == 16
    assert answers[0].scores == {"exact_match,strict": 1, "exact_match,lax": 0}


def test_refusals_several_and_cut_replies_land_where_they_belong(tmp_path: Path):
    given = [
        ("A", "Sorry, as an AI I cannot."),
        ("A", "A and B"),
        ("Aspirin", "选A，因为有效"),
        ("A", None),
        (["A", "B"], "Rest."),
        ("A", "It depends"),
    ]
    rows = [
        {"id": n, "system": "m", "options": ["Aspirin", "Rest"], "answer": gold, "response": said}
        for n, (gold, said) in enumerate(given)
    ]
    answers = read_logs([write_lines(tmp_path / "a.jsonl", rows)])
    assert [answer.choice.reading for answer in answers] == ["refused", "several", "read", "missing", "read", "unread"]
    assert [answer.right for answer in answers] == [None, None, True, None, True, None]


def test_labels_without_options(tmp_path: Path):
    given = [("yes", "Yes, it does."), ("no", "The answer is no."), ("maybe", "perhaps")]
    rows = [{"id": n, "model": "m", "gold": gold, "response": said} for n, (gold, said) in enumerate(given)]
    answers = read_logs([write_lines(tmp_path / "pubmedqa.jsonl", rows)])
    assert [answer.choice.label for answer in answers] == ["yes", "no", None]
    assert answers[0].labels == ("maybe", "no", "yes")


def test_several_right_numbers(tmp_path: Path):
    options = {"1": "tea", "2": "rest", "3": "ice"}
    row = {"id": 1, "system": "m", "options": options, "answer": "12", "response": "1, 2"}
    (answer,) = read_logs([write_lines(tmp_path / "a.jsonl", [row])])
    assert (answer.gold, answer.every) == ({"1", "2"}, True)


def test_right_answers_that_differ_in_case_are_one_label(tmp_path: Path):
    rows = [{"id": n, "system": "m", "answer": gold, "response": "yes"} for n, gold in enumerate(("Yes", "yes", "no"))]
    found = read_logs([write_lines(tmp_path / "a.jsonl", rows)])
    assert [(answer.labels, answer.right) for answer in found] == [(("Yes", "no"), right) for right in (1, 1, 0)]


@pytest.mark.parametrize("options", ['"[""tea"", ""rest""]"', '"{""A"": ""tea"", ""B"": ""rest""}"'])
def test_a_table_as_csv(options: str, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text(f"id,system,option,answer,response,seed\n1,m,{options},B,The answer is rest.,3\n", encoding="utf-8")
    (answer,) = read_logs([path])
    assert (answer.options, answer.gold, answer.right, answer.run) == (("tea", "rest"), {"B"}, True, "3")


@pytest.mark.parametrize("empty", [None, float("nan"), ""])
@pytest.mark.parametrize("column", ["id", "system", "answer"])
def test_empty_cells_of_a_table_are_refused(column: str, empty: Any, tmp_path: Path):
    row = {"id": 1, "system": "m", "answer": "yes", "response": "yes"}
    path = write_lines(tmp_path / "t.jsonl", [row, row | {"id": 2} | {column: empty}])
    assert refuse(path, f"'{column}'").line == 2


def test_nan_in_a_table_is_a_missing_value(tmp_path: Path):
    row = {"system": "m", "answer": "yes", "response": "yes"}
    rows = [row | {"id": "1", "group": float("nan")}, row | {"id": "2", "response": float("nan"), "run": float("nan")}]
    first, second = read_logs([write_lines(tmp_path / "t.jsonl", rows)])
    assert first.group == second.run == ""
    assert (second.text, second.choice.reading) == (None, "missing")


def test_cells_of_excel_without_a_value_are_refused(tmp_path: Path):
    for column, content, place in (("D", "#N/A", "D3"), ("D", "=1/2", "D3"), ("A", "=1+1", "A3")):
        book = Workbook()
        sheet = book.worksheets[0]
        for cells in (["id", "system", "answer", "response"], ["q1", "m", "yes", "yes"], ["q2", "m", "yes", "no"]):
            sheet.append(cells)
        sheet[f"{column}3"] = content
        book.save(tmp_path / "t.xlsx")
        assert refuse(tmp_path / "t.xlsx", place).line == 3


def write_helm(folder: Path, **changes: Any) -> Path:
    """A run of HELM's multiple_choice_joint adapter, with the fields of its public runs (v0.3.0 of HELM's MedHELM)."""
    folder.mkdir()
    request = {
        "instance": {
            "input": {"text": "What helps?"},
            "references": [
                {"output": {"text": "Aspirin"}, "tags": []},
                {"output": {"text": "Rest"}, "tags": ["correct"]},
            ],
            "split": "test",
            "id": "id7",
        },
        "request_mode": None,
        "train_trial_index": 0,
        "output_mapping": {"A": "Aspirin", "B": "Rest"},
        "result": {"success": True, "completions": [{"text": " B", "logprob": 0, "finish_reason": {"reason": "stop"}}]},
        "num_train_instances": 0,
    } | changes
    stats = [
        {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0},
        {"name": {"name": "num_prompt_tokens"}, "count": 1, "sum": 90.0},
    ]
    files = {
        "scenario_state.json": {"adapter_spec": {"method": "multiple_choice_joint"}, "request_states": [request]},
        "per_instance_stats.json": [{"instance_id": "id7", "train_trial_index": 0, "stats": stats}],
        "run_spec.json": {"name": "med_qa:model=a_b", "adapter_spec": {"model": "a/b"}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_a_run_of_helm_with_several_metrics_and_perturbed_questions(tmp_path: Path):
    """As HELM's runner writes it (`benchmark/runner.py`, `metrics/metric.py`): every metric adds entries of its own for
    an instance, perturbed copies of a question share its id, and a mean may be NaN (`metrics/statistic.py`).
    """
    folder = write_helm(tmp_path / "run")
    state = json.loads((folder / "scenario_state.json").read_bytes())
    stats = json.loads((folder / "per_instance_stats.json").read_bytes())
    typos = {"name": "misspellings", "robustness": True, "fairness": False, "computed_on": "perturbed"}
    copy = json.loads(json.dumps(state["request_states"][0]))
    copy["instance"]["perturbation"] = typos
    copy["result"]["completions"][0]["text"] = " A"
    state["request_states"].append(copy)
    tokens = {"name": {"name": "num_output_tokens", "split": "test"}, "count": 1, "sum": float("nan")}
    wrong = {"name": {"name": "exact_match", "split": "test", "perturbation": typos}, "count": 1, "sum": 0.0}
    stats += [
        {"instance_id": "id7", "train_trial_index": 0, "stats": [tokens]},
        {"instance_id": "id7", "perturbation": typos, "train_trial_index": 0, "stats": [wrong]},
    ]
    (folder / "scenario_state.json").write_text(json.dumps(state))
    (folder / "per_instance_stats.json").write_text(json.dumps(stats))
    (answer,) = read_logs([folder.parent])
    assert (answer.task, answer.model, answer.item, answer.question) == ("med_qa", "a/b", "id7", "What helps?")
    assert (answer.gold, answer.choice.label, answer.scores) == ({"B"}, "B", {"exact_match": 1.0})


@pytest.mark.parametrize("name", ["scenario_state.json", "run_spec.json", "per_instance_stats.json"])
@pytest.mark.parametrize("content", [None, "{", "[]", '{"request_states": 3}'])
def test_a_damaged_run_of_helm(name: str, content: str | None, tmp_path: Path):
    folder = write_helm(tmp_path / "run")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    if (name, content) == ("per_instance_stats.json", "[]"):
        assert read_logs([folder])[0].scores == {}
        return
    path = folder if (name, content) == ("per_instance_stats.json", None) else folder / name
    assert str(path) in str(refuse(folder))


STAT = {"name": {"name": "exact_match"}, "count": 1}


@pytest.mark.parametrize(
    "changed",
    [
        *({"stats": [STAT | {"sum": total}]} for total in (55.0, 1e999, float("nan"))),
        *({"stats": [STAT | {"count": count}]} for count in (-1, 10**400)),
        {"stats": [STAT | {"sum": 0.0}, STAT | {"sum": 1.0}]},
        # Of no answer.
        {"instance_id": "nobody"},
        {"train_trial_index": 5},
    ],
)
def test_damaged_scores_of_helm(changed: dict[str, Any], tmp_path: Path):
    folder = write_helm(tmp_path / "run")
    path = folder / "per_instance_stats.json"
    (entry,) = json.loads(path.read_bytes())
    path.write_text(json.dumps([entry | changed]), encoding="utf-8")
    assert refuse(folder).path == path


def test_why_a_completion_of_helm_ended(tmp_path: Path):
    """An object, as `clients/` of HELM make it; a text in its place is damage, not the lack of a reason."""
    ended = [{"text": "Let us see", "finish_reason": {"reason": "length"}}]
    (answer,) = read_logs([write_helm(tmp_path / "cut", result={"completions": ended})])
    assert answer.choice.reading == "cut"
    folder = write_helm(tmp_path / "text", result={"completions": [ended[0] | {"finish_reason": "length"}]})
    assert refuse(folder).path == folder / "scenario_state.json"
    folder = write_helm(tmp_path / "adapter")
    (folder / "run_spec.json").write_text('{"name": "n", "adapter_spec": "x"}')
    assert refuse(folder).path == folder / "run_spec.json"


@pytest.mark.skipif(sys.platform == "win32", reason="needs the pipes of POSIX systems")
def test_a_pipe_in_a_run_of_helm(tmp_path: Path):
    folder = write_helm(tmp_path / "run")
    (folder / "run_spec.json").unlink()
    os.mkfifo(folder / "run_spec.json")
    refuse(folder)


def test_a_question_whose_right_answer_is_no_option_is_no_wrong_answer(tmp_path: Path):
    folder = write_helm(tmp_path / "run", output_mapping={"A": "Aspirin", "B": "Sleep"})
    assert refuse(folder, "id7").path == folder
    path = write_lines(tmp_path / "samples_x.jsonl", [LM_EVAL | {"target": "-1"}])
    assert refuse(path).path == path


LM_EVAL = {"doc_id": 0, "doc": {"question": "?", "choices": ["x", "y"]}, "target": "1", "resps": [["B"]]} | {
    "filtered_resps": ["B"],
    "filter": "none",
}


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(LM_EVAL | {"doc_id": 1, "resps": {}}),
        json.dumps(LM_EVAL | {"doc_id": 1, "resps": []}),
        json.dumps(LM_EVAL | {"doc_id": 1, "resps": [[{"text": "B"}]]}),
        json.dumps(LM_EVAL | {"doc_id": 1, "resps": [[["-1", "False"]], [["x", "False"]]]}),
        json.dumps(LM_EVAL | {"doc_id": 1})[:-1] + ', "resps": [["A"]]}',
        json.dumps(LM_EVAL | {"doc_id": "\xe9"}, ensure_ascii=False),
        *(json.dumps(LM_EVAL | {"doc_id": 1, "metrics": metrics}) for metrics in (5, {"acc": 1}, [{"acc": 1}])),
        "{",
        "[" * 100_000,
    ],
    ids=lambda line: line[-60:],
)
def test_damaged_lines_of_the_harness(line: str, tmp_path: Path):
    path = tmp_path / "samples_x.jsonl"
    path.write_text(f"{json.dumps(LM_EVAL)}\n{line}\n", encoding="latin-1")
    error = refuse(path)
    assert (error.path, error.line) == (path, 2)


def test_what_the_harness_could_not_compute_is_no_score(tmp_path: Path):
    metrics = {"metrics": ["a", "b", "c"], "a": float("nan"), "b": 10**400, "c": True}
    (answer,) = read_logs([write_lines(tmp_path / "samples_x.jsonl", [LM_EVAL | metrics])])
    assert answer.scores == {"c": 1.0}
    unnamed = {key: value for key, value in LM_EVAL.items() if key != "filter"}
    assert len(read_logs([write_lines(tmp_path / "samples_y.jsonl", [unnamed, unnamed])])) == 1


def test_repeated_samples_of_the_harness(tmp_path: Path):
    first = LM_EVAL | {"metrics": ["acc"], "acc": float("nan")}
    assert len(read_logs([write_lines(tmp_path / "samples_x.jsonl", [first, LM_EVAL | {"doc_id": 1}, first])])) == 2
    path = write_lines(tmp_path / "samples_y.jsonl", [LM_EVAL, LM_EVAL | {"doc_id": 1}, LM_EVAL | {"resps": [["A"]]}])
    error = refuse(path)
    assert (error.path, error.line) == (path, 3)


@pytest.mark.parametrize(
    ("likelihoods", "label"),
    [
        (["-inf", "-2"], "B"),
        ([float("-inf"), -2.0], "B"),
        (["nan", "-2"], None),
        (["-inf", "-inf"], None),
        (["inf", "-2"], None),
    ],
)
def test_likelihoods_that_are_not_finite(likelihoods: list[Any], label: str | None, tmp_path: Path):
    record = LM_EVAL | {"resps": [[[number, "False"]] for number in likelihoods]}
    (answer,) = read_logs([write_lines(tmp_path / "samples_x.jsonl", [record])])
    assert (answer.choice.label, answer.choice.reading) == (label, "read" if label else "unread")
    assert answer.text is None


def test_thirty_likelihoods_without_options(tmp_path: Path):
    record = LM_EVAL | {
        "doc": {"question": "?"},
        "target": "29",
        "resps": [[[str(n - 30), "False"]] for n in range(30)],
    }
    (answer,) = read_logs([write_lines(tmp_path / "samples_x.jsonl", [record])])
    assert answer.right is True


ROW = {"id": 1, "system": "m", "options": ["x", "y"], "answer": "A", "response": "A"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (ROW | {"answer": "Z"}, "line 2"),
        (ROW | {"answer": ""}, "line 2"),
        (ROW | {"options": [{"label": "A", "text": "x"}, {"label": "a", "text": "y"}]}, "label 'a'"),
        (ROW | {"options": {"A": "x", "": "y"}}, "no label"),
        (ROW | {"options": {"A": "x", " ": "y"}}, "no label"),
        ({name: value for name, value in ROW.items() if name != "answer"}, "line 2: there is no column 'answer'"),
    ],
)
def test_bad_rows_of_a_table_are_named(row: dict[str, Any], problem: str, tmp_path: Path):
    refuse(write_lines(tmp_path / "a.jsonl", [ROW, row | {"id": 2}]), problem)


def test_what_is_no_log(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for name in ("none.jsonl", "empty"):
        assert refuse(tmp_path / name).path == tmp_path / name


def test_an_answer_that_is_there_twice(tmp_path: Path):
    with pytest.raises(InputError, match="m to '1'"):
        read_logs([write_lines(tmp_path / "a.jsonl", [ROW]), write_lines(tmp_path / "b.jsonl", [ROW])])
    runs = [ROW | {"run": 1}, ROW | {"run": 2}]
    assert len(read_logs([write_lines(tmp_path / "a.jsonl", runs)])) == 2


def test_a_run_of_helm_without_answers(tmp_path: Path):
    folder = write_helm(tmp_path / "run")
    (folder / "scenario_state.json").write_text('{"request_states": []}')
    (folder / "per_instance_stats.json").write_text("[]")
    assert refuse(folder).path == folder


CARE = {"op1": "tea", "op2": "rest", "op3": "ice", "op4": "heat"}
MED = {"opa": "tea", "opb": "rest", "opc": "ice", "opd": "heat"}


@pytest.mark.parametrize(
    ("options", "column", "places", "gold"),
    [
        # lm-evaluation-harness 0.4.13, tasks/careqa/utils.py: doc["cop"] - 1.
        (CARE, "cop", [1, 2, 3], "ABC"),
        (CARE, "cop", [4], "D"),
        # github.com/medmcqa/medmcqa, README: "cop": 1 is opa.
        (MED, "cop", [1, 4, 2], "ADB"),
        # openlifescienceai/medmcqa; lm-evaluation-harness, tasks/medmcqa/medmcqa.yaml: doc_to_target: cop.
        (MED, "cop", [0, 3, 1], "ADB"),
        # pandas writes 2.0 in a column of whole numbers that had gaps.
        (CARE, "cop", [2.0, 4.0], "BD"),
        (MED, "cop", [1.0, 4.0, 2.0], "ADB"),
        (MED, "cop", ["0.0", "3.0"], "AD"),
        (MED, "answer", ["0", "1"], "AB"),
        (CARE, "answer", ["4", "1"], "DA"),
        (CARE, "answer", ["C", "rest"], "CB"),
        # Numbers as options: `cop` is a place, `answer` a text.
        ({"options": {"1": "3", "2": "5"}}, "answer", [2.0, "1.0", 2], "212"),
        ({"options": ["2", "4", "6"]}, "answer", [2.0, 4.0, 6], "ABC"),
        ({"options": ["2.0", "4.0", "6.0"]}, "answer", ["2.0", 6.0], "AC"),
        ({"op1": "3", "op2": "1", "op3": "2", "op4": "0"}, "cop", [3, 1], "CA"),
        ({"op1": "3", "op2": "1", "op3": "2", "op4": "0"}, "answer", [3, 1], "AB"),
    ],
)
def test_places_count_as_their_data_set_does(
    options: dict[str, str], column: str, places: list[Any], gold: str, tmp_path: Path
):
    rows = [{"id": n, "system": "m", **options, column: place, "response": "A"} for n, place in enumerate(places)]
    found = read_logs([write_lines(tmp_path / "t.jsonl", rows)])
    assert [answer.gold for answer in found] == [frozenset(label) for label in gold]


@pytest.mark.parametrize(("options", "column"), [(MED, "cop"), (MED, "answer"), (CARE, "gold")])
def test_places_that_may_count_from_0_or_1_are_refused(options: dict[str, str], column: str, tmp_path: Path):
    rows = [{"id": n, "system": "m", **options, column: n, "response": "A"} for n in (1, 2)]
    refuse(write_lines(tmp_path / "t.jsonl", rows), "from 0 or from 1.*column `answer`")


@pytest.mark.parametrize(
    ("golds", "labels"),
    [
        (["yes"] * 3, ("no", "yes")),
        (["Yes"], ("No", "Yes")),
        (["maybe", "yes"], ("maybe", "no", "yes")),
        (["False"], ("False", "True")),
        (["yes", "maybe", "no"], ("maybe", "no", "yes")),
        (["aspirin"], ()),
        ([], ()),
    ],
)
def test_labels_of_which_the_sample_has_one_only(golds: list[str], labels: tuple[str, ...], tmp_path: Path):
    assert infer_labels(golds) == labels
    if labels:
        rows = [sample(n, {"question": "?"}, gold, [["no" if "no" in labels else "x"]]) for n, gold in enumerate(golds)]
        found = read_logs([write_lines(tmp_path / "samples_t_2026-01-01T00-00-00.jsonl", rows)])
        assert {answer.labels for answer in found} == {labels}
        if "no" in labels:
            assert {answer.choice.reading for answer in found} == {"read"}


def test_targets_of_the_harness_with_several_right_options(tmp_path: Path):
    options = {"A": "tea", "B": "rest", "C": "ice", "D": "heat"}
    doc = {"question": "?", "options": options}
    rows = [sample(n, doc, "ABD", [[text]]) for n, text in enumerate(("ABD", "A, B and D", "AB", "I cannot say."))]
    found = read_logs([write_lines(tmp_path / "samples_cmb_2026-01-01T00-00-00.jsonl", rows)])
    assert [answer.right for answer in found] == [True, True, False, None]
    assert {answer.gold for answer in found} == {frozenset("ABD")}
