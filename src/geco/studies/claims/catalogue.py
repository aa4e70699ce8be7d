"""What can be studied, by name. Nothing here imports torch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from geco.errors import UsageError

__all__ = ["MEASUREMENTS", "RECORDS", "STUDIES", "Entry", "Measured", "find", "question_of"]


@dataclass(frozen=True)
class Entry:
    """A study as people choose it.

    Args:
        module: that holds its `STUDY`.
        question: what it asks, in a sentence.
        quick: how long ``--quick`` takes, on two cores.
        default: how long it takes without a flag.
        full: how long ``--full`` takes, and what it needs.
    """

    module: str
    question: str
    quick: str
    default: str
    full: str


STUDIES: dict[str, Entry] = {
    "scaling": Entry(
        "geco.studies.claims.scaling",
        "From how many nodes on is GECO faster than attention, and how many times?",
        "10 s", "about 25 min (estimated)", "hours (attention is measured further)",
    ),
    "long-range": Entry(
        "geco.studies.claims.long_range",
        "Who finds an answer that is many edges away, at equal depth?",
        "10 s", "about 1 h (estimated)", "a day (more distances, graphs and seeds)",
    ),
    "mixers": Entry(
        "geco.studies.claims.mixers",
        "Which global mixer is worth its seconds and memory, all else being equal?",
        "10 s", "about 2 h (estimated)", "days, and a GPU",
    ),
    "local-block": Entry(
        "geco.studies.claims.local_block",
        "Is the LCB better than a convolution along the nodes, attention or message passing in its place?",
        "10 s", "about 2 h (estimated)", "days, and a GPU",
    ),
    "permutation": Entry(
        "geco.studies.claims.permutation",
        "Does the order of the nodes matter, and does it give classes away?",
        "10 s", "about 1 h 30 min (estimated)", "a day, the files of Flickr, arxiv, Reddit and Yelp, and a GPU",
    ),
    "encodings": Entry(
        "geco.studies.claims.encodings",
        "Which encoding helps GECO, and with how many columns?",
        "10 s", "about 2 h (estimated)", "days, and a GPU",
    ),
    "nodes": Entry(
        "geco.studies.claims.nodes",
        "Who is best on node sets if every model is tuned with the same number of trials?",
        "30 s", "about 2 h (estimated)", "days, the files of Flickr and arxiv, and a GPU",
    ),
    "survey": Entry(
        "geco.studies.claims.survey",
        "Where does GECO stand among the ways to make a Transformer see the graph?",
        "10 s", "about 2 h (estimated)", "days, the files of Flickr and arxiv, and a GPU",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A measurement as people choose it: a program with options of its own.

    Args:
        module: that is run, as ``python -m`` runs it.
        question: what it tells, in a sentence.
        takes: what must be named for it, such as RUN.
        writes: its option for what it writes, and the name in the folder; two empty ones if it only prints.
        options: whether it has any.
    """

    module: str
    question: str
    takes: str = ""
    writes: tuple[str, str] = ("--json", "results.json")
    options: bool = True


RECORDS, PRINTS = ("--results", "records"), ("", "")  # those of the first kind keep each run and go on themselves
MEASUREMENTS: dict[str, Measured] = {
    "step": Measured(
        "geco.studies.step",
        "How long does one training step take, and what does it hold, beside attention, GPS and SGFormer?",
    ),
    "scale": Measured("geco.studies.scale", "What does doubling the number of nodes cost?"),
    "batch": Measured("geco.studies.batch", "How long does the global block take on a batch of small graphs?"),
    "epoch": Measured("geco.studies.epoch", "How long does a whole epoch take by the engine, beside others?"),
    "hybrids": Measured("geco.studies.hybrids", "What does each mixer cost in a hybrid?"),
    "plans": Measured("geco.studies.plans", "Which way of computing the same is quickest at which size?"),
    "lengths": Measured(
        "geco.studies.lengths", "Which transform lengths are quick?", writes=PRINTS, options=False
    ),
    "grouping": Measured(
        "geco.studies.grouping", "Does it harm to train on batches of graphs of similar size?", "RUN"
    ),
    "sampling": Measured("geco.studies.sampling", "What does one graph lose in sampled batches?"),
    "parameters": Measured(
        "geco.studies.parameters",
        "How many weights have the shipped configurations?", writes=("--out", "parameters.md"),
    ),
    "encoding-speed": Measured("geco.studies.encodings", "How long do encodings take to compute?"),
    "nodes-of-three": Measured(
        "geco.studies.nodes", "Who is best on small node sets if all have the same three trials?", writes=RECORDS
    ),
    "echo": Measured("geco.studies.echo", "Who finds an answer that is 16 or 64 steps away?", writes=RECORDS),
    "parts": Measured("geco.studies.parts", "What does each part of GECO add to the score?", writes=RECORDS),
    "renumber": Measured("geco.studies.renumber", "Do scores depend on how nodes are numbered?", "RUN"),
    "orders": Measured("geco.studies.orders", "How near are neighbours in orders made from the graph?"),
    "statistics": Measured("geco.studies.statistics", "Which statistics should BatchNorm be judged with?"),
    "explanations": Measured(
        "geco.studies.explanations", "Do explanations find the node that holds the answer?", "RUN...", PRINTS
    ),
}  # fmt: skip


def find(name: str) -> Entry:
    """Return the study of a name, or refuse it with the nearest one.

    Example:
        >>> find("scalling")
        Traceback (most recent call last):
        geco.errors.UsageError: no study is called 'scalling'; did you mean `geco study scaling`? ...
    """
    if name in STUDIES:
        return STUDIES[name]
    if name in MEASUREMENTS:
        raise UsageError(f"{name} is a measurement with options of its own, which follow it: geco study {name} ...")
    near = difflib.get_close_matches(name.lower().replace("_", "-"), [*STUDIES, "list", *MEASUREMENTS], 1, 0.5)
    hint = f"did you mean `geco study {near[0]}`? " if near else ""
    raise UsageError(f"no study is called {name!r}; {hint}`geco study list` shows all: {', '.join(STUDIES)}")


def question_of(name: str) -> str:
    """Return what a study or a measurement tells.

    Example:
        >>> question_of("scale")
        'What does doubling the number of nodes cost?'
    """
    return MEASUREMENTS[name].question if name in MEASUREMENTS else find(name).question
