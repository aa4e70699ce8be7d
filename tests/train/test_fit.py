"""`geco.fit` is `geco train` from Python: equal numbers, every kind of input, and words for people."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import geco
from geco import fit, load_run
from geco.cli.main import main
from geco.data.cache import Cache
from geco.data.embedded.synthetic import erdos_renyi
from geco.data.user.read import read_own
from geco.errors import CheckpointError, DataError, GecoError, NumericalError, UsageError
from geco.train.config import Config, ModelConfig, TrainConfig, read_toml
from geco.train.engine import Trainer
from geco.train.kept import Kept
from tests.train.runs import MANY, SMALL, left_by, on_call

QUICK: dict[str, Any] = {"epochs": 3, "hidden": 8, "threads": 1}
FLAGS = ("--train.epochs", "3", "--model.hidden", "8", "--train.threads", "1")


def one(nodes: int = 40, seed: int = 0) -> Data:
    """Return a graph whose nodes are of the class that their first feature says, edges both ways."""
    draw = torch.Generator().manual_seed(seed)
    x, ends = torch.randn(nodes, 4, generator=draw), torch.randint(0, nodes, (2, 3 * nodes), generator=draw)
    return Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], 1).unique(dim=1), y=(x[:, 0] > 0).long())


def many(count: int = 30, **changes: Any) -> list[Data]:
    """Return graphs of several sizes, each with a value, large as units of people are."""
    graphs = [one(5 + number % 7, seed=number) for number in range(count)]
    for graph in graphs:
        graph.y = 1000 + 50 * graph.x[:, 0].mean().view(1)
        for name, value in changes.items():
            graph[name] = value(graph)
    return graphs


def weights(run: geco.train.trained_run.Run) -> dict[str, torch.Tensor]:
    return run.network.state_dict()


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_a_named_data_set_is_trained_bit_by_bit_as_by_the_command(tmp_path: Path) -> None:
    main(["train", "digits", *FLAGS, "--seeds", "0", "1", "--out", str(tmp_path / "a")])
    run = fit("digits", **QUICK, seeds=(0, 1), out=tmp_path / "b")
    for seed in ("seed-0", "seed-1"):
        by_words, by_fit = left_by(tmp_path / "a" / seed), left_by(tmp_path / "b" / seed)
        assert by_words["metrics"] == by_fit["metrics"]
        assert by_words["result"] == by_fit["result"]
        assert same(by_words["arrays"], by_fit["arrays"])
        assert (tmp_path / "a" / seed / "config.toml").read_text() == (
            tmp_path / "b" / seed / "config.toml"
        ).read_text()
    assert same(weights(run), weights(fit("digits", **QUICK)))  # in memory too


def test_a_graph_in_memory_is_trained_bit_by_bit_as_its_file(tmp_path: Path) -> None:
    torch.save(one().to_dict(), tmp_path / "own.pt")
    main(["data", "import", str(tmp_path / "own.pt"), "--name", "own"])
    main(["train", "own", *FLAGS, "--out", str(tmp_path / "a")])
    run = fit(one(), **QUICK)
    assert same(weights(run), weights(load_run(tmp_path / "a")))
    assert run.scores == load_run(tmp_path / "a").scores


def test_predictions_are_those_of_the_command(tmp_path: Path) -> None:
    run = fit(one(), **QUICK, out=str(tmp_path / "r"))
    torch.save(one(seed=5).to_dict(), tmp_path / "new.pt")
    main(["predict", str(tmp_path / "r"), "--data", str(tmp_path / "new.pt"), "-o", str(tmp_path / "o.csv")])
    rows = [line.split(",") for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    found = run.predict(one(seed=5))
    assert torch.allclose(found, torch.tensor([[float(p) for p in row[2:]] for row in rows]), atol=1e-5)
    assert [int(row[1]) for row in rows] == found.argmax(1).tolist()


def test_commands_use_what_was_trained_on_graphs_in_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = fit(many(), **QUICK, seeds=(0, 1), out=tmp_path / "r")
    main(["eval", str(tmp_path / "r")])
    assert f"{run.scores['mean']['test']:.4f}" in capsys.readouterr().out
    main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "page.html")])
    assert "graphs" in (tmp_path / "page.html").read_text()
    main(["explain", str(tmp_path / "r"), "--node", "1"])
    assert "what acts most on node 1" in capsys.readouterr().out


def test_saved_runs_load_and_predict_the_same(tmp_path: Path) -> None:
    run = fit(many(), **QUICK, seeds=(0, 2))
    run.save(tmp_path / "kept")
    again = load_run(str(tmp_path / "kept"))
    assert torch.equal(run.predict(many(3)), again.predict(many(3)))
    assert torch.equal(run.seed(2).predict(many(3)), again.seed(2).predict(many(3)))
    assert (run.scores, run.history, repr(run)) == (again.scores, again.history, repr(again))
    main(["eval", str(tmp_path / "kept")])
    with pytest.raises(UsageError, match="holds a run already; choose another folder"):
        run.save(tmp_path / "kept")
    with pytest.raises(UsageError, match="seed 1 was not trained; there are 0, 2"):
        run.seed(1)


def test_nothing_is_left_without_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("work", "temp", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(3)
    wanted, threads = torch.rand(2), torch.get_num_threads()
    torch.manual_seed(3)
    run = fit(many(), **{**QUICK, "threads": 2}, encodings=["rwse:4"], encoding_width=4)
    run.predict(many(3))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert torch.equal(torch.rand(2), wanted), "random numbers of the program go on as they were"
    assert torch.get_num_threads() == threads


def test_scores_and_repr_of_several_seeds() -> None:
    run = fit(one(), **QUICK, seeds=(1, 0))
    each = [run.scores[seed]["test"] for seed in (0, 1)]
    assert run.scores["mean"]["test"] == pytest.approx(sum(each) / 2)
    assert run.scores["std"]["test"] == pytest.approx(abs(each[0] - each[1]) / 2**0.5)
    assert [line["epoch"] for line in run.history] == [1, 2, 3]
    lines = repr(run).splitlines()
    assert lines[0] == "Run of graph"
    assert "40 nodes" in lines[1]
    assert "4 columns of x; 2 classes of nodes" in lines[1]
    assert "geco, 2 layers of 8" in lines[2]
    assert lines[3].split() == ["seeds", "0,", "1"]
    assert f"{run.scores['mean']['test']:.4f} ± " in lines[4]
    assert lines[5].startswith("  majority class")
    assert "std" not in fit(one(), **QUICK).scores


def test_masks_are_the_split() -> None:
    data = one()
    place = torch.arange(40)
    data.train_mask, data.val_mask, data.test_mask = place < 20, (place >= 20) & (place < 30), place >= 30
    split = fit(data, **QUICK).training_data().split()
    assert [part.tolist() for part in vars(split).values()] == [[*range(20)], [*range(20, 30)], [*range(30, 40)]]
    with pytest.raises(UsageError, match="task= is for PyG Data; a GraphDataset says itself what is asked"):
        fit(erdos_renyi(40, degree=3), task="class")


def test_values_come_in_their_units() -> None:
    graphs = many(40)
    run = fit(graphs, **{**QUICK, "epochs": 15})
    assert (run.info.level, run.info.target, run.info.metric) == ("graph", "values", "mae")
    assert 900 < float(run.predict(graphs).mean()) < 1100
    assert run.baseline["mean of each target"]["test"] < 100


def test_graphs_in_three_lists() -> None:
    train, valid, test = many(10), many(4), many(6)
    split = fit(train, valid, test, **QUICK).training_data().split()
    assert [part.tolist() for part in vars(split).values()] == [[*range(10)], [*range(10, 14)], [*range(14, 20)]]
    with pytest.raises(UsageError, match="valid= was given alone; give valid= and test=, or none of them"):
        fit(train, valid)


def test_labels_of_nodes_of_many_graphs() -> None:
    graphs = many(y=lambda graph: (graph.x[:, 0] > 0).long())
    run = fit(graphs, **QUICK)
    assert run.info.level == "node"
    assert len(run.predict(graphs[0])) == graphs[0].num_nodes
    together = run.predict(graphs[:3])
    assert torch.allclose(together[: graphs[0].num_nodes], run.predict(graphs[0]), atol=1e-5)


def test_batches_and_data_sets_of_graphs_are_taken() -> None:
    graphs = many()
    whole = fit(graphs, **QUICK)
    assert same(weights(whole), weights(fit(Batch.from_data_list(graphs), **QUICK)))
    assert same(weights(whole), weights(fit(tuple(graphs), **QUICK)))


def test_edges_that_point_one_way_mean_the_same_in_predictions_as_in_training() -> None:
    def directed(graph: Data) -> torch.Tensor:
        return graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]

    graphs = many(y=lambda graph: (graph.x[:, 0] > 0).long(), edge_index=directed)
    run = fit(graphs, **QUICK, model="gcn")
    assert torch.allclose(run.predict(graphs[4]), run.predict([graphs[4], graphs[5]])[: graphs[4].num_nodes], atol=1e-5)


def test_yes_or_no_labels_with_missing_ones() -> None:
    y = torch.stack([one().y.float(), 1 - one().y.float()], 1)
    y[::5, 0] = torch.nan
    data = one()
    data.y = y
    run = fit(data, **QUICK)
    assert (run.info.target, run.info.metric, run.info.names) == ("labels", "ap", ("y0", "y1"))
    assert run.predict(data).shape == (40, 2)


def test_links() -> None:
    run = fit(one(), task="link", **QUICK)
    pairs = torch.tensor([[0, 1], [2, 3]])
    assert run.predict_links(one(), pairs).shape == (2,)
    assert run.info.metric == "auroc"
    with pytest.raises(UsageError, match="use predict_links"):
        run.predict(one())


def test_a_graph_data_set_with_its_schema(tmp_path: Path) -> None:
    torch.save(one().to_dict(), tmp_path / "own.pt")
    dataset, schema = read_own(str(tmp_path / "own.pt"))
    fit(dataset, schema=schema, out=tmp_path / "r", **QUICK)
    main(["predict", str(tmp_path / "r"), "--data", str(tmp_path / "own.pt"), "-o", str(tmp_path / "o.csv")])
    main(["eval", str(tmp_path / "r")])


def test_edge_features_are_used_or_named(caplog: pytest.LogCaptureFixture) -> None:
    graphs = many(edge_attr=lambda graph: torch.rand(graph.num_edges, 2))
    used, left = fit(graphs, model="hybrid", local="gine", **QUICK), fit(graphs, **QUICK, seeds=(0, 1))
    assert "not used" not in repr(used)
    assert "not used             edge_attr" in repr(left)
    said = [line for line in caplog.messages if "does not use the edge features" in line]
    assert len(said) == 1, "once, for all seeds"
    with pytest.raises(DataError, match="graph: edge_attr has no columns, the network was trained with 2"):
        used.predict(many(1)[0])


def test_settings_of_a_configuration_below_keywords(tmp_path: Path) -> None:
    config = Config(model=ModelConfig(hidden=4, layers=1), train=TrainConfig(epochs=2, threads=1), seed=7)
    run = fit(one(), config=config, layers=2)
    assert (run.config.model.hidden, run.config.model.layers, run.seeds) == (4, 2, (7,))
    (tmp_path / "c.toml").write_text("[model]\nhidden = 4\n[train]\nepochs = 1\n")
    assert fit(one(), config=tmp_path / "c.toml", threads=1).config.model.hidden == 4
    assert fit("digits", config=config).config.data.name == "digits"


def test_going_on(tmp_path: Path) -> None:
    fit(one(), **QUICK, out=tmp_path / "r")
    with pytest.raises(UsageError, match="holds a run already; go on with resume=True, or choose another out="):
        fit(one(), **QUICK, out=tmp_path / "r")
    longer = fit(one(), **{**QUICK, "epochs": 5}, out=tmp_path / "r", resume=True)
    assert len(longer.history) == 5
    with pytest.raises(CheckpointError, match="graph has changed since"):
        fit(one(seed=3), **{**QUICK, "epochs": 6}, out=tmp_path / "r", resume=True)
    with pytest.raises(UsageError, match="resume=True goes on in a run folder; give out="):
        fit(one(), resume=True)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_leaves_what_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 3, interrupt)
        with pytest.raises(KeyboardInterrupt) as stop:
            fit(one(), **QUICK, out=tmp_path / "r")
    assert "resume=True) goes on" in stop.value.__notes__[0]
    assert len(load_run(tmp_path / "r").history) == 2
    run = fit(one(), **QUICK, out=tmp_path / "r", resume=True)
    assert same(weights(run), weights(fit(one(), **QUICK)))


def test_ctrl_c_at_once_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 1, interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(one(), **QUICK, out=tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    data = one()
    data.x[3, 1] = torch.nan
    with pytest.raises(DataError):
        fit(data, **QUICK, out=tmp_path / "r")
    with pytest.raises(NumericalError, match="lower lr="):
        fit(many(), **QUICK, lr=1e30, clip=0, out=tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "empty list": ([], {}, "fit got an empty list of graphs; give PyG Data in it"),
    "loader": (DataLoader(many(3)), {}, "fit takes graphs, not a loader of them; give loader.dataset"),
    "number": (3, {}, "fit takes a PyG Data or a list of them, got a int"),
    "unknown name": ("corra", {}, "did you mean cora"),
    "unknown setting": (one(), {"hiden": 8}, "no setting is called 'hiden'; did you mean hidden=?"),
    "PyG's name": (one(), {"hidden_channels": 8}, "did you mean hidden=?"),
    "one seed": (one(), {"seed": 8}, "did you mean seeds=?"),
    "ill-typed": (one(), {"hidden": "64"}, "fit: hidden= must be int, got '64'"),
    "out of range": (one(), {"epochs": 0}, "epochs= must be at least 1, got 0"),
    "unknown network": (one(), {"model": "gnc"}, "fit: model= must be one of geco, hybrid"),
    "number of seeds": (
        one(),
        {"seeds": 3},
        r"seeds must be whole numbers from 0 in a list, such as \(0, 1, 2\); got 3",
    ),
    "seed twice": (one(), {"seeds": (1, 1)}, "seeds= must be different numbers"),
    "metric": (one(), {"metric": "mae"}, "the metric 'mae' does not suit"),
    "unknown metric": (one(), {"metric": "acc"}, "no metric is called 'acc'"),
    "split of a name": ("digits", {"fractions": (0.5, 0.2, 0.3)}, "fractions= is for PyG Data; 'digits', a data set"),
    "schema": (one(), {"schema": object()}, "schema= is for a GraphDataset from read_own"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_in_one_line(case: str) -> None:
    data, options, words = CASES[case]
    with pytest.raises(GecoError, match=words) as error:
        fit(data, **options)
    assert "\n" not in str(error.value)
    assert "--" not in re.sub("`[^`]*`", "", str(error.value))


def test_importing_geco_does_not_load_torch() -> None:
    code = "import sys, geco, geco.train; assert 'fit' in geco.__all__; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
    assert geco.fit is fit


def test_old_runs_predict_without_knowing_what_they_were_given(tmp_path: Path) -> None:
    run = fit(one(), **QUICK, out=tmp_path / "r")
    manifest = tmp_path / "r" / "seed-0" / "best" / "manifest.json"
    facts = json.loads(manifest.read_text())
    del facts["about"]["given"]
    manifest.write_text(json.dumps(facts))
    assert torch.equal(load_run(tmp_path / "r").predict(one()), run.predict(one()))
    assert "2 classes of nodes" in repr(load_run(tmp_path / "r"))


def test_paths_may_be_text(tmp_path: Path) -> None:
    Trainer(SMALL, MANY, str(tmp_path / "r")).fit()
    assert load_run(str(tmp_path / "r")).config == Kept(tmp_path / "r").config
    assert read_toml(str(tmp_path / "r" / "config.toml")) == Kept(tmp_path / "r").config
    assert Cache(str(tmp_path)).path("a", {}).parent == tmp_path
