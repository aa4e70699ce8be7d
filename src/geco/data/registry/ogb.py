"""The Open Graph Benchmark's data sets of many graphs, as far as the paper uses them."""

from __future__ import annotations

from geco.data.registry.spec import Layout, Remote, Sizes, Spec

__all__ = ["OGB"]

_OGB = "Hu et al., Open Graph Benchmark, 2020, arXiv:2005.00687"
_DATA = "https://snap.stanford.edu/ogb/data/graphproppred"
_RAW = ("raw/edge.csv.gz", "raw/num-node-list.csv.gz", "raw/num-edge-list.csv.gz", "raw/graph-label.csv.gz")
_ATOMS = (*_RAW, "raw/node-feat.csv.gz", "raw/edge-feat.csv.gz")


def _split(kind: str) -> tuple[str, ...]:
    return tuple(f"split/{kind}/{part}.csv.gz" for part in ("train", "valid", "test"))


OGB = (
    Spec(
        name="ogbg-molhiv",
        title="Molhiv",
        licence="MIT",
        level="graph",
        target="labels",
        num_targets=1,
        metric="auroc",
        better="higher",
        split="OGB's, by scaffold",
        sizes=Sizes(41_127, 25.5, 27.5, 9, once=True),
        layouts=(
            Layout("ogb_graph", (*_ATOMS, *_split("scaffold"))),
            Layout("molhiv_csv", ("hiv_mol.csv.zip", *_split("scaffold"))),
        ),
        folders=("ogbg_molhiv", "hiv"),
        remotes=(Remote(f"{_DATA}/csv_mol_download/hiv.zip", "hiv.zip", unpack=True),),
        paper=0.7980,
        source=_OGB,
    ),
    Spec(
        name="ogbg-molpcba",
        title="Molpcba",
        licence="MIT",
        level="graph",
        target="labels",
        num_targets=128,
        metric="ap",
        better="higher",
        split="OGB's, by scaffold",
        sizes=Sizes(437_929, 26.0, 28.1, 9, once=True),
        layouts=(Layout("ogb_graph", (*_ATOMS, *_split("scaffold"))),),
        folders=("ogbg_molpcba", "pcba"),
        remotes=(Remote(f"{_DATA}/csv_mol_download/pcba.zip", "pcba.zip", unpack=True),),
        paper=0.2961,
        source=_OGB,
        note="Many labels are missing; they count neither in the loss nor in the score.",
    ),
    Spec(
        name="ogbg-ppa",
        title="PPA",
        licence="CC0 1.0",
        level="graph",
        target="class",
        num_targets=37,
        metric="accuracy",
        better="higher",
        split="OGB's, by species",
        sizes=Sizes(158_100, 243.4, 2_266.1, classes=37, once=True),
        layouts=(Layout("ogb_graph", (*_RAW, "raw/edge-feat.csv.gz", *_split("species"))),),
        folders=("ogbg_ppa", "ogbg_ppi_medium"),
        remotes=(Remote(f"{_DATA}/ogbg_ppi_medium.zip", "ogbg_ppi_medium.zip", unpack=True),),
        paper=0.7982,
        source=_OGB,
        note="Its nodes have no features.",
    ),
    Spec(
        name="ogbg-code2",
        title="Code2",
        licence="MIT",
        level="graph",
        target="tokens",
        num_targets=5,
        metric="token-f1",
        better="higher",
        split="OGB's, by project",
        sizes=Sizes(452_741, 125.2, 124.2, 2),
        layouts=(
            Layout(
                "ogb_code2",
                (
                    *_RAW,
                    "raw/node-feat.csv.gz",
                    "raw/node_is_attributed.csv.gz",
                    "raw/node_dfs_order.csv.gz",
                    "raw/node_depth.csv.gz",
                    *_split("project"),
                ),
            ),
        ),
        folders=("ogbg_code2", "code2"),
        remotes=(Remote(f"{_DATA}/code2.zip", "code2.zip", unpack=True),),
        paper=0.1915,
        source=_OGB,
    ),
    Spec(
        name="pcqm4mv2",
        title="PCQM4Mv2",
        licence="CC BY 4.0",
        level="graph",
        target="values",
        num_targets=1,
        metric="mae",
        better="lower",
        split="GraphGPS's: 150,000 training molecules drawn from seed 42 for validation, OGB's validation set for test",
        sizes=Sizes(3_746_620, 14.1, 14.6, 9, once=True),
        layouts=(Layout("pcqm4mv2", ("raw/data.csv.gz", "split_dict.pt")),),
        folders=("pcqm4m-v2",),
        remotes=(
            Remote(
                "https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/pcqm4m-v2.zip",
                "pcqm4m-v2.zip",
                unpack=True,
            ),
        ),
        paper=0.0841,
        source="Hu et al., OGB-LSC, 2021, arXiv:2103.09430",
        note="OGB keeps the labels of its test sets to itself, so its validation set is the test set here.",
    ),
)
