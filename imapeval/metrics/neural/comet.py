"""COMET (Rei et al. 2020 and 2022): a regression on the vectors of question, response and reference.

The layers of XLM-RoBERTa are combined by learnt weights and averaged over the tokens. A feed-forward network maps the
vectors of response, reference and question, their products and differences to a number, about 0 to 1 with the default
model. COMET was made for translations; the question takes the place of the source text.

The checkpoint is the authors': a folder with `hparams.yaml` and `checkpoints/model.ckpt`. Only models of the class
"regression_metric" are supported, such as wmt22-comet-da and wmt20-comet-da. The computation is that of the package
unbabel-comet 2.2.7.

- An empty text, which has special tokens only, is scored like any other.
- Only the first 510 tokens of a text count: part "truncated".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.errors import ResourceError
from imapeval.metrics.base import option, require_prepared, resource
from imapeval.metrics.neural.base import NeuralMetric, make_outcome
from imapeval.metrics.neural.models.checkpoints import (
    EncoderWithHead,
    build_encoder,
    describe_missing_config,
    get_shared,
    identify_config,
    load_config,
    load_tensors,
    read_state,
    select_by_prefix,
)
from imapeval.metrics.neural.models.inputs import run_in_batches, tokenize_texts
from imapeval.metrics.neural.models.loading import choose_device
from imapeval.metrics.neural.models.weights import (
    EXTRA,
    describe_missing_weights,
    fetch_weights,
    identify_weights,
    import_packages,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_MODEL_CLASS = "regression_metric"

_POOLS = ("avg", "max", "cls", "default")

_EPSILON = 1e-12
"""Added to the variance in layer normalisation, as in comet/modules/layerwise_attention.py."""


@dataclass(frozen=True, slots=True)
class Comet(NeuralMetric):
    """COMET: a predicted rating, unbounded."""

    name = "comet"
    summary = "COMET: a regression with the question as the source"
    formula = (
        "a feed-forward network on the XLM-RoBERTa vectors of question, response and reference, their products and "
        "differences, trained on ratings of translations"
    )
    citation = "Rei et al. 2022, COMET-22: Unbabel-IST 2022 Submission for the Metrics Shared Task"

    model: str = option("folder with hparams.yaml and checkpoints/model.ckpt, or a hub name", "Unbabel/wmt22-comet-da")
    encoder: str = option(
        "folder or hub name with the configuration and vocabulary of the encoder; empty: as hparams.yaml says", ""
    )
    network: EncoderWithHead | None = resource()

    @property
    def missing_requirements(self) -> str:
        if lack := describe_missing_weights(self.name, self.model):
            return lack
        try:
            # The weights are here, so that nothing is fetched.
            encoder = self.encoder or str(_read_settings(fetch_weights(self.model))["pretrained_model"])
        except ResourceError as error:
            return str(error)
        return describe_missing_config(self.name, encoder)

    def get_signed(self) -> Comet:
        if self.network is None:
            return self
        return replace(self, model=self.identity, encoder=self.network.settings["encoder"])

    def prepare(self, resources: MetricResources) -> Comet:
        """Return it with its model; see `Metric.prepare`.

        Raises:
            ResourceError: Also if the checkpoint is of another class of COMET models.
        """
        device = choose_device(resources.device)
        folder = fetch_weights(self.model)
        settings = _read_settings(folder)
        encoder = self.encoder or str(settings["pretrained_model"])
        key = ("comet", str(folder.resolve()), encoder, device)
        network = get_shared(key, lambda: _load(folder, settings, encoder, device))
        return replace(
            self, network=network, identity=identify_weights(self.model), precision=network.encoder.precision
        )

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        network = require_prepared(self.network, self.name)
        texts = list(dict.fromkeys(text for case in cases for text in (case.question, case.response, case.reference)))
        rows = tokenize_texts(network.encoder, texts, longest=network.encoder.max_tokens)
        positions = {text: position for position, text in enumerate(texts)}
        values = _estimate(
            network,
            run_in_batches(
                network.encoder,
                rows,
                lambda batch: _pool_text_vector(network, batch),
                budget=network.encoder.batch_tokens,
            ),
            source=[positions[case.question] for case in cases],
            response=[positions[case.response] for case in cases],
            reference=[positions[case.reference] for case in cases],
        )
        for case, value in zip(cases, values, strict=True):
            read = (case.question, case.response, case.reference)
            yield make_outcome(value, {}, truncated=any(rows[positions[text]].truncated for text in read))


def build() -> list[Comet]:
    """Return the metrics of this module, for the registry."""
    return [Comet()]


def _pool_text_vector(network: EncoderWithHead, batch: dict[str, Any]) -> Any:
    """Return a vector for each text."""
    torch = _import_torch()
    states = network.encoder.model(**batch, output_hidden_states=True).hidden_states
    pool = network.settings["pool"]
    if pool == "default":
        return states[-1][:, 0]
    mask = batch["attention_mask"].float()
    layer = network.settings["layer"]
    mixed = _mix_layers(torch, network, states, mask) if layer == "mix" else states[layer].float()
    if pool == "cls":
        return mixed[:, 0]
    padding = batch["input_ids"].eq(network.encoder.tokenizer.pad_token_id).unsqueeze(-1)
    if pool == "max":
        return mixed.masked_fill(padding, float("-inf")).amax(1)
    return mixed.masked_fill(padding, 0.0).sum(1) / mask.sum(1, keepdim=True)


def _mix_layers(torch: Any, network: EncoderWithHead, states: Sequence[Any], mask: Any) -> Any:
    shares, wide = network.head["shares"], mask.unsqueeze(-1)
    mixed: Any = 0.0
    for share_of_layer, state in zip(shares, states, strict=True):
        layer = state.float()
        if network.settings["layer_norm"]:
            # Over all numbers of a text at once, not of each token.
            count = mask.sum(1) * layer.shape[-1]
            mean = ((layer * wide).flatten(1).sum(1) / count).view(-1, 1, 1)
            variance = (((layer - mean) * wide) ** 2).flatten(1).sum(1) / count
            layer = (layer - mean) / torch.sqrt(variance + _EPSILON).view(-1, 1, 1)
        mixed = mixed + share_of_layer * layer
    return network.head["gamma"] * mixed


def _estimate(
    network: EncoderWithHead, vectors: Any, *, source: list[int], response: list[int], reference: list[int]
) -> list[float]:
    hyp, ref, src = vectors[response], vectors[reference], vectors[source]
    features = [hyp, ref, hyp * ref, (hyp - ref).abs(), hyp * src, (hyp - src).abs()]
    torch = _import_torch()
    with torch.inference_mode():
        return network.head["estimator"](torch.cat(features, 1)).view(-1).tolist()


def _load(folder: Path, settings: Mapping[str, Any], encoder: str, device: str) -> EncoderWithHead:
    torch = _import_torch()
    file = _find_checkpoint(folder)
    config, tokenizer = load_config(encoder)
    state = read_state(file)
    loaded = build_encoder(
        "XLMRobertaModel",
        config,
        select_by_prefix(state, "encoder.model."),
        tokenizer=tokenizer,
        device=device,
        # comet/encoders: max_positions is two less than the configuration says, a text has two less than that.
        longest=config.max_position_embeddings - 4,
        source=str(file),
    )
    # The few numbers of the head stay on the processor, in single precision.
    head: dict[str, Any] = {
        "estimator": load_tensors(
            _build_estimator(torch, settings, config), select_by_prefix(state, "estimator.ff."), source=str(file)
        )
    }
    if settings["layer"] == "mix":
        learnt = select_by_prefix(state, "layerwise_attention.")
        try:
            raw = torch.cat([learnt[f"scalar_parameters.{layer}"] for layer in range(config.num_hidden_layers + 1)])
            gamma = learnt["gamma"]
        except KeyError as error:
            raise ResourceError(f"the weights in {file} lack the part layerwise_attention.{error.args[0]}") from error
        shares = _sparsemax(torch, raw) if settings["layer_transformation"] == "sparsemax" else raw.softmax(0)
        head |= {"shares": shares.tolist(), "gamma": float(gamma)}
    return EncoderWithHead(loaded, head, {**settings, "encoder": identify_config(encoder)})


def _build_estimator(torch: Any, settings: Mapping[str, Any], config: Any) -> Any:
    """Return the network of comet/modules/feedforward.py, whose layer numbers include dropout."""
    sizes = [config.hidden_size * 6, *settings["hidden_sizes"]]
    layers: list[Any] = []
    for wide, narrow in pairwise(sizes):
        layers += [torch.nn.Linear(wide, narrow), _activation(torch, settings["activations"]), torch.nn.Identity()]
    layers.append(torch.nn.Linear(sizes[-1], 1))
    if settings["final_activation"]:
        layers.append(_activation(torch, settings["final_activation"]))
    return torch.nn.Sequential(*layers)


def _activation(torch: Any, name: str) -> Any:
    activation = getattr(torch.nn, name.title(), None)
    if activation is None:
        raise ResourceError(f"hparams.yaml names the activation {name!r}, which torch does not have.")
    return activation()


def _sparsemax(torch: Any, scores: Any) -> Any:
    """Return the point of the probability simplex nearest to the scores: sparsemax (Martins and Astudillo 2016)."""
    ordered = scores.sort(descending=True).values
    above = ordered.cumsum(0) - 1
    ranks = torch.arange(1, len(scores) + 1)
    support = int((ranks * ordered > above).sum())
    return (scores - above[support - 1] / support).clamp(min=0)


def _find_checkpoint(folder: Path) -> Path:
    files = sorted((folder / "checkpoints").glob("*.ckpt"))
    if len(files) != 1:
        raise ResourceError(f"{folder} holds {len(files)} files checkpoints/*.ckpt; give a folder with one.")
    return files[0]


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the network in hparams.yaml.

    Raises:
        ResourceError: The file is missing or incomplete, or its model is not supported.
    """
    file = folder / "hparams.yaml"
    yaml = require("yaml", distribution="PyYAML", extra=EXTRA, needed_for="comet")
    try:
        read: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        wanted = ("class_identifier", "encoder_model", "pretrained_model", "pool", "layer", "layer_transformation")
        settings = {name: read[name] for name in (*wanted, "layer_norm", "hidden_sizes", "activations")}
    # PyYAML raises ValueError for dates and numbers that Python cannot hold.
    except (OSError, ValueError, RecursionError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ResourceError(
            f"{file} does not say how COMET's network is built ({error}). Give the folder that the authors' checkpoint "
            "came in, with hparams.yaml and checkpoints/model.ckpt."
        ) from error
    settings["final_activation"] = read.get("final_activation")
    known = {"class_identifier": (_MODEL_CLASS,), "encoder_model": ("XLM-RoBERTa",), "pool": _POOLS}
    for name, values in known.items():
        if settings[name] not in values:
            raise ResourceError(f"{file}: {name} is {settings[name]!r}; supported: {', '.join(values)}.")
    return settings


def _import_torch() -> Any:
    return import_packages("torch", needed_for="comet")[0]
