"""What a layer sends, counted: within the bound for whole rings, and for the default filters not by the number of
nodes.
"""

from __future__ import annotations

import pytest

from geco.studies import traffic
from geco.studies.traffic import CHANNELS, KINDS, Layer, bound, counted

SIZE, NODES = 2, (768, 3072)  # P, and N that it divides
SMOOTH = ("mean", "waves", "windows")
LITERAL = [Layer("paper", n, graph) for graph in ("neighbours", "random") for n in NODES]  # type: ignore[arg-type]
LAYERS = [*(Layer(filter, n) for filter in SMOOTH for n in NODES), *LITERAL]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sent() -> dict[Layer, list[dict[str, int]]]:
    """What each rank sends, by layer."""
    return dict(zip(LAYERS, map(list, zip(*counted(LAYERS, SIZE), strict=True)), strict=True))


@pytest.mark.dist
@pytest.mark.parametrize("way", ["forward", "backward"])
@pytest.mark.parametrize("layer", LITERAL, ids=str)
def test_whole_rings_stay_within_the_bound(layer: Layer, way: str, sent: dict[Layer, list[dict[str, int]]]) -> None:
    for rank in sent[layer]:
        rows = sum(rank[f"{way} {kind}"] for kind in ("edges", "ring", "channels"))
        assert 0 < rows <= bound(layer.nodes, SIZE)
        assert rank[f"{way} sum"] <= 8 * CHANNELS  # mean and variance of 2 D columns, to and from the others
        assert rank[f"{way} ring"] == 0


@pytest.mark.dist
@pytest.mark.parametrize("filter", SMOOTH)
def test_default_filters_send_as_much_whatever_the_nodes(filter: str, sent: dict[Layer, list[dict[str, int]]]) -> None:
    few, many = (sent[Layer(filter, n)] for n in NODES)  # type: ignore[arg-type]
    assert few == many
    for rank in many:
        assert rank["forward channels"] == rank["backward channels"] == 0
        assert rank["forward edges"] == rank["backward edges"] == 4 * CHANNELS  # two nodes on either side
        support = 128 if filter == "windows" else 0
        assert rank["forward ring"] == rank["backward ring"] == 2 * 2 * support * CHANNELS  # of K = 2 values


@pytest.mark.dist
def test_the_command_prints_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    traffic.main(["--ranks", "2", "--nodes", "64"])
    out = capsys.readouterr().out
    assert all(word in out for word in (*KINDS, "neighbours", "random", *SMOOTH, "paper"))
