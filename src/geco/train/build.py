"""From a configuration to what is trained: the network, its device, the seeds of everything random."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from geco.data import load_dataset
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset, Info
from geco.data.encodings import encode
from geco.data.encodings.laplacian import LaplacianEigenvectors
from geco.data.encodings.registry import parse
from geco.data.encodings.structure_order import StructureOrder
from geco.data.registry import DATASETS, EMBEDDED
from geco.errors import UsageError
from geco.names import BASELINES, LOCALS, MIXERS
from geco.nn.conv import GECOConv, GECOLayer
from geco.nn.gps.layer import GPSLayer
from geco.nn.gps.local import EDGE_LAYERS, degree_histogram
from geco.nn.gps.stack import HybridStack
from geco.nn.model import GECO
from geco.nn.network.encoders import Features
from geco.nn.network.inputs import NodeEncoder
from geco.nn.network.network import Network
from geco.nn.network.scaling import uneven
from geco.nn.resolve import keywords
from geco.train.config import Config
from geco.train.settings import Choice, FilterName, ModelConfig
from geco.train.targets import targets

__all__ = ["FEW", "build", "chosen", "columns", "device_of", "encoded", "prepared", "seed_of"]

OTHERWISE = ("block_norm", "dropout", "filter")  # settings that are not always what an argument so called is
FEW = 1000  # labels of one graph below which validation preferred no global block, on Cora (140) and Pubmed (60)


def device_of(config: Config) -> torch.device:
    """Return the device a run uses, or refuse one that this machine does not have."""
    if config.train.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(config.train.device)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        have = "cpu, cuda" if torch.cuda.is_available() else "cpu"
        raise UsageError(f"--train.device {config.train.device} cannot be used here; there is {have}") from error
    return device


def seed_of(*key: int) -> int:
    """Return a seed that depends on every number of the key and on nothing else."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 1


def prepared(config: Config, data_dir: str | Path | None = None, offline: bool = False) -> GraphDataset:
    """Return the data set of a configuration with its encodings, from the cache if they were made before."""
    return encoded(load_dataset.load(config.data.name, data_dir, offline=offline), config)


def encoded(dataset: GraphDataset, config: Config, cache: Cache | None = None) -> GraphDataset:
    """Return a data set with the encodings of a configuration, and with the places of nodes if its order is
    structure; they are kept in the cache.
    """
    recipes = [parse(text) for text in config.data.encodings]
    order = keywords(_body(config.model.name), {"permutation": chosen(config, dataset).model.permutation})
    if order == {"permutation": "structure"}:
        recipes.append(StructureOrder(rule=config.model.structure_version))
    return encode(dataset, recipes, cache) if recipes else dataset


def chosen(config: Config, dataset: GraphDataset) -> Config:
    """Return a configuration with ``auto`` replaced by what is known to suit the data before any training.

    Many graphs: windows over the order made from each graph, where distance means the same in all of them. One graph:
    no order of its nodes was found to mean anything, so filters stay the mean, which no order changes; and there is no
    global block where fewer than `FEW` labels teach it (docs/design-notes.md). Values are standardised, and so are
    columns of a user's own data that differ in size.
    """
    m, many = config.model, len(dataset) > 1 and config.model.name in ("geco", "hybrid")
    order: Choice = "natural" if m.name == "hyena" else "structure" if many else "static"  # Hyena: as published
    filter: FilterName = m.filter
    if filter == "auto":
        few = len(dataset) == 1 and m.name == "geco" and len(dataset.split(config.data.split).train) < FEW
        filter = "windows" if many else "none" if few else "mean"
    order = order if m.permutation == "auto" else m.permutation
    m = replace(m, edges=_edges(m, dataset), scaling=_scaling(config, dataset), targets=_learnt(m, dataset.info))
    model = replace(m, filter=filter, permutation=order)
    return replace(config, model=model)


def _edges(model: ModelConfig, dataset: GraphDataset) -> Literal["used", "partly"]:
    """Return what auto means: partly where that is all there is, as runs begun before had it."""
    if model.edges != "auto":
        return model.edges
    given = {"edge_weight", "edge_attr"} & {key.removeprefix("edge/") for key in dataset.arrays}
    hybrid = model.name == "hybrid" and model.local in EDGE_LAYERS
    before = {"edge_attr"} if hybrid else {"edge_weight"} if model.name == "geco" and not model.diffusion else set()
    return "partly" if given <= before else "used"


