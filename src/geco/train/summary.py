"""What is about to be trained, in a few lines: data, network, device, seconds."""

from __future__ import annotations

import copy
import time

import torch
from torch import nn
from torch_geometric.data import Data

from geco.data.dataset import GraphDataset, Info
from geco.nn import GlobalContext
from geco.nn.network.network import Network
from geco.train.batches import OneGraphLinks, SampledGraph
from geco.train.engine import Trainer
from geco.train.tasks import loss

__all__ = ["about_data", "about_network", "expected", "period"]

QUICK = 1.0  # seconds of a step that may be taken twice
TARGETS = {"class": "classes", "labels": "labels", "values": "values", "tokens": "tokens"}


def about_data(dataset: GraphDataset, split: int) -> str:
    """Return how large the data is, what is known of nodes and edges, what is asked, and the sizes of the parts.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> about_data(erdos_renyi(40, degree=3, features=5, classes=2), 0)
        'erdos-renyi: 40 nodes, ... edges, 5 features; 2 classes of nodes by accuracy; 24 train, ... test nodes'
    """
    info, parts = dataset.info, dataset.split(split)
    one = dataset.unit != "graph"
    sizes = [f"{dataset.num_nodes:,} nodes", f"{dataset.num_edges:,} {'directed ' if info.directed else ''}edges"]
    sizes = sizes if one else [f"{len(dataset):,} graphs", *sizes]
    asked = f"{info.num_targets:,} {TARGETS[info.target]} of {info.level}s" if info.level != "link" else "links"
    count = ", ".join(f"{len(getattr(parts, part)):,} {part}" for part in ("train", "valid", "test"))
    known = ", ".join([*sizes, *_features(dataset)])
    return f"{info.name}: {known}; {asked} by {info.metric}; {count} {dataset.unit}s"


def _features(dataset: GraphDataset) -> list[str]:
    info, arrays = dataset.info, dataset.arrays
    found = []
    for key, categories, name in (
        ("node/x", info.categories, "features"),
        ("edge/edge_attr", info.edge_categories, "edge features"),
    ):
        if key in arrays:
            found.append(f"{arrays[key].shape[1]:,} {name}{' of categories' if categories else ''}")
    return [*found, "edge weights"] if "edge/edge_weight" in arrays else found


def about_network(trainer: Trainer) -> list[str]:
    """Return which network it is, how many weights it has and where it runs; how its global context is computed, if it
    has one.
    """
    m, device = trainer.config.model, str(trainer.device)
    parts = f" of {m.local} and {m.mixer}" if m.name == "hybrid" else ""
    threads = f", threads: {torch.get_num_threads()}" if device == "cpu" else ""
    network = (
        f"{m.name}{parts}, {m.layers} layers of {m.hidden}: {trainer.parameters:,} parameters on {device}{threads}"
    )
    plan = _context(trainer.model, next(iter(trainer.batches.sample(0, 1))))
    return [network, f"filter {m.filter}, {m.permutation} order, global context by {plan}"] if plan else [network]


def _context(model: nn.Module, data: Data) -> str:
    """Return which algorithm computes the global context of a batch; nothing if the network has none."""
    context = next((module for module in model.modules() if isinstance(module, GlobalContext)), None)
    sizes = torch.bincount(data.batch).tolist() if "batch" in data else [data.num_nodes]
    return "" if context is None else str(context.plan(sizes))


def expected(trainer: Trainer) -> float:
    """Return about how many seconds an epoch takes, by one step of a copy of the network; the run is not touched."""
    served = trainer.batches
    data = next(served.train(0))[0] if isinstance(served, OneGraphLinks | SampledGraph) else next(served.sample(0, 1))
    model = copy.deepcopy(trainer.model).train()
    model.set_epoch(0, trainer.config.train.epochs)
    step = _step(model, data, trainer.info)
    step = _step(model, data, trainer.info) if step < QUICK else step  # the first one of all warms up
    forward = step / 3  # of a step; the rest is backward
    steps, every = trainer.batches.steps, trainer.config.train.eval_every
    passes = 2 if trainer.config.train.consistency else 1
    return step * steps * passes + forward * (steps / 4 + min(steps, trainer.config.train.statistics)) / every


def _step(model: Network, data: Data, info: Info) -> float:
    begin = time.perf_counter()
    loss(model(data).float(), data, None, info, model.head).backward()
    return time.perf_counter() - begin


def period(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> period(0.04), period(75), period(5400), period(200000)
        ('0.04 s', '1.2 min', '1.5 h', '2.3 days')
    """
    for size, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.2g} s"
