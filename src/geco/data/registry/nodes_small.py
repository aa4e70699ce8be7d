"""Single graphs people try first: citations, co-purchases, co-authors, and the five heterophilous ones."""

from __future__ import annotations

from typing import Literal

from geco.data.registry.spec import Layout, Remote, Sizes, Spec

__all__ = ["CITATIONS", "COMMUNITIES", "HETEROPHILOUS"]

_PLANETOID = "Yang et al., Planetoid, 2016, arXiv:1603.08861"
_PITFALLS = "Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018, arXiv:1811.05868"
_CRITICAL = "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, 2023, arXiv:2302.11640"

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")  # the order of the checksums below
_CORA = (
    "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
)
_PUBMED = (
    "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
)
_UNKNOWN = (None,) * len(_PARTS)


def _citations(title: str, folder: str, sizes: Sizes, sha256: tuple[str | None, ...]) -> Spec:
    name = title.lower()
    files = tuple(f"ind.{name}.{part}" for part in _PARTS)
    address = "https://github.com/kimiyoung/planetoid/raw/master/data"
    return Spec(
        name=name,
        title=title,
        licence="MIT, of the repository that publishes it",
        level="node",
        target="class",
        num_targets=sizes.classes or 0,
        metric="accuracy",
        better="higher",
        split="Planetoid's public split: 20 training nodes of each class, 500 for validation, 1,000 for test",
        sizes=sizes,
        layouts=(Layout("planetoid", files),),
        folders=("planetoid", f"{folder}/raw"),
        remotes=tuple(Remote(f"{address}/{file}", file, known) for file, known in zip(files, sha256, strict=True)),
        source=_PLANETOID,
        note="Features are as published, not normalised.",
    )


CITATIONS = (
    _citations("Cora", "Cora", Sizes(1, 2_708, 10_556, 1_433, 7), _CORA),
    _citations("Citeseer", "CiteSeer", Sizes(1, 3_327, 9_104, 3_703, 6), _UNKNOWN),
    _citations("Pubmed", "PubMed", Sizes(1, 19_717, 88_648, 500, 3), _PUBMED),
)


def _community(name: str, title: str, folder: str, file: str, sizes: Sizes) -> Spec:
    return Spec(
        name=name,
        title=title,
        licence="MIT, of the repository that publishes it",
        level="node",
        target="class",
        num_targets=sizes.classes or 0,
        metric="accuracy",
        better="higher",
        split="60/20/20 %: that of split.npz where it lies beside the graph, else stratified by class from seed 0",
        sizes=sizes,
        layouts=(
            Layout("npz_graph", ("graph.npz", "split.npz")),
            Layout("npz_graph", (file, "split.npz")),
            Layout("npz_graph", (file,)),
        ),
        folders=(f"{folder}/raw",),
        remotes=(Remote(f"https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{file}", file),),
        source=_PITFALLS,
        note="It has no public split: compare scores on the same split only. "
        "Word counts are read as present or absent.",
    )


COMMUNITIES = (
    _community(
        "amazon-photo", "Amazon Photo", "Photo", "amazon_electronics_photo.npz", Sizes(1, 7_650, 238_162, 745, 8)
    ),
    _community(
        "amazon-computers",
        "Amazon Computers",
        "Computers",
        "amazon_electronics_computers.npz",
        Sizes(1, 13_752, 491_722, 767, 10),
    ),
    _community("coauthor-cs", "Coauthor CS", "CS", "ms_academic_cs.npz", Sizes(1, 18_333, 163_788, 6_805, 15)),
    _community(
        "coauthor-physics", "Coauthor Physics", "Physics", "ms_academic_phy.npz", Sizes(1, 34_493, 495_924, 8_415, 5)
    ),
)


def _heterophilous(
    name: str, title: str, nodes: int, edges: int, features: int, classes: int, sha256: str | None = None
) -> Spec:
    stem = name.replace("-", "_")
    target: Literal["class", "labels"] = "labels" if classes == 2 else "class"
    return Spec(
        name=name,
        title=title,
        licence="MIT, of the repository that publishes it",
        level="node",
        target=target,
        num_targets=1 if classes == 2 else classes,
        metric="auroc" if classes == 2 else "accuracy",
        better="higher",
        split="the publisher's ten random splits, 50/25/25 % of the nodes",
        sizes=Sizes(1, nodes, edges, features, classes, once=True),
        layouts=(Layout("heterophilous", (f"{stem}.npz",)),),
        folders=(f"{stem}/raw",) if stem == name else (stem, f"{stem}/raw"),
        remotes=(
            Remote(
                f"https://github.com/yandex-research/heterophilous-graphs/raw/main/data/{stem}.npz",
                f"{stem}.npz",
                sha256,
            ),
        ),
        source=_CRITICAL,
        note="Published scores are means over the ten splits.",
    )


HETEROPHILOUS = (
    _heterophilous("roman-empire", "Roman-empire", 22_662, 32_927, 300, 18),
    _heterophilous("amazon-ratings", "Amazon-ratings", 24_492, 93_050, 300, 5),
    _heterophilous("minesweeper", "Minesweeper", 10_000, 39_402, 7, 2),
    _heterophilous(
        "tolokers",
        "Tolokers",
        11_758,
        519_000,
        10,
        2,
        "dacf3ac94cec53d03cd2adb5255c08b33dee1656c33ca8164a464bd9450a1667",
    ),
    _heterophilous("questions", "Questions", 48_921, 153_540, 301, 2),
)