def _learnt(model: ModelConfig, info: Info) -> Literal["standardised", "raw"]:
    return "standardised" if info.target == "values" and info.level != "link" and model.targets != "raw" else "raw"


def _scaling(config: Config, dataset: GraphDataset) -> Literal["robust", "none"]:
    """Return what auto means: scaled are columns of data that nobody published a treatment of, where they need it."""
    m, info = config.model, dataset.info
    if m.scaling != "auto":
        return m.scaling
    if m.standardise or info.name in DATASETS or info.name in EMBEDDED:
        return "none"
    real = {"node/x": not info.categories, "edge/edge_attr": not info.edge_categories}
    arrays = [dataset.arrays[name] for name, wanted in real.items() if wanted and name in dataset.arrays]
    return "robust" if any(uneven(array) for array in arrays if array.dim() == 2) else "none"


def build(config: Config, dataset: GraphDataset) -> Network:
    """Return the network of a configuration, with weights drawn from its seed.

    A setting that is a keyword-only argument of the same name of what is built goes there; only others are listed here.
    """
    config = chosen(config, dataset)
    info, m = dataset.info, config.model
    torch.manual_seed(seed_of(config.seed))
    network = Network(
        m.name,
        columns(dataset, "node/x"),
        info.level,
        info.num_targets,
        hidden_channels=m.hidden,
        num_layers=m.layers,
        categories=info.categories,
        encodings=_encodings(config, dataset),
        edge_columns=columns(dataset, "edge/edge_attr"),
        edge_categories=info.edge_categories,
        vocabulary=len(info.names) if info.target == "tokens" else 0,
        options=_options(config, dataset),
        edge_data=m.edges == "used",
        standardise_targets=m.targets == "standardised",
        inputs={**keywords(NodeEncoder, vars(m)), "init": m.embedding_init, "robust": m.scaling == "robust"},
        head=_head(config),
        **keywords(Network, vars(m)),
    )
    if m.standardise or m.scaling == "robust":
        _standardise(network, config, dataset)
    if network.units is not None:
        network.units.fit(targets(dataset, dataset.split(config.data.split).train))
    return network


def columns(dataset: GraphDataset, name: str) -> int:
    """Return the width of an array, 0 where there is none."""
    return dataset.arrays[name].shape[1] if name in dataset.arrays else 0


def _encodings(config: Config, dataset: GraphDataset) -> dict[str, dict[str, Any]]:
    """Return the options of each encoding's encoder: eigenvectors go through a DeepSet, others through BatchNorm and a
    map.
    """
    width = {"channels": config.model.encoding_width} if config.model.join == "concat" else {}
    found: dict[str, dict[str, Any]] = {}
    for e in map(parse, config.data.encodings):
        kind: dict[str, Any] = {"kind": "linear"}
        if isinstance(e, LaplacianEigenvectors):
            kind = {"kind": "deepset", "values": e.with_values, "seed": config.seed}
        found[e.name] = {**kind, "columns": columns(dataset, f"node/{e.name}"), **width}
    return found


def _body(name: str) -> Callable[..., Any]:
    """Return what makes a body."""
    made: Callable[..., Any] = {"geco": GECO, "hybrid": HybridStack}.get(name) or resolve_name(BASELINES[name])
    return made


def _options(config: Config, dataset: GraphDataset) -> dict[str, Any]:
    """Return the further options of the body: settings by their names, and those that are called otherwise there."""
    m = config.model
    settings = {**_by_name(config), "seed": config.seed}
    options = keywords(_body(m.name), settings)
    if m.name == "geco":
        norm = "layer_norm" if m.block_norm else None
        return {**options, **keywords(GECOLayer, settings), **_operator(config), "norm": norm, "act": m.act}
    if m.name == "hybrid":
        return {**options, **keywords(GPSLayer, settings), **_hybrid(config, dataset)}
    return {**options, **keywords(_body(m.name), {"norm": m.block_norm, **_hyena(config)})}


