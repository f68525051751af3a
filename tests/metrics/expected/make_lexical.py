"""Make lexical.json, what other packages say of our own sample answers: `python make_lexical.py`, here.

    pip install rouge-metric==1.0.1 torchmetrics==1.9.0 torch==2.13.0 rouge-score==0.1.2

ROUGE is rouge-metric's (its Python port of ROUGE-1.5.5), on tokens that are given to it: English ones by rouge-score,
Chinese ones by the rule below, which is written anew here. Exact match and token F1 are torchmetrics' SQuAD; Chinese
answers with a token that SQuAD takes for an article have none.
"""

from __future__ import annotations

import json
import unicodedata
from itertools import islice
from pathlib import Path

from rouge_metric import PyRouge
from rouge_score.tokenizers import DefaultTokenizer
from torchmetrics.functional.text import squad

HERE = Path(__file__).parent
DATASETS = HERE.parents[2] / "datasets"
ANSWERS = 60


def split_chinese(text: str) -> list[str]:
    """Return each CJK character, and runs of other letters and digits."""
    spaced = "".join(
        f" {character} " if unicodedata.name(character, "").startswith("CJK") and character.isalnum() else character
        for character in text.lower()
    )
    return "".join(character if character.isalnum() else " " for character in spaced).split()


def measure(row: dict[str, str]) -> dict[str, float]:
    """Return the other packages' scores of one answer."""
    english = row["lang"] == "en"
    split = DefaultTokenizer(use_stemmer=True).tokenize if english else split_chinese
    reference, response = split(row["reference"]), split(row["response"])
    rouge = PyRouge(rouge_n=(1, 2), rouge_l=True, rouge_s=True, skip_gap=4).evaluate_tokenized(
        [[response]], [[[reference]]]
    )
    scores = {
        f"rouge{key}": rouge[f"rouge-{name}"]["f"] for key, name in zip("12LS", ("1", "2", "l", "s4"), strict=True)
    }
    if english or not {"a", "an", "the"} & {*reference, *response}:
        texts = (row["reference"], row["response"]) if english else (" ".join(reference), " ".join(response))
        found = squad(
            [{"prediction_text": texts[1], "id": "1"}],
            [{"answers": {"answer_start": [0], "text": [texts[0]]}, "id": "1"}],
        )
        scores["exact-match"], scores["token-f1"] = (float(found[name]) / 100 for name in ("exact_match", "f1"))
    return {name: round(value, 9) for name, value in scores.items()}


def main() -> None:
    """Score the first answers of both languages and write them."""
    made: dict[str, dict[str, float]] = {}
    for name in ("sample-en.jsonl", "sample-zh.jsonl"):
        with (DATASETS / name).open(encoding="utf-8") as lines:
            made |= {row["id"]: measure(row) for row in map(json.loads, islice(lines, ANSWERS))}
    rows = ",\n".join(f"{json.dumps(id_)}: {json.dumps(scores)}" for id_, scores in made.items())
    (HERE / "lexical.json").write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
