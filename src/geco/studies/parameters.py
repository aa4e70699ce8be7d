"""How many parameters the networks of the shipped configurations have, beside the paper's budgets.

``python -m geco.studies.parameters`` prints the table and writes it to results/parameters.md. It needs no data: a
network depends on the columns and categories of its data set, not on its graphs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch

from geco.configs import shipped
from geco.console import print_table
from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.encodings.registry import parse
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry import find
from geco.data.registry.lrgb import LRGB
from geco.data.registry.nodes_large import LARGE
from geco.data.registry.ogb import OGB
from geco.data.registry.spec import Spec
from geco.data.sources.ogb_code2 import CATEGORIES, WORDS
from geco.train.build import FEW, build
from geco.train.config import Config, read_toml

__all__ = ["BUDGETS", "PAPER", "blank", "of_the_paper", "parameters", "rows"]

PAPER = tuple(spec.name for spec in (*LARGE, *LRGB, *OGB))  # the paper's fourteen data sets
LRGB_BUDGET = "paper, Appendix A.1: about 500k"
BUDGETS = {
    **{spec.name: (500_000, LRGB_BUDGET) for spec in LRGB},
    "pcqm4mv2": (6_200_000, "paper, Table of PCQM4Mv2: 6.2M"),
}
HEADER = ["data set", "configuration", "network", "width", "depth", "encodings", "parameters", "budget"]
TEXT = """# Parameters

Written by `python -m geco.studies.parameters` from the configurations in `src/geco/configs` and the columns and
categories of their data sets. The paper states a budget for the LRGB sets (Appendix A.1) and PCQM4Mv2; others have
none.

"""


@dataclass(frozen=True)
class Schema:
    """Columns and categories of nodes and edges, and the number of words."""

    columns: int
    categories: tuple[int, ...] = ()
    edge_columns: int = 0
    edge_categories: tuple[int, ...] = ()
    words: int = 0


def schema(spec: Spec) -> Schema:
    """Return what nodes and edges of one of the paper's data sets bring along.

    Example:
        >>> schema(find("flickr")).columns, schema(find("coco-sp")).edge_columns, schema(find("ogbg-code2")).words
        (500, 2, 5002)
    """
    if spec.name == "ogbg-ppa":
        return Schema(1, (1,), 7)
    if spec.name == "ogbg-code2":
        return Schema(len(CATEGORIES), CATEGORIES, 2, (2, 2), WORDS + 2)  # and one each for unknown words and the end
    if spec.level == "node":
        return Schema(spec.sizes.features or 0, edge_columns=2 if spec.sizes.graphs > 1 else 0)
    return Schema(len(ATOM_CATEGORIES), ATOM_CATEGORIES, len(BOND_CATEGORIES), BOND_CATEGORIES)


def blank(spec: Spec, encodings: tuple[str, ...] = ()) -> GraphDataset:
    """Return three graphs of three nodes, or one with enough labels for a global block, in the data set's schema, with
    zeros for features and encodings.

    Example:
        >>> blank(find("pcqm-contact"), ("rwse:16",)).arrays["node/rwse"].shape
        torch.Size([9, 16])
    """
    s = schema(spec)
    names = tuple(map(str, range(s.words)))
    info = Info(
        spec.name, spec.level, spec.target, spec.num_targets, spec.metric, s.categories, s.edge_categories, names
    )
    many = spec.sizes.graphs > 1
    nodes = 3 if many else FEW + 2
    graph = {
        "x": torch.zeros(nodes, s.columns, dtype=torch.uint8 if s.categories else torch.float32),
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
    }
    if s.edge_columns:
        graph["edge_attr"] = torch.zeros(2, s.edge_columns, dtype=torch.uint8 if s.edge_categories else torch.float32)
    for encoding in map(parse, encodings):
        graph[encoding.name] = torch.zeros(nodes, encoding.width)
    parts = torch.arange(3).split(1) if many else torch.arange(nodes).split([FEW, 1, 1])
    return collect(info, [graph] * min(3, spec.sizes.graphs), [Split(*parts)])


def parameters(config: Config) -> int:
    """Return the number of trained weights of a configuration's network."""
    network = build(config, blank(find(config.data.name), config.data.encodings))
    return sum(p.numel() for p in network.parameters())


def of_the_paper() -> dict[str, Path]:
    """Return the configurations of the paper's data sets by name, in their order."""
    found = shipped()
    wanted = [f"{name}{kind}" for name in PAPER for kind in ("", "-pure", "-reassessed", "-small")]
    return {name: found[name] for name in wanted if name in found}


def rows() -> list[list[str]]:
    """Return the table, the header first."""
    table = [HEADER]
    for name, path in of_the_paper().items():
        config = read_toml(path)
        m = config.model
        budget = BUDGETS.get(config.data.name, (0, "none stated"))[1]
        network = f"{m.local} + {m.mixer}" if m.name == "hybrid" else m.name
        encodings = ", ".join(config.data.encodings) or "none"
        sizes = [str(m.hidden), str(m.layers), encodings, f"{parameters(config):,}", budget]
        table.append([config.data.name, name, network, *sizes])
    return table


def markdown(table: list[list[str]]) -> str:
    """Return a table as Markdown.

    Example:
        >>> print(markdown([["a", "b"], ["1", "2"]]))
        | a | b |
        |---|---|
        | 1 | 2 |
    """
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([lines[0], "|" + "---|" * len(table[0]), *lines[1:]])


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.parameters", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/parameters.md"))
    options = parser.parse_args(arguments)
    table = rows()
    print_table(table)
    options.out.write_text(f"{TEXT}{markdown(table)}\n")


if __name__ == "__main__":
    main()