def _by_name(config: Config) -> dict[str, Any]:
    """Return the settings of the model that mean the same wherever an argument has their name."""
    return {name: value for name, value in vars(config.model).items() if name not in OTHERWISE}


def _hybrid(config: Config, dataset: GraphDataset) -> dict[str, Any]:
    """Return the options of a hybrid's layer."""
    m = config.model
    special: dict[str, dict[str, Any]] = {
        "geco": _operator(config),
        "attention": _attention(config),
        "hyena": _hyena(config),
        "exphormer": {"dropout": m.mixer_dropout, "seed": config.seed},
        "cascade": _cascade(config),
    }
    named = keywords(resolve_name(MIXERS[m.mixer]), _by_name(config)) if m.mixer in MIXERS else {}
    scaled = m.local in LOCALS and keywords(resolve_name(LOCALS[m.local]), {"degrees": None})
    return {
        "local": m.local,
        "mixer": m.mixer,
        "act": m.act,
        "norm": m.layer_norm,
        "local_kwargs": {"degrees": _degrees(config, dataset)} if scaled else {},
        "mixer_kwargs": {**named, **special.get(m.mixer, {})},
    }


def _attention(config: Config) -> dict[str, Any]:
    """Return the options of `SelfAttention`."""
    m = config.model
    return {"dropout": m.mixer_dropout, **({} if m.attention_bias == "none" else {"bias": m.attention_bias})}


def _hyena(config: Config) -> dict[str, Any]:
    """Return the options of Hyena's operator."""
    return {"filter_kwargs": {"length": config.model.hyena_length or None}}


def _operator(config: Config) -> dict[str, Any]:
    """Return the options of `GECOConv`."""
    m = config.model
    waves = {"gain": "mean"} if m.filter_gain == "mean" else {}
    more = {
        "windows": {"support": m.support, "start": m.filter_start},
        "waves": waves,
        "paper": {"gain": m.filter_gain},
    }.get(m.filter)
    named = {**keywords(GECOConv, _by_name(config)), "order": m.order, "adjacency": m.adjacency, "filter": m.filter}
    return {**named, **({"filter_kwargs": more} if more else {})}


def _cascade(config: Config) -> dict[str, Any]:
    """Return the options of `Cascade`."""
    m, operator = config.model, _operator(config)
    local = {"lcb": {"adjacency": m.adjacency}, "conv": {"width": m.block_width}}.get(m.block, {})
    mixed = {name: operator[name] for name in ("order", "filter", "filter_kwargs") if name in operator}
    context = {"gcb": mixed, "attention": _attention(config), "hyena": _hyena(config)}.get(m.context, {})
    return {"local": m.block, "context": m.context, "local_kwargs": local, "context_kwargs": context}


def _head(config: Config) -> dict[str, Any]:
    """Return the options of the head, whose settings begin with its name."""
    m = config.model
    named = {name.removeprefix("head_"): value for name, value in vars(m).items() if name.startswith("head_")}
    return {**named, "pool": m.pool, "act": m.act}


def _training(config: Config, dataset: GraphDataset) -> Iterator[Data]:
    """Yield the graphs that training sees, a thousand at a time."""
    chosen = (
        [torch.zeros(1, dtype=torch.int64)] if len(dataset) == 1 else dataset.split(config.data.split).train.split(1000)
    )
    for part in chosen:
        yield dataset.batch(part)


def _degrees(config: Config, dataset: GraphDataset) -> list[int]:
    """Return how many nodes of the training graphs have in-degree 0, 1, 2 and so on."""
    total = torch.zeros(0, dtype=torch.int64)
    for data in _training(config, dataset):
        more = degree_histogram(data.edge_index, data.num_nodes)
        size = max(len(total), len(more))
        total = F.pad(total, (0, size - len(total))) + F.pad(more, (0, size - len(more)))
    return total.tolist()


def _standardise(network: Network, config: Config, dataset: GraphDataset) -> None:
    """Take means and deviations of real features from the training graphs."""
    for encoder, name in ((network.nodes, "x"), (network.edges, "edge_attr")):
        if encoder is not None and isinstance(encoder.features, Features) and encoder.features.standardise:
            encoder.features.fit(data[name].float() for data in _training(config, dataset))
