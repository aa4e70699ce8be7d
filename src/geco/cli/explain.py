"""``geco explain``: why a trained network predicts what it does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from geco.cli.options import Folder, use_cache
from geco.cli.use import RunPath
from geco.console import print_line
from geco.errors import UsageError

if TYPE_CHECKING:
    from geco.train.explained import Explainer

__all__ = ["explain"]


def explain(
    run: RunPath,
    /,
    node: Annotated[tuple[str, ...], arg(metavar="ID", help_behavior_hint="")] = (),
    graph: Annotated[tuple[str, ...], arg(metavar="ID", help_behavior_hint="")] = (),
    data: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
    target: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None,
    by: Literal["change", "attention"] = "change",
    top: Annotated[int, arg(metavar="K", help_behavior_hint="")] = 10,
    output: Annotated[Path | None, arg(metavar="OUT", aliases=["-o"], help_behavior_hint="")] = None,
    data_dir: Folder = None,
    cache_dir: Folder = None,
) -> None:
    """Show what a prediction rests on: what it would be without each node, each edge and each part of the network.

    Args:
        run: folder of `geco train`, on any network for nodes or graphs.
        node: ids of one or more nodes, or their numbers where they have no ids.
        graph: id or number of the graph the nodes are in, where there are several; of networks that predict graphs, one
            or more.
        data: new files of the form the network was trained on; without it, the data it was trained on.
        target: class, label or value to explain; the predicted class, the likeliest label or the first value if not
            given.
        by: change is that of the prediction; attention is GECO's surrogate attention, which shows what a layer can
            reach and not what the prediction rests on.
        top: rows to show.
        output: .csv or .json (every row), .html (a page), .svg or .png (a picture) to write.
        data_dir: folder with raw data sets; $GECO_DATA if not given.
        cache_dir: folder for prepared data; $GECO_CACHE or ~/.cache/geco if not given.
    """
    use_cache(cache_dir)
    from geco.explain.explanation import check_file, save
    from geco.train.explained import explainer
    from geco.train.trained_run import load_run

    if top < 1:
        raise UsageError(f"--top must be at least 1, got {top}")
    count = max(1, len(node) * len(graph), len(node), len(graph))
    if output is not None:
        if by == "attention":
            raise UsageError("--by attention is shown here only; leave out --output")
        check_file(output, count)
    if node and len(graph) > 1:
        raise UsageError("nodes of one graph at a time: give one --graph, or leave out --node")
    loaded = load_run(run)
    on = explainer(loaded, data, data_dir)
    if by == "attention":
        _show_attention(on, node, graph[0] if graph else None, top)
        return
    asked: list[tuple[str | None, str | None]]
    asked = [(n, graph[0] if graph else None) for n in node] or [(None, g) for g in graph or (None,)]
    found = []
    for number, (one, within) in enumerate(asked):
        found.append(on.explain(one, within, target))
        print(("\n" if number else "") + found[-1].text(top))
    if output is not None:
        save(found, output, "geco " + " ".join(sys.argv[1:]))
        print_line(f"written to {output}")


def _show_attention(on: Explainer, nodes: tuple[str, ...], graph: str | None, top: int) -> None:
    if not nodes:
        raise UsageError("--by attention shows what acts on a node; say which, by --node")
    for node in nodes:
        for layer in on.attention(node, graph, top):
            print(layer.text(node) + "\n")
