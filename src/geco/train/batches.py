"""One graph or many, served alike: steps to train on, and outputs beside targets to score.

Shapes: N nodes, B graphs of a batch, T targets.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from geco.data.dataset import ENDS, GraphDataset, Info
from geco.data.loaders import FullGraphLoader, GraphLoader
from geco.data.subgraphs import SubgraphLoader
from geco.distributed.runtime import ALONE, Workers
from geco.errors import UsageError
from geco.nn.functional import compact
from geco.nn.network.link_heads import LinkHead
from geco.nn.network.network import Network
from geco.train.config import Config
from geco.train.data_checks import check_batches, check_inputs, column_names
from geco.train.links import LinkTask
from geco.train.tasks import Judged, judge

__all__ = [
    "Batches", "ManyGraphs", "OneGraph", "OneGraphLinks", "SampledGraph", "as_trained", "check_workers", "outputs_of",
    "serve",
]  # fmt: skip


class Batches(Protocol):
    """What the engine needs of the data."""

    steps: int  # of an epoch
    nodes: float  # of a step, on average

    def train(self, epoch: int, start: int = 0) -> Iterator[tuple[Data, Tensor | None]]:
        """Yield the epoch's batches from the given one on, with the mask of the nodes that count, if not all do."""
        ...

    def sample(self, epoch: int, count: int) -> Iterator[Data]:
        """Yield up to ``count`` training batches of an epoch, whatever else is being read."""
        ...

    def outputs(self, model: Network, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return outputs and targets of parts of the split, without gradients."""
        ...


class OneGraph:
    """The whole graph at every step; the split is over its nodes."""

    steps: int = 1

    def __init__(self, dataset: GraphDataset, config: Config, device: torch.device) -> None:
        self.info, graph = dataset.info, FullGraphLoader(dataset, config.data.split).graph
        self.data = _whole(graph, config, device, self.info)
        self.masks = {"train": self.data.train_mask, "valid": self.data.val_mask, "test": self.data.test_mask}
        self.nodes = float(dataset.num_nodes)

    def train(self, epoch: int, start: int = 0) -> Iterator[tuple[Data, Tensor | None]]:
        """Yield the graph once."""
        if start == 0:
            yield self.data, self.masks["train"]

    def sample(self, epoch: int, count: int) -> Iterator[Data]:
        """Yield the graph once."""
        yield from [self.data][:count]

    @torch.no_grad()
    def outputs(self, model: Network, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return what one pass gives for every part."""
        output = model(self.data).float()
        return {part: judge(output, self.data, self.masks[part], self.info) for part in parts}


class SampledGraph(OneGraph):
    """A part of the graph at every step, see `SubgraphLoader`; evaluation and BatchNorm's statistics are of all of
    it.
    """

    def __init__(self, dataset: GraphDataset, config: Config, device: torch.device) -> None:
        super().__init__(dataset, config, device)
        fields = [key.partition("/") for key in dataset.arrays if key not in ENDS]
        nodes, edges = (tuple(name for level, _, name in fields if level == kind) for kind in ("node", "edge"))
        whole = Data(**{name: self.data[name].cpu() for name in (*nodes, *edges, "edge_index") if name != "x"})
        whole.x, whole.num_nodes = dataset[0].x, dataset.num_nodes  # not the sparse one, whose rows are not to be had
        sample = config.data.sample
        assert sample != "none", "the whole graph is served by OneGraph"
        self.device = device
        self.loader = SubgraphLoader(
            whole, nodes, edges, dataset.split(config.data.split).train, config.data.batch_size,
            method=sample, fanout=config.data.fanout, walk=config.data.walk, seed=config.seed,
        )  # fmt: skip
        self.steps = len(self.loader)
        self.nodes = float(next(self.loader.epoch(0)).num_nodes)

    def train(self, epoch: int, start: int = 0) -> Iterator[tuple[Data, Tensor | None]]:
        """Yield the epoch's subgraphs with their seeds."""
        for part in self.loader.epoch(epoch, start):
            data = part.to(self.device)
            yield data, data.seed_mask


class OneGraphLinks:
    """The edges of the training part at every step, and pairs of nodes with and without a link; the split is over
    links.
    """

    steps = 1

    def __init__(self, dataset: GraphDataset, config: Config, device: torch.device) -> None:
        self.links = LinkTask(dataset, config.data.split, config.seed, device)
        graph = dataset[0]
        del graph.edge_label_index, graph.edge_label  # the network is given nothing of what validation and test ask
        self.data = _whole(graph, config, device, dataset.info)
        self.nodes = float(dataset.num_nodes)

    def train(self, epoch: int, start: int = 0) -> Iterator[tuple[Data, Tensor | None]]:
        """Yield the graph once, with the epoch's pairs."""
        if start == 0:
            data = copy.copy(self.data)
            data.edge_label_index, data.edge_label = self.links.training(epoch)
            yield data, None

    def sample(self, epoch: int, count: int) -> Iterator[Data]:
        """Yield the graph once."""
        yield from [self.data][:count]

    @torch.no_grad()
    def outputs(self, model: Network, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return what one pass gives for every part."""
        assert isinstance(model.head, LinkHead)
        z = model(self.data).float()
        return {part: self.links.judge(z, model.head, part) for part in parts}


class ManyGraphs:
    """Batches of graphs; the split is over graphs.

    Over several processes each has some graphs of every batch it is trained on, and some batches of what is scored. A
    batch with fewer graphs than processes leaves some without: they take its first graph, which counts nowhere, so that
    all do the same.
    """

    def __init__(self, dataset: GraphDataset, config: Config, device: torch.device, workers: Workers = ALONE) -> None:
        self.info, self.device, split = dataset.info, device, dataset.split(config.data.split)
        self.workers = workers
        self.loaders = {}
        for part in ("train", "valid", "test"):
            training = part == "train"
            grouped = config.data.group_by_size if training else True  # outputs do not depend on it, only time does
            self.loaders[part] = GraphLoader(
                dataset, getattr(split, part), config.data.batch_size, config.seed, shuffle=training,
                group_by_size=grouped, workers=config.data.workers if training else 0,
                share=partial(_parts if training else _turns, rank=workers.rank, size=workers.size),
            )  # fmt: skip
        self.steps = len(self.loaders["train"])
        self.nodes = int(dataset.sizes[split.train].sum()) / self.steps / workers.size

    def _has_some(self, batch: Tensor) -> bool:
        return len(batch) > self.workers.rank

    def train(self, epoch: int, start: int = 0) -> Iterator[tuple[Data, Tensor | None]]:
        """Yield the epoch's batches, with a mask of nothing for a stand-in."""
        loader = self.loaders["train"]
        for whole, batch in zip(loader.batches(epoch)[start:], loader.epoch(epoch, start), strict=True):
            data = batch.to(self.device)
            rows = 0 if data.y is None else len(data.y)  # pairs of nodes have labels of their own
            yield data, None if self._has_some(whole) else torch.zeros(rows, dtype=torch.bool, device=self.device)

    def sample(self, epoch: int, count: int) -> Iterator[Data]:
        """Yield the epoch's first batches, made here: the processes of `train` are left to it; what is yielded counts
        from then on unless it is a stand-in.
        """
        train = self.loaders["train"]
        for whole, graphs in zip(train.batches(epoch)[:count], train.shared(epoch)[:count], strict=True):
            self.workers.counted = self._has_some(whole)
            yield train.dataset.batch(graphs).to(self.device)

    def outputs(self, model: Network, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return what a pass over each part gives."""
        return {part: outputs_of(model, self.loaders[part], self.info, self.device, self.workers) for part in parts}


def _parts(batches: list[Tensor], rank: int, size: int) -> list[Tensor]:
    """Return a process's graphs of each batch, of some the first as a stand-in."""
    return [batch[rank::size] if len(batch) > rank else batch[:1] for batch in batches]


def _turns(batches: list[Tensor], rank: int, size: int) -> list[Tensor]:
    """Return the batches that are a process's turn."""
    return batches[rank::size]


@torch.no_grad()
def outputs_of(
    model: Network, loader: GraphLoader, info: Info, device: torch.device | str = "cpu", workers: Workers = ALONE
) -> Judged:
    """Return outputs and targets of all batches of a loader, of which each process makes some."""
    rows = []
    for batch in loader.epoch(0):
        data = batch.to(device)
        rows.append(judge(model(data).float(), data, None, info, model.head))
    found, y = (torch.cat(workers.dealt([row[i] for row in rows])).to(device) for i in range(2))
    return found, y


def as_trained(data: Data, config: Config, info: Info) -> Data:
    """Return a single graph with the edges a network is trained on: both directions, if that is asked for and the data
    set it was trained on does not say that they mean something.
    """
    if config.data.undirected and not info.directed and "edge_weight" not in data and "edge_attr" not in data:
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
    return data


def _whole(data: Data, config: Config, device: torch.device, info: Info) -> Data:
    """Return a single graph as it is trained on, its features as sparse as they may be."""
    data = as_trained(data, config, info)
    plain = device.type == "cpu" and config.train.amp == "off" and not _scaled(config)
    if data.x is not None:
        data.x = _laid_out(data.x)
    if plain and data.x is not None and data.x.is_floating_point():
        data.x = compact(data.x)
    return data.to(device)


def _laid_out(x: Tensor) -> Tensor:
    """Return x row by row from a multiple of 64 bytes on: products of numbers that lie otherwise round otherwise."""
    x = x.contiguous()
    return x if x.data_ptr() % 64 == 0 else x.clone()  # those of a file lie where it has them


def serve(
    dataset: GraphDataset,
    config: Config,
    device: torch.device,
    schema: dict[str, Any] | None = None,
    workers: Workers = ALONE,
) -> Batches:
    """Return the data as the engine wants it; data that cannot be trained on is refused.

    Args:
        dataset: with its encodings.
        config: split and batches.
        device: where batches go.
        schema: how the user's files were read, for the names of columns.
        workers: processes that graphs are dealt out to.
    """
    check_workers(dataset, workers.size)
    if config.train.consistency:
        _check_consistency(dataset.info, config)
    check_inputs(dataset, config.data.split, column_names(schema), _scaled(config))
    check_batches(dataset, config.data.split, config.data.batch_size)
    sampled = config.data.sample != "none"
    if sampled and dataset.unit != "node":
        raise UsageError(
            f"--data.sample {config.data.sample} is for nodes of one graph, {dataset.info.name} asks for "
            f"{dataset.unit}s; leave it out"
        )
    if dataset.unit == "graph":
        return ManyGraphs(dataset, config, device, workers)
    kinds: dict[str, type[OneGraph | OneGraphLinks]]
    kinds = {"node": SampledGraph if sampled else OneGraph, "link": OneGraphLinks}
    return kinds[dataset.unit](dataset, config, device)


def check_workers(dataset: GraphDataset, count: int) -> None:
    """Refuse to train one graph over several processes."""
    if count > 1 and dataset.unit != "graph":
        raise UsageError(
            f"{dataset.info.name} is one graph, and {count} processes can only share out many; leave out --nproc"
        )


def _scaled(config: Config) -> bool:
    return config.model.standardise or config.model.scaling == "robust"


def _check_consistency(info: Info, config: Config) -> None:
    if info.target != "class":
        raise UsageError(f"--train.consistency is for classes, {info.name} asks for {info.target}; leave it out")
    model = config.model
    if not (model.dropout or model.input_dropout or model.head_dropout or model.mixer_dropout):
        raise UsageError(
            "--train.consistency compares passes with different dropout, and there is none; set --model.dropout"
        )
