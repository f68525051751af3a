"""Make learned.json: what the authors' own programs say of our own sample answers, with the models of small_models.py.

    pip install torch==2.13.0 transformers==4.57.6 unbabel-comet==2.2.7 nltk==3.10.4 'setuptools<81' scikit-learn
    pip install --no-deps bleurt-pytorch==0.0.1 alignscore-SpeedOfMagic==0.1.4
    pip install protobuf==7.36.2
    python tests/metrics/expected/make_learned.py REFERENCES FLAN

REFERENCES is a folder with what is not on PyPI: bart_score.py of github.com/neulab/BARTScore (commit 40c658f), and
utils.py, metric/scorer.py and metric/evaluator.py of github.com/maszhongming/UniEval (commits 9d9b51d and 37bd629).
FLAN is the folder that benchmarks/flan_t5_to_hf.py makes. Entailment has no program of its own; its numbers are those
of the pipeline "text-classification" of transformers.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import small_models

HERE = Path(__file__).parent


def pick(rows: list[dict[str, str]], name: str) -> list[str]:
    return [row[name] for row in rows]


def ask_bartscore(folder: Path, rows: list[dict[str, str]], **settings: Any) -> dict[str, list[float]]:
    import bart_score
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    # The program names BART's classes; the same calls on those of any model.
    bart_score.BartTokenizer, bart_score.BartForConditionalGeneration = AutoTokenizer, AutoModelForSeq2SeqLM
    scorer = bart_score.BARTScorer(device="cpu", checkpoint=str(folder), **settings)
    references, responses = pick(rows, "reference"), pick(rows, "response")
    return {"precision": scorer.score(references, responses), "recall": scorer.score(responses, references)}


def ask_unieval(folder: Path, rows: list[dict[str, str]]) -> dict[str, list[float]]:
    from metric.evaluator import SumEvaluator
    from metric.scorer import UniEvaluator

    evaluator: Any = SumEvaluator.__new__(SumEvaluator)
    evaluator.scorer = UniEvaluator(str(small_models.save_t5(folder)), device="cpu")
    evaluator.task, evaluator.dimensions = "summarization", ["coherence", "consistency", "fluency", "relevance"]
    data = [
        {"source": row["reference"], "reference": row["reference"], "system_output": row["response"]} for row in rows
    ]
    told = evaluator.evaluate(data)
    return {dimension: [float(row[dimension]) for row in told] for dimension in (*evaluator.dimensions, "overall")}


def ask_alignscore(folder: Path, rows: list[dict[str, str]]) -> list[float]:
    # Imported by the package for another mode, and for training.
    sys.modules["spacy"] = types.SimpleNamespace(load=lambda name: None)  # type: ignore[assignment]
    from alignscore.alignscore import AlignScore

    checkpoint, encoder = small_models.save_alignscore(folder)
    # One pair a batch: where one sentence of a batch is too long, the package cuts the others of the batch otherwise.
    scorer = AlignScore(str(encoder), batch_size=1, device="cpu", ckpt_path=str(checkpoint), verbose=False)
    return scorer.score(contexts=pick(rows, "reference"), claims=pick(rows, "response"))


def ask_entailment(folder: Path, rows: list[dict[str, str]]) -> dict[str, list[list[float]]]:
    from transformers import pipeline

    classify = pipeline("text-classification", model=str(small_models.save_nli(folder)), device="cpu", top_k=None)

    def tell(premise: str, hypothesis: str) -> list[float]:
        said = classify({"text": premise, "text_pair": hypothesis}, truncation=True, max_length=1024)
        scores = {entry["label"]: entry["score"] for entry in said}
        return [scores[label] for label in ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")]

    return {
        "precision": [tell(row["reference"], row["response"]) for row in rows],
        "recall": [tell(row["response"], row["reference"]) for row in rows],
    }


def ask_comet(folder: Path, rows: list[dict[str, str]], **settings: Any) -> list[float]:
    from comet import load_from_checkpoint

    place, _ = small_models.save_comet(folder, **settings)
    model = load_from_checkpoint(str(place / "checkpoints" / "model.ckpt"), strict=True)
    data = [{"src": row["question"], "mt": row["response"], "ref": row["reference"]} for row in rows]
    return [float(score) for score in model.predict(data, batch_size=8, gpus=0, progress_bar=False).scores]


def ask_bleurt(folder: Path, rows: list[dict[str, str]]) -> list[float]:
    import torch
    from bleurt_pytorch import BleurtForSequenceClassification, BleurtTokenizer

    small_models.save_bleurt(folder)
    model = BleurtForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = BleurtTokenizer.from_pretrained(folder)
    texts = pick(rows, "reference"), pick(rows, "response")
    inputs = tokenizer(*texts, padding="longest", truncation="longest_first", max_length=512, return_tensors="pt")
    with torch.no_grad():
        return model(**inputs).logits.flatten().tolist()


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    room = Path(tempfile.mkdtemp())

    def make(name: str) -> Path:
        (room / name).mkdir()
        return room / name

    os.environ["NLTK_DATA"] = str(small_models.save_punkt(make("nltk")))
    english, chinese = small_models.read_answers("en"), small_models.read_answers("zh")
    told = {
        "bartscore": {"en": ask_bartscore(small_models.save_bart(make("bart")), english)},
        "bartscore-flan": {"en": ask_bartscore(Path(sys.argv[2]), english, max_length=512)},
        "unieval": {"en": ask_unieval(make("t5"), english)},
        "alignscore": {"en": ask_alignscore(make("align"), english)},
        "entailment": {"en": ask_entailment(make("nli"), english)},
        "comet": {"en": ask_comet(room / "comet-en", english), "zh": ask_comet(room / "comet-zh", chinese)},
        "comet-norm": {"en": ask_comet(room / "comet-norm", english, layer_norm=True, layer_transformation="softmax")},
        "comet-layer": {"en": ask_comet(room / "comet-layer", english, layer=2, pool="max")},
        "bleurt": {"en": ask_bleurt(make("bleurt-en"), english), "zh": ask_bleurt(make("bleurt-zh"), chinese)},
    }

    def trim(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: trim(item) for name, item in value.items()}
        return [trim(item) for item in value] if isinstance(value, list) else round(value, 7)

    lines = ",\n".join(f'"{name}": {json.dumps(trim(value))}' for name, value in told.items())
    (HERE / "learned.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
