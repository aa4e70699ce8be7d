"""What is known and counted of a data set, in words and tables."""

from __future__ import annotations

from geco.data.dataset import Info
from geco.data.registry import Spec
from geco.data.statistics import Statistics

__all__ = ["describe"]

Rows = list[list[str]]
Facts = list[tuple[str, str]]


def describe(info: Info, found: Statistics, spec: Spec | None) -> tuple[Facts, list[tuple[str, Rows]]]:
    """Return what is known of a data set, and tables with their headings.

    Args:
        info: what the data set asks for.
        found: counts.
        spec: what is published, if it is a published data set.
    """
    tables = [("Size", _size(info, found, spec)), ("Structure", _structure(found))]
    if found.targets:
        tables.append(("Targets", _targets(info, found)))
    if found.splits:
        parts = [[str(number), *(f"{count:,}" for count in split)] for number, split in enumerate(found.splits)]
        tables.append(("Splits", [["split", "train", "valid", "test"], *parts]))
    return _about(info, spec), tables


def _about(info: Info, spec: Spec | None) -> Facts:
    pairs = [("task", f"{info.level}, {info.num_targets:,} {_kind(info)}")]
    if spec is None:
        pairs += [("metric", info.metric), ("note", info.note)]
    else:
        pairs += [("name", spec.title), ("metric", f"{spec.metric}, {spec.better} is better")]
        pairs += [("paper's score", "" if spec.paper is None else f"{spec.paper:g}"), ("split", spec.split)]
        pairs += [("licence", spec.licence), ("source", spec.source), ("note", spec.note)]
        pairs += [("note", info.note if info.note != spec.note else "")]
    return [(name, text) for name, text in pairs if text]


def _size(info: Info, found: Statistics, spec: Spec | None) -> Rows:
    """Return what published tables have, and whether the numbers are equal as those round them."""
    graphs, each = max(1, found.graphs), " per graph" if found.graphs != 1 else ""
    stored, joined = found.directed / graphs, found.undirected / graphs
    counted = {
        "graphs": found.graphs,
        f"nodes{each}": found.nodes / graphs,
        f"edges{each}, each direction counted": stored,
        f"edges{each}, directions joined": joined,
        "features": found.features,
        **({"classes": 2} if (info.target, info.num_targets) == ("labels", 1) else {_kind(info): info.num_targets}),
    }
    if spec is None:
        return [["", "counted"], *([name, _number(value)] for name, value in counted.items())]
    size = spec.sizes
    once = _equal(joined, size.edges) and not _equal(stored, size.edges)  # how the publication counts edges
    edges = (None, size.edges) if once else (size.edges, None)
    published = (size.graphs, size.nodes, *edges, size.features, size.classes)
    rows = (_compared(name, value, other) for (name, value), other in zip(counted.items(), published, strict=True))
    return [["", "counted", "published", "equal"], *rows]


def _compared(name: str, value: float, published: float | None) -> list[str]:
    if published is None:
        return [name, _number(value), "", ""]
    return [name, _number(value), _number(published), "yes" if _equal(value, published) else "NO"]


def _equal(value: float, published: float) -> bool:
    """Tell whether a value, rounded or cut off (some tables are) at as many places as the published one has, equals
    it.
    """
    unit = 10.0 ** -len(str(published).partition(".")[2])
    return -unit / 2 <= value - published < unit


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _structure(found: Statistics) -> Rows:
    plain = found.undirected - found.loops
    several = [
        ("nodes", f"{found.nodes:,}"),
        ("nodes of the smallest graph", f"{found.smallest:,}"),
        ("nodes of the largest graph", f"{found.largest:,}"),
        ("edges, each direction counted", f"{found.directed:,}"),
        ("edges, directions joined", f"{found.undirected:,}"),
    ]
    rows = [
        ("edges that go both ways", f"{found.reversed / max(1, plain):.0%}" if found.reversed < plain else "all"),
        ("self loops", f"{found.loops:,}"),
        ("duplicate edges", f"{found.duplicates:,}"),
        ("mean degree", f"{found.mean_degree:.2f}"),
        ("isolated nodes", f"{found.isolated:,}"),
        ("connected components", f"{found.components:,}"),
        ("edge features", f"{found.edge_features:,}"),
    ]
    rows = several + rows if found.graphs != 1 else rows  # of one graph they are in the table of sizes
    return [["of all graphs" if found.graphs != 1 else "", "counted"], *(list(row) for row in rows)]


def _targets(info: Info, found: Statistics) -> Rows:
    """Return a row for each class or column; ranges where it is a value."""
    if info.level == "link" or info.target == "class":
        rows = [["target", "count"], *([column.name, f"{column.count:,}"] for column in found.targets)]
    else:
        counted = {"labels": "positive", "values": "known", "tokens": "words"}[info.target]
        ranged = ["lowest", "mean", "highest"] if info.target == "values" else []
        rows = [["target", counted, "missing", *ranged]]
        for column in found.targets:
            values = (column.low, column.mean, column.high)[: len(ranged)]
            rows.append(
                [column.name, f"{column.count:,}", f"{column.missing:,}", *(f"{value:.4g}" for value in values)]
            )
    if found.missing:
        rows.append(["without any", f"{found.missing:,}", *[""] * (len(rows[0]) - 2)])
    return rows


def _kind(info: Info) -> str:
    return {"class": "classes", "labels": "labels", "values": "values", "tokens": "tokens"}[info.target]
