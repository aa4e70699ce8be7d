from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.data.user.names import Names
from geco.data.user.read import read_own
from geco.errors import UsageError
from geco.nn.network.network import Network
from geco.train.config import Config, DataConfig, ModelConfig
from geco.train.explained import Explainer, explainer
from geco.train.trained_run import Run, load_run
from tests.train.runs import MANY, ONE


def run_on(dataset, body: str = "geco", columns: int = 8) -> Run:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    net = Network(body, columns, dataset.info.level, dataset.info.num_targets, hidden_channels=8)
    return Run(net.eval(), dataset.info, Config(DataConfig("test"), ModelConfig(body)), None)


def named() -> Explainer:
    names = Names(tuple(f"n{i % 100}" for i in range(MANY.num_nodes)), tuple(f"ring {i}" for i in range(len(MANY))))
    return replace(explainer(run_on(MANY, columns=6), MANY), names=names)


def test_nodes_by_number_give_what_the_network_predicts() -> None:
    run = run_on(ONE)
    found = run.explain(node=7, data=ONE)
    p = run.predict(ONE)[7]
    assert found.value == pytest.approx(float(p.max()), abs=1e-5)
    assert found.quantity == f"probability of class {int(p.argmax())}"
    assert found.asked == "node 7"
    assert run.explain(node="7", data=ONE).value == found.value


def test_the_target_may_be_chosen() -> None:
    run = run_on(ONE)
    p = run.predict(ONE)[7]
    for target in (0, 1):
        assert run.explain(7, data=ONE, target=target).value == pytest.approx(float(p[target]), abs=1e-5)


def test_a_node_of_a_graph_among_many() -> None:
    run, first = run_on(MANY, columns=6), MANY.arrays["ptr/node"]
    row = int(first[3]) + 2
    assert run.explain(2, 3, MANY).value == pytest.approx(float(run.predict(MANY)[row].max()), abs=1e-5)


def test_ids_name_nodes_and_graphs() -> None:
    on = named()
    rows = [i for i, name in enumerate(on.names.nodes) if name == "n5"]
    assert on.explain("n5", "ring 0").value == on.explain(5, 0).value
    assert on.explain("n5", "ring 0").asked == "node n5 of graph ring 0"
    assert on.explain("n5", "ring 0").nodes[0].name.startswith("n")
    assert len(rows) > 1
    with pytest.raises(UsageError, match=f"{len(rows)} graphs have a node called 'n5'; say which, by --graph"):
        on.explain("n5")


def test_a_unique_id_needs_no_graph() -> None:
    on = named()
    names = tuple(f"m{i}" for i in range(MANY.num_nodes))
    unique, row = replace(on, names=replace(on.names, nodes=names)), int(MANY.arrays["ptr/node"][2]) + 1
    assert unique.explain(f"m{row}").asked == f"node m{row} of graph ring 2"


@pytest.mark.parametrize(
    ("node", "graph", "words"),
    [
        ("n500", "ring 0", "no node is called 'n500'; did you mean 'n5"),
        ("n5", "rin 7", "no graph is called 'rin 7'; did you mean 'ring"),
        (5, 40, "graphs are numbered 0 to 39, got 40"),
        (99, 0, "nodes are numbered 0 to"),
        (-1, 0, "nodes are numbered 0 to"),
        (0, None, "there are 40 graphs; say which"),
        (None, 0, "say which node, by --node"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(node, graph, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        named().explain(node, graph)


def test_nodes_without_ids_are_numbered() -> None:
    with pytest.raises(UsageError, match="nodes have no ids here, they are numbered 0 to 59; got 'alice'"):
        run_on(ONE).explain("alice", data=ONE)


def test_tasks_that_are_not_explained_are_refused_before_data_is_read() -> None:
    run = run_on(ONE)
    for about, words in (("link", "links between pairs"), ("graph", "sequence of tokens")):
        info = replace(run.info, level=about, target="tokens")
        with pytest.raises(UsageError, match=words):
            explainer(replace(run, info=info))


def test_attention_is_of_geco_only() -> None:
    with pytest.raises(UsageError, match="only GECO has a surrogate attention"):
        explainer(run_on(ONE, "gcn"), ONE).attention(3)
    layers = explainer(run_on(ONE), ONE).attention(3, top=4)
    assert [len(layer.rows) for layer in layers] == [4, 4]


@pytest.mark.parametrize("body", ["gcn", "hybrid"])
def test_every_network_is_explained(body: str) -> None:
    assert len(run_on(ONE, body).explain(3, data=ONE).nodes) == 60


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A folder of tables whose nodes have names, imported as people and trained on."""
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))

    def made(prefix: str) -> Path:
        folder = tmp_path / prefix
        folder.mkdir()
        rows = [f"{prefix}{i},{i * i % 7},{'ab'[i % 2]}" for i in range(40)]
        (folder / "nodes.csv").write_text("\n".join(["name,size,team", *rows]) + "\n")
        edges = [f"{prefix}{i},{prefix}{(i + step) % 40}" for i in range(40) for step in (1, 7)]
        (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
        return folder

    main(["data", "import", str(made("p")), "--name", "people", "--id", "name", "--label", "team"])
    words = ["--train.epochs", "2", "--model.hidden", "8", "--train.threads", "1", "--out", str(tmp_path / "r")]
    main(["train", "people", *words])
    return made


def test_ids_of_imported_data_come_in_and_out(people: Callable[[str], Path], tmp_path: Path) -> None:
    run = load_run(tmp_path / "r")
    found = run.explain("p7")
    assert found.asked == "node p7"
    assert {effect.name for effect in found.nodes} == {f"p{i}" for i in range(40)}
    dataset, _ = read_own(tmp_path / "p", schema=run.schema)
    assert found.value == pytest.approx(float(run.predict(dataset)[7].max()), abs=1e-5)
    assert found.quantity in ("probability of class a", "probability of class b")
    assert run.explain("p7", target="a").value + run.explain("p7", target="b").value == pytest.approx(1, abs=1e-5)
    with pytest.raises(UsageError, match="no node is called 'q7'"):
        run.explain("q7")


def test_new_files_bring_ids_of_their_own(people: Callable[[str], Path], tmp_path: Path) -> None:
    run = load_run(tmp_path / "r")
    new = run.explain("q7", data=people("q"))
    assert new.asked == "node q7"
    assert new.value == pytest.approx(run.explain("p7").value, abs=1e-5)
