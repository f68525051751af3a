"""Writes likelihood.json: what lm-evaluation-harness says of the shipped samples with a small model.

In an environment of its own, from the repository's root:

    pip install lm_eval==0.4.13 torch==2.13.0 transformers==5.23.0 accelerate pytest . && python THIS_FILE

The model is that of tests/metrics/likelihood/conftest.py. Recorded are, for 50 samples a language, the log-likelihood
of the response after the question (`loglikelihood`), and by itself in windows of 64 tokens (`loglikelihood_rolling`).
Responses, because 50 samples have fewer references.
"""

import json
import runpy
import tempfile
from pathlib import Path

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

HERE = Path(__file__).parent
FORMS = {"en": ("Question: {}\nAnswer:", " {}"), "zh": ("问题：{}\n回答：", "{}")}


def main() -> None:
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        runpy.run_path(str(HERE.parent / "likelihood" / "conftest.py"))["save_tiny_causal"](Path(folder))
        whole = HFLM(pretrained=folder, device="cpu")
        # It puts the token that begins texts before each by itself.
        windows = HFLM(pretrained=folder, device="cpu", max_length=64, add_bos_token=False)
        for lang, (form, answer) in FORMS.items():
            lines = Path(f"datasets/sample-{lang}.jsonl").read_text(encoding="utf-8").splitlines()
            samples = [json.loads(line) for line in lines[:50]]
            pairs = [(form.format(one["question"]), answer.format(one["response"])) for one in samples]
            found[lang] = {
                "after": [value for value, _ in whole.loglikelihood([ask("loglikelihood", pair) for pair in pairs])],
                "alone": windows.loglikelihood_rolling(
                    [ask("loglikelihood_rolling", (one["response"],)) for one in samples]
                ),
            }
    (HERE / "likelihood.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def ask(kind: str, arguments: tuple[str, ...]) -> Instance:
    return Instance(request_type=kind, doc={}, arguments=arguments, idx=0)


if __name__ == "__main__":
    main()
