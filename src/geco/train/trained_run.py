"""What a run leaves behind, put to use: its best network on its own data, on new files, and what it listens to.

Shapes: N nodes, B graphs, T targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from geco.data.dataset import GraphDataset, Info
from geco.data.loaders import GraphLoader
from geco.data.molecules import ATOM_CATEGORIES
from geco.data.nonlinks import UNDIRECTED
from geco.data.user.schema import Column, Schema
from geco.errors import CheckpointError, DataError, UsageError
from geco.explain.explanation import Explanation
from geco.nn.network.link_heads import LinkHead
from geco.nn.network.network import Network
from geco.store import has_entry, read_entry
from geco.train.batches import as_trained
from geco.train.build import encoded
from geco.train.checkpoint import check_format
from geco.train.config import Config, as_saved, from_table
from geco.train.curves import curve
from geco.train.explained import explainer
from geco.train.links import pair_scores
from geco.train.record import read_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Run", "load_run", "seed_folders"]


@dataclass(frozen=True)
class Run:
    """A trained network with what is needed to use it; none of its training data.

    ``path`` is where it was loaded from, if it was.
    """

    network: Network
    info: Info
    config: Config
    schema: Schema | None
    path: Path | None = None

    def plot(self, curves: Sequence[str] = ("valid", "loss")) -> Figure:
        """Return curves of the run over its epochs as a Matplotlib figure, over all of its seeds; needs the extra
        ``plot``.

        Args:
            curves: of ``valid``, ``test``, ``loss``, ``valid_loss``, ``lr``, ``gradient``, ``train``.
        """
        from geco.pages.figures import figure

        if self.path is None:
            raise UsageError("this network was not loaded from a run folder, so there are no curves; use load_run(RUN)")
        records = {self.path.name: [read_seed(folder) for folder in seed_folders(self.path)]}
        return figure([curve(name, records) for name in curves])

    def reading(self, path: Path) -> Schema:
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
            "load the network in Python with geco.train.trained_run.load_run"
        )

    @torch.no_grad()
    def predict_links(self, dataset: GraphDataset, pairs: Tensor) -> Tensor:
        """Return the probability of a link between pairs of nodes ``(2, L)`` of a graph: ``(L,)``.

        Probabilities are those of training, where as many pairs had no link as had one; they serve to rank pairs.
        """
        if not isinstance(self.network.head, LinkHead):
            raise UsageError(f"the network predicts {self.info.level}s, not links; use predict")
        z = self.network(as_trained(encoded(dataset, self.config)[0], self.config)).float()
        both = self.info.names == (UNDIRECTED,)
        return pair_scores(self.network.head, z, pairs, both=both).sigmoid()

    @torch.no_grad()
    def predict(self, dataset: GraphDataset) -> Tensor:
        """Return probabilities, or values, of every node ``(N, T)`` or graph ``(B, T)``; encodings are made here."""
        if self.info.level == "link":
            raise UsageError("the network predicts links, of pairs of nodes; use predict_links")
        dataset = encoded(dataset, self.config)
        if len(dataset) == 1 and self.info.level == "node":
            output: Tensor = self.network(as_trained(dataset[0], self.config)).float()
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
        data: GraphDataset | str | Path | None = None,
        *,
        target: str | int | None = None,
    ) -> Explanation:
        """Return why the network predicts what it does for a node or a graph; see `geco.explain`.

        Args:
            node: its id, or its number in its graph if an int; None where graphs are predicted.
            graph: its id, or its number if an int; not needed where there is one, or where the node's id is unique.
            data: new files as `reading` takes them, or a data set; None for what it was trained on.
            target: name or number of the class, label or value; the predicted class, the likeliest label or the first
                value if not given.
        """
        return explainer(self, data).explain(node, graph, target)


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
    best = seed_folders(path)[0] / "best"
    try:
        entry = read_entry(best)
    except ValueError as error:
        raise CheckpointError(f"{error}; train it again") from error
    check_format(entry, str(best))
    about, where = entry.about, str(best)
    try:
        network = Network(**Network.upgraded(about["network"], about["format"]))
        network.load_state_dict(entry.arrays)
        schema = Schema.from_json(about["schema"]) if about.get("schema") else None
        config = from_table(as_saved(about["config"]), Config(), where)
        return Run(network.eval(), Info.from_json(about["info"]), config, schema, Path(path))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{where} does not fit this version of geco: {error}") from error
