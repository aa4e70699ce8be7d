"""What a run leaves behind, put to use: its best network on its own data, on new files, and what it listens to.

Shapes: N nodes, B graphs, T targets.
"""

from __future__ import annotations

import logging
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset, Info
from geco.data.loaders import GraphLoader
from geco.data.molecules import ATOM_CATEGORIES
from geco.data.nonlinks import UNDIRECTED
from geco.data.user.fields import graphs_of
from geco.data.user.objects import new_graphs
from geco.data.user.schema import Column, Schema
from geco.errors import CheckpointError, DataError, UsageError
from geco.explain.explanation import Explanation
from geco.nn.network.link_heads import LinkHead
from geco.nn.network.network import Network
from geco.store import has_entry
from geco.train.batches import as_trained
from geco.train.build import encoded, prepared
from geco.train.checkpoint import check_format
from geco.train.config import Config
from geco.train.curves import curve
from geco.train.explained import explainer
from geco.train.kept import Kept, data_folder, described, read_data, write_data
from geco.train.links import pair_scores
from geco.train.record import recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Run", "load_run", "run_of", "seed_folders"]

PARTS = ("valid", "test")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Run:
    """A trained network with what is needed to use it; of several seeds, that of the first, see `seed`.

    Args:
        network: with the weights of its best epoch, in evaluation mode.
        info: what its data asks for; the columns of a prediction are ``info.names``.
        config: its settings.
        schema: how files of its data were read, if they were.
        kept: what is kept of each seed, this one first.
        data: gives the data it was trained on, where that was given in memory.
    """

    network: Network
    info: Info
    config: Config
    schema: Schema | None
    kept: tuple[Kept, ...] = ()
    data: Callable[[], GraphDataset] | None = None

    def check(self, dataset: GraphDataset) -> None:
        """Refuse data that asks for something else than the data of training did, and warn of data that has changed.

        Args:
            dataset: of the run, as it is today, with its encodings.
        """
        name, trained_on = self.info.name, self.kept[0].about.get("data", "") if self.kept else ""
        if _asked(dataset.info) != _asked(self.info):
            raise DataError(
                f"{name} has changed since the run was trained: it asks for {_words(dataset.info)}, then for "
                f"{_words(self.info)}; train again, or import the files as they were"
            )
        if trained_on and dataset.fingerprint != trained_on:
            logger.warning(
                f"warning: {name} has changed since the run was trained: what was trained on may be in what is scored"
            )

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that were trained."""
        return tuple(kept.config.seed for kept in self.kept)

    def seed(self, number: int) -> Run:
        """Return the run of one of the seeds alone."""
        if number not in self.seeds:
            raise UsageError(f"seed {number} was not trained; there are {', '.join(map(str, self.seeds))}")
        return run_of((self.kept[self.seeds.index(number)],), self.data)

    @property
    def scores(self) -> dict[int | str, dict[str, float]]:
        """Validation and test score of each seed at its best validation epoch, their ``mean``, and of several seeds
        their sample standard deviation ``std``.
        """
        found: dict[int | str, dict[str, float]] = {}
        for seed, kept in zip(self.seeds, self.kept, strict=True):
            found[seed] = {part: float(kept.about[part]) for part in PARTS}
        columns = {part: [scores[part] for scores in found.values()] for part in PARTS}
        found["mean"] = {part: statistics.mean(values) for part, values in columns.items()}
        if len(self.kept) > 1:
            found["std"] = {part: statistics.stdev(values) for part, values in columns.items()}
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """An entry for each evaluation of this seed: epoch, losses, learning rate, scores."""
        return self.kept[0].history

    @property
    def baseline(self) -> dict[str, dict[str, float]]:
        """What guesses without features score: majority class, share of each label or mean of each value."""
        found: dict[str, dict[str, float]] = self.kept[0].result.get("baseline", {})
        return found

    def plot(self, curves: Sequence[str] = ("valid", "loss")) -> Figure:
        """Return curves over the epochs as a Matplotlib figure, over all seeds; needs the extra ``plot``.

        Args:
            curves: of ``valid``, ``test``, ``loss``, ``valid_loss``, ``lr``, ``gradient``, ``train``.
        """
        from geco.pages.figures import figure

        records = {f"{self.config.model.name} on {self.info.name}": [recorded(kept) for kept in self.kept]}
        return figure([curve(name, records) for name in curves])

    def save(self, path: str | Path) -> None:
        """Write a run folder, as `geco train` leaves it, that `load_run` and the commands take; it has no checkpoints
        to go on from. A folder that holds a run is refused.
        """
        for seed in self.seeds:
            if (Path(path) / f"seed-{seed}" / "config.toml").exists():
                raise UsageError(f"{path} holds a run already; choose another folder")
        for seed, kept in zip(self.seeds, self.kept, strict=True):
            kept.write(Path(path) / f"seed-{seed}")
        if self.data is not None:
            write_data(Path(path) / "data", self.data())

    def training_data(self, data_dir: str | Path | None = None, offline: bool = False) -> GraphDataset:
        """Return the data it was trained on with its encodings: that which is kept beside it, else that of its name."""
        return prepared(self.config, data_dir, offline) if self.data is None else encoded(self.data(), self.config)

    def reading(self, path: str | Path) -> Schema:
        """Return how new files are to be read: as those the network was trained on, or as molecules are."""
        if self.schema is not None:
            return self.schema
        i = self.info
        counts = (0,) * len(i.names)
        if i.level == "graph" and i.categories == ATOM_CATEGORIES and i.target != "tokens":
            smiles = (Column("molecules", "smiles", "smiles", "text"),)
            return Schema("molecules", "graph", i.target, i.metric, i.names, counts, False, smiles)
        raise DataError(
            f"{path}: how to read new files is known for runs on imported data and on molecules, this one is on "
            f"{i.name}; "
            "predict in Python: geco.load_run(RUN).predict(graphs)"
        )

    @torch.no_grad()
    def predict_links(self, data: Data | GraphDataset, pairs: Tensor) -> Tensor:
        """Return the probability of a link between pairs of nodes ``(2, L)`` of a graph: ``(L,)``.

        Probabilities are those of training, where as many pairs had no link as had one; they serve to rank pairs.
        """
        if not isinstance(self.network.head, LinkHead):
            raise UsageError(f"the network predicts {self.info.level}s, not links; use predict")
        z = self.network(as_trained(self.with_encodings(data)[0], self.config, self.info)).float()
        both = self.info.names == (UNDIRECTED,)
        return pair_scores(self.network.head, z, pairs, both=both).sigmoid()

    @torch.no_grad()
    def predict(self, data: Data | Sequence[Data] | GraphDataset) -> Tensor:
        """Return probabilities of classes or labels, or values in their units, of every node ``(N, T)`` or graph
        ``(B, T)``; the columns are ``info.names``.

        Args:
            data: with the fields of the graphs it was trained on, y left out or not; encodings are made here.
        """
        if self.info.level == "link":
            raise UsageError("the network predicts links, of pairs of nodes; use predict_links")
        dataset = self.with_encodings(data)
        one = self._given.get("graphs", len(dataset)) == 1 and self.info.level == "node"
        if one:  # a graph at a time, as it was trained
            graphs = (as_trained(dataset[number], self.config, self.info) for number in range(len(dataset)))
            output = torch.cat([self.network(graph).float() for graph in graphs])
        else:
            loader = GraphLoader(dataset, range(len(dataset)), self.config.data.batch_size, shuffle=False)
            output = torch.cat([self.network(batch).float() for batch in loader.epoch(0)])
        if self.info.target == "class":
            return output.softmax(-1)
        return output.sigmoid() if self.info.target == "labels" else output

    def explain(
        self,
        node: str | int | None = None,
        graph: str | int | None = None,
        data: Data | Sequence[Data] | GraphDataset | str | Path | None = None,
        *,
        target: str | int | None = None,
    ) -> Explanation:
        """Return why the network predicts what it does for a node or a graph; see `geco.explain`.

        Args:
            node: its id, or its number in its graph if an int; None where graphs are predicted.
            graph: its id, or its number if an int; not needed where there is one, or where the node's id is unique.
            data: new files as `reading` takes them, or graphs as `predict` does; None for what it was trained on.
            target: name or number of the class, label or value; the predicted class, the likeliest label or the first
                value if not given.
        """
        return explainer(self, data).explain(node, graph, target)

    def with_encodings(self, data: Data | Sequence[Data] | GraphDataset) -> GraphDataset:
        """Return new data with encodings; of graphs in memory none is left in the cache."""
        if isinstance(data, GraphDataset):
            return encoded(data, self.config)
        dataset = new_graphs(graphs_of(data, "predict"), self.info, self._columns, self.schema)
        with Cache.temporary() as cache:
            return encoded(dataset, self.config, cache)

    @property
    def _given(self) -> dict[str, Any]:
        found: dict[str, Any] = self.kept[0].about.get("given", {}) if self.kept else {}
        return found

    @property
    def _columns(self) -> dict[str, int]:
        """Return how many columns x, ``edge_attr`` and ``edge_weight`` had; of old runs what the network takes."""
        c = self.network.config
        found: dict[str, int] = self._given.get("columns", {"x": c["in_channels"], "edge_attr": c["edge_columns"]})
        return found

    def __repr__(self) -> str:
        """Say what was trained on what, and how well it does."""
        return described(self.info, self.config, self.kept)


def _asked(info: Info) -> tuple[object, ...]:
    return info.level, info.target, info.num_targets, info.names


def _words(info: Info) -> str:
    names = f" {', '.join(info.names[:5])}{' ...' if len(info.names) > 5 else ''}" if info.names else ""
    return f"{info.num_targets} {info.target} of {info.level}s{names}"


def seed_folders(path: str | Path) -> list[Path]:
    """Return the folders of the seeds of a run that have a finished epoch, or the folder itself if it is that of one.

    Args:
        path: as given to ``geco train --out``, or the folder of one seed in it.
    """
    seeds = sorted(Path(path).glob("seed-*"), key=lambda folder: (len(folder.name), folder.name))  # 2 before 10
    found = [folder for folder in (Path(path), *seeds) if has_entry(folder / "best")]
    if not found:
        raise CheckpointError(f"{path} holds no finished epoch of a run (no best in it or in seed-*)")
    return found


def load_run(path: str | Path) -> Run:
    """Return the best network of a run folder; of several seeds, that of the first.

    Args:
        path: as given to ``geco train --out``, or the folder of one seed in it.
    """
    folders = seed_folders(path)
    data = data_folder(folders[0])
    return run_of(tuple(map(Kept, folders)), partial(read_data, data) if has_entry(data) else None)


def run_of(kept: tuple[Kept, ...], data: Callable[[], GraphDataset] | None = None) -> Run:
    """Return the run of which these seeds are kept, with the network of the first.

    Args:
        kept: of each seed.
        data: gives the data that was given in memory.
    """
    first = kept[0]
    about, where = first.best.about, first.where
    check_format(first.best, where)
    try:
        network = Network(**Network.upgraded(about["network"], about["format"]))
        network.load_state_dict(first.best.arrays)
        if "epoch" in about:  # the parts of the network that were on when it was judged
            network.set_epoch(about["epoch"] - 1, first.config.train.epochs)
        schema = Schema.from_json(about["schema"]) if about.get("schema") else None
        return Run(network.eval(), Info.from_json(about["info"]), first.config, schema, kept, data)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{where} does not fit this version of geco: {error}") from error
