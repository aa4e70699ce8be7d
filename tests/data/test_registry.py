"""Every spec is complete and true to what is published; the real data sets on disk have the sizes it says."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from geco.data.cache import Cache
from geco.data.registry import DATASETS, Spec, find
from geco.errors import DataError

# The paper's two tables: graphs, mean nodes, mean edges; its score; what is better.
PAPER = {
    "flickr": (1, 89_250, 899_756, 0.5555, "accuracy", "higher"),
    "ogbn-arxiv": (1, 169_343, 1_166_243, 0.7310, "accuracy", "higher"),
    "reddit": (1, 232_965, 114_615_892, 0.9665, "accuracy", "higher"),
    "yelp": (1, 716_847, 13_954_819, 0.6318, "micro-f1", "higher"),
    "pascalvoc-sp": (11_355, 479.4, 2_710.5, 0.4210, "macro-f1", "higher"),
    "coco-sp": (123_286, 476.9, 2_693.7, 0.3320, "macro-f1", "higher"),
    "peptides-func": (15_535, 150.9, 307.3, 0.6975, "ap", "higher"),
    "peptides-struct": (15_535, 150.9, 307.3, 0.2464, "mae", "lower"),
    "pcqm-contact": (529_434, 30.1, 61.0, 0.3526, "mrr", "higher"),
    "ogbg-molhiv": (41_127, 25.5, 27.5, 0.7980, "auroc", "higher"),
    "ogbg-molpcba": (437_929, 26.0, 28.1, 0.2961, "ap", "higher"),
    "ogbg-ppa": (158_100, 243.4, 2_266.1, 0.7982, "accuracy", "higher"),
    "ogbg-code2": (452_741, 125.2, 124.2, 0.1915, "token-f1", "higher"),
    "pcqm4mv2": (3_746_620, 14.1, 14.6, 0.0841, "mae", "lower"),
}
OTHERS = {
    *("cora", "citeseer", "pubmed", "amazon-photo", "amazon-computers", "coauthor-cs", "coauthor-physics"),
    *("roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions"),
    *("wordnet", "flickr-structure", "ogbn-arxiv-structure"),
}
every = pytest.mark.parametrize("spec", DATASETS.values(), ids=list(DATASETS))


def test_all_are_there() -> None:
    assert set(DATASETS) == {*PAPER, *OTHERS}


@pytest.mark.parametrize("name", PAPER)
def test_numbers_are_the_paper_s(name: str) -> None:
    spec = find(name)
    assert (spec.sizes.graphs, spec.sizes.nodes, spec.sizes.edges, spec.paper, spec.metric, spec.better) == PAPER[name]


@every
def test_spec_is_complete(spec: Spec) -> None:
    assert all((spec.title, spec.licence, spec.split, spec.source, spec.num_targets > 0, spec.layouts))
    assert spec.better == ("lower" if spec.metric == "mae" else "higher")
    assert spec.metric in {"accuracy", "micro-f1", "macro-f1", "auroc", "ap", "mae", "mrr", "token-f1"}
    assert (spec.paper is not None) == (spec.name in PAPER)
    if spec.target == "class":
        assert spec.num_targets == spec.sizes.classes
        assert spec.metric in {"accuracy", "macro-f1"}
    assert spec.level != "node" or spec.sizes.features
    assert len({spec.name, *spec.folders}) == 1 + len(spec.folders)


@every
def test_layouts_have_readers_and_remotes_fill_one(spec: Spec) -> None:
    for layout in spec.layouts:
        assert importlib.util.find_spec(f"geco.data.sources.{layout.reader}") is not None, layout.reader
        assert len(set(layout.files)) == len(layout.files) > 0
    plain = {remote.name for remote in spec.remotes if not remote.unpack}
    archives = [remote for remote in spec.remotes if remote.unpack]
    offline = spec.name == "wordnet" or spec.name.endswith("-structure")
    assert offline or archives or any(plain == set(layout.files) for layout in spec.layouts)
    assert not offline or not spec.remotes


@every
def test_addresses_are_safe_and_checksums_well_formed(spec: Spec) -> None:
    for remote in spec.remotes:
        assert urlsplit(remote.url).scheme == "https"
        assert Path(remote.name).name == remote.name
        assert remote.sha256 is None or re.fullmatch("[0-9a-f]{64}", remote.sha256)
        assert remote.md5 is None or re.fullmatch("[0-9a-f]{32}", remote.md5)
    assert all(not Path(file).is_absolute() and ".." not in Path(file).parts for file in (*spec.folders, *_files(spec)))


def _files(spec: Spec) -> list[str]:
    return [file for layout in spec.layouts for file in layout.files]


@pytest.mark.parametrize(
    ("wrong", "near"), [("coar", "cora"), ("OGBN-Arxiv", "ogbn-arxiv"), ("peptide", "peptides-func")]
)
def test_near_names_are_suggested(wrong: str, near: str) -> None:
    with pytest.raises(DataError, match=f"{wrong!r}; did you mean .*{near}"):
        find(wrong)


def test_name_near_nothing_shows_the_way() -> None:
    with pytest.raises(DataError, match=r"geco data list.*geco data import"):
        find("xyzzyplugh")


def test_importing_it_needs_no_torch() -> None:
    code = (
        "import sys, geco.data.registry; print([m for m in ('torch', 'numpy', 'pandas', 'scipy') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


REAL = ["cora", "pubmed", "amazon-photo", "amazon-computers", "coauthor-cs", "tolokers", "wordnet"]


@pytest.mark.real
@pytest.mark.parametrize("name", [*REAL, "flickr-structure", "ogbn-arxiv-structure"])
def test_real_data_has_the_published_size(name: str, tmp_path: Path) -> None:
    from geco.data.load_dataset import load

    dataset = load(name, data_dir=Path(os.environ["GECO_DATA"]), cache=Cache(tmp_path), offline=True)
    sizes = find(name).sizes
    assert (len(dataset), dataset.num_nodes) == (sizes.graphs, sizes.nodes)
    assert dataset.num_edges == sizes.edges * (2 if sizes.once else 1)
    assert dataset[0].x.shape[1] == sizes.features
    assert int(dataset[0].y.max()) + 1 == sizes.classes
    assert dataset.num_splits == (10 if name == "tolokers" else 1)


@pytest.mark.real
def test_checksums_are_those_of_the_real_files() -> None:
    data = Path(os.environ["GECO_DATA"])
    known = [
        (data / folder / r.name, r.sha256)
        for s in DATASETS.values()
        for folder in (s.name, *s.folders)
        for r in s.remotes
    ]
    found = [(path, digest) for path, digest in known if digest and path.is_file()]
    assert len(found) == 8 + 8 + 1 + 2  # cora, pubmed, tolokers, peptides-func
    assert not [path for path, digest in found if hashlib.sha256(path.read_bytes()).hexdigest() != digest]
