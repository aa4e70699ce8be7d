"""What is written down of a data set: where it comes from, how it lies on disk, what is asked. Nothing here imports
torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Embedded", "Layout", "Remote", "Sizes", "Spec"]


@dataclass(frozen=True)
class Remote:
    """A file to download: its address, the name it gets in the data set's folder, size in bytes and checksum where
    known.

    ``unpack`` says that it is an archive: its members go to the data set's folder, without the archive's own top
    folder.
    """

    url: str
    name: str
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    unpack: bool = False


@dataclass(frozen=True)
class Layout:
    """One way a data set lies on disk: the module of `geco.data.sources` that reads it, and the files it must find."""

    reader: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Sizes:
    """The data set's size as the paper's tables (or its own publication) give it; nodes and edges are means per graph.

    ``once`` says that ``edges`` counts an undirected edge once, while the data set holds it in both directions.
    """

    graphs: int
    nodes: float
    edges: float
    features: int | None = None
    classes: int | None = None
    once: bool = False


@dataclass(frozen=True)
class Spec:
    """What is known of a data set.

    Args:
        name: on the command line.
        title: as the paper writes it.
        licence: of the data.
        level: what is predicted.
        target: kind of prediction, see `geco.data.dataset.Info`.
        num_targets: classes, labels, values or places.
        metric: name of the score.
        better: which way is better.
        split: where the split comes from.
        sizes: published.
        layouts: how it may lie on disk, the preferred one first.
        folders: names its folder may have below the data folder, besides its name.
        remotes: where to get it.
        paper: the paper's score of GECO, if it has one; shares are between 0 and 1, never in percent.
        source: publication or page.
        note: what a reader of a result must know.
    """

    name: str
    title: str
    licence: str
    level: Literal["node", "graph", "link"]
    target: Literal["class", "labels", "values", "tokens"]
    num_targets: int
    metric: str
    better: Literal["higher", "lower"]
    split: str
    sizes: Sizes
    layouts: tuple[Layout, ...]
    folders: tuple[str, ...] = ()
    remotes: tuple[Remote, ...] = ()
    paper: float | None = None
    source: str = ""
    note: str = ""


@dataclass(frozen=True)
class Embedded:
    """What is known of a data set that needs no files.

    Args:
        name: on the command line.
        level: what is predicted.
        target: kind of prediction, see `geco.data.dataset.Info`.
        metric: name of the score.
        maker: what makes it, ``module:function`` of `geco.data.embedded`.
        arguments: of that function.
        depends: the distribution whose version decides what is made, or Python.
        better: which way is better.
    """

    name: str
    level: Literal["node", "graph"]
    target: Literal["class", "tokens"]
    metric: str
    maker: str
    arguments: tuple[int, ...] = ()
    depends: str = "numpy"
    better: Literal["higher", "lower"] = "higher"
