"""What can be studied, by name. Nothing here imports torch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from geco.errors import UsageError

__all__ = ["MEASUREMENTS", "STUDIES", "Entry", "find"]


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
    "survey": Entry(
        "geco.studies.claims.survey",
        "Where does GECO stand among the ways to make a Transformer see the graph?",
        "10 s", "about 1 h 30 min (estimated)", "days, the files of Flickr and arxiv, and a GPU",
    ),
}  # fmt: skip

# Measurements of parts of this implementation: `python -m geco.studies.NAME`.
MEASUREMENTS: dict[str, str] = {
    "step": "How long does one training step take, and what does it hold, beside attention, GPS and SGFormer?",
    "scale": "What does doubling the number of nodes cost?",
    "batch": "How long does the global block take on a batch of small graphs?",
    "epoch": "How long does a whole epoch take by the engine, beside others?",
    "hybrids": "What does each mixer cost in a hybrid?",
    "plans": "Which way of computing the same is quickest at which size?",
    "lengths": "Which transform lengths are quick?",
    "grouping": "Does it harm to train on batches of graphs of similar size?",
    "sampling": "What does one graph lose in sampled batches?",
    "parameters": "How many weights have the shipped configurations?",
    "encodings": "How long do encodings take to compute?",
    "nodes": "Who is best on small node sets if all are tuned alike?",
    "echo": "Who finds an answer that is 16 or 64 steps away?",
    "parts": "What does each part of GECO add to the score?",
    "renumber": "Do scores depend on how nodes are numbered?",
    "orders": "How near are neighbours in orders made from the graph?",
    "statistics": "Which statistics should BatchNorm be judged with?",
    "explanations": "Do explanations find the node that holds the answer?",
}


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
        raise UsageError(f"{name!r} is a measurement of its own: `python -m geco.studies.{name}`")
    near = difflib.get_close_matches(name.lower().replace("_", "-"), [*STUDIES, "list"], 1, 0.5)
    hint = f"did you mean `geco study {near[0]}`? " if near else ""
    raise UsageError(f"no study is called {name!r}; {hint}`geco study list` shows all: {', '.join(STUDIES)}")
