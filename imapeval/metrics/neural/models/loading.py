"""Neural models, loaded once and shared by all metrics that use them.

Weights are in half precision on a GPU and in single precision on the CPU. This changes the third or fourth digit of a
score, so the precision is part of a metric's signature (`LoadedModel.precision`).
"""

from __future__ import annotations

import copy
import pickle
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from imapeval.errors import ResourceError, UsageError
from imapeval.metrics.neural.models.sharing import SharedObjects
from imapeval.metrics.neural.models.weights import fetch_weights, first_line, import_packages

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from imapeval.metrics.base import Device

Kind = Literal["encoder", "seq2seq", "causal", "classifier"]
"""Kind of model: token vectors; text to text; next token; label."""

_CLASSES: dict[Kind, str] = {
    "encoder": "AutoModel",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
}

_NO_LIMIT = 1_000_000
"""From here on a maximum length means none: transformers uses 1e30 if the tokenizer does not know it."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class LoadedModel:
    """A model with its tokenizer.

    Attributes:
        tokenizer: Tokenizer from transformers, with a padding token.
        model: Model from transformers, in evaluation mode, on the device.
        device: "cpu", "cuda" or "mps".
        max_tokens: Maximum number of tokens per text, special ones included.
    """

    tokenizer: Any
    model: Any
    device: str
    max_tokens: int

    @property
    def precision(self) -> str:
        """Data type of the weights, such as "float32", for the signature."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def batch_tokens(self) -> int:
        """Number of tokens per batch, padding included (`batch_by_length`).

        On a CPU, 1,024 to 4,096 are equally fast in one thread, and 8,192 a quarter slower; two threads on a busy
        machine wait for each other less in larger batches (MiniLM, 128 answers: 9.7 s of CPU time with 2,048, 7.6 with
        4,096, 6.9 with 8,192). With 4,096 tokens the largest tensor of a model with 1,024 dimensions has 67 MB
        (feed-forward layer, single precision). A GPU needs more: 32,768 tokens are 268 MB (half precision). Outputs
        over the vocabulary are not included.
        """
        return 4_096 if self.device == "cpu" else 32_768


def choose_device(device: Device) -> str:
    """Return the device of the weights: for "auto" a GPU if there is one.

    Raises:
        MissingExtraError: torch is not installed.
        UsageError: There is no such device.
    """
    [torch] = import_packages("torch", needed_for="a neural metric")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, is_there in there.items() if is_there)
    if not there[device]:
        available = ", ".join(name for name, is_there in there.items() if is_there)
        raise UsageError(f"no device {device!r} here, or torch was installed without it. Available: {available}.")
    return device


def load_model(model: str, kind: Kind, *, device: Device = "auto") -> LoadedModel:
    """Return a model, a folder or a hub name, with its tokenizer; the same object as long as it is in use.

    It is downloaded if necessary.

    Raises:
        MissingExtraError: The packages of the extra `neural` are not installed.
        UsageError: There is no such device.
        ResourceError: The weights are not available, are damaged, or are of another kind of model.
    """
    path = fetch_weights(model)
    where = choose_device(device)
    return _shared.get((str(path.resolve()), kind, where), lambda: _load(model, path, kind, where))


def keep_layers(loaded: LoadedModel, layers: int) -> LoadedModel:
    """Return an encoder with its first layers only, 0..all; it shares the weights of the whole one.

    Raises:
        ValueError: It has fewer layers.
        ResourceError: The layers of this kind of encoder cannot be removed.
    """
    total = int(loaded.model.config.num_hidden_layers)
    if not 0 <= layers <= total:
        raise ValueError(f"there is no layer {layers}: the model has {total}")
    if layers == total:
        return loaded
    tensors = [*loaded.model.parameters(), *loaded.model.buffers()]
    # With the tensors in the memo deepcopy makes new modules around the same tensors.
    model = copy.deepcopy(loaded.model, {id(tensor): tensor for tensor in tensors})
    stacks = [
        (module, name)
        for module in model.modules()
        for name, child in module.named_children()
        if type(child).__name__ == "ModuleList" and len(child) == total
    ]
    # ALBERT has one layer that is used again and again, as often as its configuration says.
    if len(stacks) > 1 or (not stacks and model.config.model_type != "albert"):
        raise ResourceError(
            f"the layers of a model of type {model.config.model_type!r} cannot be chosen; use the last one."
        )
    for module, name in stacks:
        setattr(module, name, getattr(module, name)[:layers])
    model.config.num_hidden_layers = layers
    return replace(loaded, model=model)


_shared = SharedObjects[tuple[str, Kind, str], LoadedModel]()


def _load(model: str, path: Path, kind: Kind, device: str) -> LoadedModel:
    torch, transformers, safetensors = import_packages(
        "torch", "transformers", "safetensors", needed_for=f"the model {model!r}"
    )
    if path.is_file():
        raise ResourceError(f"{path} is a single file. The model {model!r} has to be a folder, with its configuration.")
    try:
        with _silence_transformers(transformers.utils.logging):
            config = transformers.AutoConfig.from_pretrained(path)
            tokenizer = transformers.AutoTokenizer.from_pretrained(path)
            network, report = getattr(transformers, _CLASSES[kind]).from_pretrained(
                path, dtype=_choose_dtype(config, device, torch), output_loading_info=True
            )
            if kind == "encoder" and network.config.is_encoder_decoder:
                network = network.get_encoder()
            network = network.to(device).eval()
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        ImportError,
        pickle.UnpicklingError,
        safetensors.SafetensorError,
    ) as error:
        # The whole message can run over pages, because it lists every model type.
        raise ResourceError(f"the model {model!r} in {path} cannot be loaded as {kind}: {first_line(error)}") from error
    # transformers initialises missing weights with random numbers, and only logs it. Encoders are used without pooler
    # here.
    missing = sorted(key for key in report["missing_keys"] if not (kind == "encoder" and key.startswith("pooler.")))
    if missing:
        raise ResourceError(
            f"the weights of {model!r} lack {len(missing)} parts of a model of the kind {kind!r}, such as "
            f"{missing[0]}. They are of another kind of model, or damaged."
        )
    if tokenizer.pad_token_id is None:
        # Of models that only continue texts. Padding is masked, so that any token will do.
        tokenizer.pad_token = tokenizer.eos_token
    return LoadedModel(tokenizer, network, device, _find_max_tokens(model, tokenizer, network))


def _choose_dtype(config: Any, device: str, torch: Any) -> Any:
    if device == "cpu":
        return torch.float32
    # T5 overflows in float16 (huggingface/transformers, issue 4586); what was trained in bfloat16 may.
    wide = config.model_type in ("t5", "mt5", "umt5") or config.dtype == torch.bfloat16
    return torch.bfloat16 if wide else torch.float16


def _find_max_tokens(model: str, tokenizer: Any, network: Any) -> int:
    config = network.config
    limits = [tokenizer.model_max_length, getattr(config, "max_position_embeddings", None) or _NO_LIMIT]
    limits.append(getattr(config, "n_positions", None) or _NO_LIMIT)
    for name, module in network.named_modules():
        # RoBERTa and its kin count positions from the padding token's index + 1.
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    if min(limits) >= _NO_LIMIT:
        raise ResourceError(
            f"the model {model!r} does not say how long a text may be. Write model_max_length into its "
            "tokenizer_config.json."
        )
    return int(min(limits))


@contextmanager
def _silence_transformers(logging: Any) -> Generator[None]:
    """Silence warnings of transformers about what is checked here, and its progress bars."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
