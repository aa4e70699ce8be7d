"""Large single graphs: the paper's four, WordNet, and two known by their structure only."""

from __future__ import annotations

from geco.data.registry.spec import Layout, Remote, Sizes, Spec

__all__ = ["LARGE", "STRUCTURE", "WORDNET"]

_INDUCTIVE = (
    "GraphSAINT trains on the training part of the graph only; here all nodes and edges are seen, labels of the split "
    "only."
)
_RANDOM = "The publisher's features are missing: these are random, and no score is comparable with any published one."
_SAINT = Layout("saint", ("adj_full.npz", "feats.npy", "class_map.json", "role.json"))
_EDGES = ("raw/edge.csv.gz", "raw/num-node-list.csv.gz", "raw/num-edge-list.csv.gz")
_ARXIV = (
    "raw/node-label.csv.gz",
    "raw/node_year.csv.gz",
    "split/time/train.csv.gz",
    "split/time/valid.csv.gz",
    "split/time/test.csv.gz",
)


def _drive(name: str, file_id: str) -> Remote:
    return Remote(f"https://drive.usercontent.google.com/download?id={file_id}&confirm=t", name)


FLICKR = Spec(
    name="flickr",
    title="Flickr",
    licence="not stated by the publisher",
    level="node",
    target="class",
    num_targets=7,
    metric="accuracy",
    better="higher",
    split="GraphSAINT's, 50/25/25 % of the nodes",
    sizes=Sizes(1, 89_250, 899_756, 500, 7),
    layouts=(_SAINT,),
    folders=("Flickr", "Flickr/raw", "flickr/raw"),
    remotes=(
        _drive("adj_full.npz", "1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy"),
        _drive("feats.npy", "1join-XdvX3anJU_MLVtick7MgeAQiWIZ"),
        _drive("class_map.json", "1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9"),
        _drive("role.json", "1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7"),
    ),
    paper=0.5555,
    source="Zeng et al., GraphSAINT, 2020, arXiv:1907.04931",
    note=_INDUCTIVE,
)

ARXIV = Spec(
    name="ogbn-arxiv",
    title="ogbn-arxiv",
    licence="ODC-BY",
    level="node",
    target="class",
    num_targets=40,
    metric="accuracy",
    better="higher",
    split="OGB's, by year: training up to 2017, validation 2018, test from 2019",
    sizes=Sizes(1, 169_343, 1_166_243, 128, 40),
    layouts=(Layout("ogb_node", (*_EDGES, "raw/node-feat.csv.gz", *_ARXIV)),),
    folders=("ogbn_arxiv", "arxiv"),
    remotes=(Remote("https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip", "arxiv.zip", unpack=True),),
    paper=0.7310,
    source="Hu et al., Open Graph Benchmark, 2020, arXiv:2005.00687",
    note="Edges are directed, from the citing paper, as published; "
    "torch_geometric.transforms.ToUndirected adds the others.",
)

REDDIT = Spec(
    name="reddit",
    title="Reddit",
    licence="not stated by the publisher",
    level="node",
    target="class",
    num_targets=41,
    metric="accuracy",
    better="higher",
    split="GraphSAGE's, by time: the first 20 days for training, the rest for validation and test",
    sizes=Sizes(1, 232_965, 114_615_892, 602, 41),
    layouts=(Layout("reddit", ("reddit_data.npz", "reddit_graph.npz")),),
    folders=("Reddit", "Reddit/raw", "reddit/raw"),
    remotes=(Remote("https://data.dgl.ai/dataset/reddit.zip", "reddit.zip", unpack=True),),
    paper=0.9665,
    source="Hamilton et al., GraphSAGE, 2017, arXiv:1706.02216",
)

YELP = Spec(
    name="yelp",
    title="Yelp",
    licence="not stated by the publisher; derived from the Yelp Open Dataset, which has its own terms",
    level="node",
    target="labels",
    num_targets=100,
    metric="micro-f1",
    better="higher",
    split="GraphSAINT's, 75/10/15 % of the nodes",
    sizes=Sizes(1, 716_847, 13_954_819, 300, 100),
    layouts=(_SAINT,),
    folders=("Yelp", "Yelp/raw", "yelp/raw"),
    remotes=(
        _drive("adj_full.npz", "1Juwx8HtDwSzmVIJ31ooVa1WljI4U5JnA"),
        _drive("feats.npy", "1Zy6BZH_zLEjKlEFSduKE5tV9qqA_8VtM"),
        _drive("class_map.json", "1VUcBGr0T0-klqerjAjxRmAqFuld_SMWU"),
        _drive("role.json", "1NI5pa5Chpd-52eSmLW60OnB3WS5ikxq_"),
    ),
    paper=0.6318,
    source="Zeng et al., GraphSAINT, 2020, arXiv:1907.04931",
    note=_INDUCTIVE,
)

LARGE = (FLICKR, ARXIV, REDDIT, YELP)

WORDNET = Spec(
    name="wordnet",
    title="WordNet 3.0",
    licence="WordNet 3.0 licence",
    level="node",
    target="class",
    num_targets=45,
    metric="accuracy",
    better="higher",
    split="random, 50/25/25 % of the nodes, in the file",
    sizes=Sizes(1, 117_659, 183_789, 500, 45, once=True),
    layouts=(Layout("wordnet", ("wordnet30.npz",)),),
    source="Fellbaum, WordNet, 1998, https://wordnet.princeton.edu",
    note="Not a published benchmark. The file's node order follows the classes, so the natural order gives them away.",
)

STRUCTURE = (
    Spec(
        name="flickr-structure",
        title="Flickr, random features",
        licence="not stated by the publisher",
        level="node",
        target="class",
        num_targets=7,
        metric="accuracy",
        better="higher",
        split=FLICKR.split,
        sizes=FLICKR.sizes,
        layouts=(Layout("structure", ("adj_full.npz", "class_map.json", "role.json")),),
        source=FLICKR.source,
        note=_RANDOM,
    ),
    Spec(
        name="ogbn-arxiv-structure",
        title="ogbn-arxiv, random features",
        licence="ODC-BY",
        level="node",
        target="class",
        num_targets=40,
        metric="accuracy",
        better="higher",
        split=ARXIV.split,
        sizes=ARXIV.sizes,
        layouts=(Layout("structure", ("adj_full.npz", *_ARXIV)),),
        source=ARXIV.source,
        note=_RANDOM,
    ),
)
