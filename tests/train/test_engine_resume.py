"""Runs that go on: bit by bit after kill -9, from checkpoints of format 1 in later versions, on other machines.

Also elsewhere: killed in the loop in tests/train/test_engine.py::test_stopped_after_any_step_goes_on_bit_by_bit, and as
whole processes in tests/cli/test_train.py::test_killed_runs_end_as_if_they_had_not_been.

`python -m tests.train.test_engine_resume` makes the runs that later versions must read, for a new format only.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from geco import __version__
from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import ring_copy
from geco.errors import CheckpointError, Interrupted
from geco.store import Entry, read_entry, write_entry
from geco.train.checkpoint import FORMAT
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.trained_run import load_run
from tests.train.runs import FLAGS, MANY, ONE, assert_same, geco, left_by, on_call, train_in_child, tree, use

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("moments", [(1,), (4,), (2, 5, 3), (11,)])
def test_killed_and_gone_on(moments: tuple[int, ...], whole: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    """Kill -9 in steps of a run with dropout, dynamic order, shuffled batches, schedule, early stopping and norms'
    buffers: what is left at the end is that of a run that was not killed, bit by bit.
    """
    use(monkeypatch, MANY)
    for moment in moments:
        with monkeypatch.context() as patch:
            on_call(patch, Trainer, "step", moment, lambda: os.kill(os.getpid(), signal.SIGKILL))
            assert train_in_child(patch, tmp_path / "run", "--resume", "auto")[0] == -signal.SIGKILL
    code, err = train_in_child(monkeypatch, tmp_path / "run", "--resume", "auto")
    assert code == 0, err
    wanted = left_by(whole)
    assert_same(left_by(tmp_path / "run" / "seed-0"), wanted)
    assert json.loads(wanted["result"])["epochs"] < 8, "it should have stopped early"
    assert any("running_mean" in name for name in wanted["arrays"])


KEPT = Path(__file__).parent / "format-1"


def smallest(model: str) -> Config:
    """Return the settings of the runs kept for later versions."""
    return Config(
        DataConfig("ring-copy", batch_size=8, group_by_size=True),
        ModelConfig(name=model, hidden=4, layers=1, order=1, dropout=0.2),  # type: ignore[arg-type]
        train=TrainConfig(epochs=3, threads=1, statistics=0),  # they are from before statistics were made again
    )


def rings() -> GraphDataset:
    return ring_copy(3, graphs=20)


def make_kept() -> None:
    """Write the runs of format 1, stopped in their third epoch, with what the networks predict and how the runs should
    end.
    """
    for model in ("geco", "gcn"):
        steps, folder = iter([False] * 6 + [True]), KEPT / model
        with pytest.raises(Interrupted):
            Trainer(smallest(model), rings(), folder, stop=lambda steps=steps: next(steps)).fit()
        outputs = [[round(value, 6) for value in row] for row in load_run(folder).predict(rings())[:20].tolist()]
        expected = {"outputs": outputs, "result": Trainer(smallest(model), rings()).fit()}
        (folder / "expected.json").write_text(json.dumps(expected) + "\n")
        for name in (".lock", "environment.json", "timing.jsonl", "last/000002-000000"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(KEPT / "geco" / "last")  # large


def kept(model: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(KEPT / model, tmp_path / "run"))


@pytest.mark.parametrize("model", ["geco", "gcn"])
def test_network_of_format_1(model: str, tmp_path: Path) -> None:
    """A network kept since format 1 is read, and predicts what it predicted."""
    expected = json.loads((KEPT / model / "expected.json").read_text())
    found = load_run(kept(model, tmp_path)).predict(rings())[:20]
    assert torch.allclose(found, torch.tensor(expected["outputs"]), atol=1e-4)


def test_run_of_format_1(tmp_path: Path) -> None:
    """A run kept since format 1 goes on to the end it had."""
    assert sum(path.stat().st_size for path in KEPT.rglob("*") if path.is_file()) < 50_000
    expected = json.loads((KEPT / "gcn" / "expected.json").read_text())
    trainer = Trainer(smallest("gcn"), rings(), kept("gcn", tmp_path), resume=True)
    assert (trainer.state.epoch, trainer.state.batch) == (2, 1)
    found = trainer.fit()
    assert found.pop("metric") == expected["result"].pop("metric")
    wanted = expected["result"]
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-3)


def test_run_with_running_statistics(tmp_path: Path) -> None:
    """A run from before statistics were made for the weights does not change how it is judged half way, silently."""
    config = replace(smallest("gcn"), train=TrainConfig(epochs=3, threads=1))
    with pytest.raises(CheckpointError, match=r"train\.statistics: 0 there, 16 now.*give the same settings"):
        Trainer(config, rings(), kept("gcn", tmp_path), resume=True)


@pytest.mark.parametrize("what", ["last", "best"])
def test_format_of_the_future(what: str, tmp_path: Path) -> None:
    """A checkpoint of another format is refused with both versions."""
    kept("gcn", tmp_path)
    for path in (tmp_path / "run").glob("best" if what == "best" else "last/*"):
        entry = read_entry(path)
        write_entry(path, Entry(entry.arrays, {**entry.about, "format": FORMAT + 1, "geco": "99.0"}))
    message = rf"has format {FORMAT + 1}, written by geco 99\.0; geco {__version__} reads formats 1 to {FORMAT}"
    read = (
        partial(load_run, tmp_path / "run")
        if what == "best"
        else partial(Trainer, smallest("gcn"), rings(), tmp_path / "run")
    )
    with pytest.raises(CheckpointError, match=message):
        read(**({} if what == "best" else {"resume": True}))


def test_data_that_has_changed(tmp_path: Path) -> None:
    """A run does not go on with other data under the same name."""
    kept("gcn", tmp_path)
    data = rings()
    data.arrays["node/x"][0, 0] += 1
    with pytest.raises(CheckpointError, match=r"has changed since .* was started; choose another --out"):
        Trainer(smallest("gcn"), data, tmp_path / "run", resume=True)


@pytest.mark.parametrize("change", ["weight", "optimiser"])
def test_arrays_that_do_not_fit(change: str, tmp_path: Path) -> None:
    """A checkpoint whose arrays are of another network is refused, not half loaded."""
    kept("gcn", tmp_path)
    for path in (tmp_path / "run" / "last").iterdir():
        entry = read_entry(path)
        name = "model/head.mlp.lins.0.bias" if change == "weight" else "optim/0/exp_avg"
        write_entry(path, Entry({**entry.arrays, name: torch.zeros(99)}, entry.about))
    with pytest.raises(CheckpointError, match="does not fit the model"):
        Trainer(smallest("gcn"), rings(), tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--train.threads", "2"), 0, "goes on with train.threads 2, not 1"),
        (("--train.device", "cpu"), 0, "goes on with train.device 'cpu', not 'auto'"),
        (("--train.device", "cuda:7"), 2, "--train.device cuda:7 cannot be used here; there is cpu"),
        (("--train.amp", "bf16"), 4, "train.amp: 'off' there, 'bf16' now"),
    ],
)
def test_going_on_elsewhere(
    flags: tuple[str, ...], code: int, message: str, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    """Other threads and devices work where they exist, and it is reported; another precision is refused."""
    use(monkeypatch, ONE)
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 2, lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")[0] == 143
    before = tree(tmp_path)
    threads = torch.get_num_threads()
    try:
        found, err = geco(capsys, "train", "digits", *FLAGS, *flags, "--out", tmp_path / "run", "--resume", "auto")
    finally:
        torch.set_num_threads(threads)
    assert found == code
    assert message in err
    assert (tmp_path / "run" / "seed-0" / "result.json").exists() == (code == 0)
    assert code == 0 or tree(tmp_path) == before


if __name__ == "__main__":
    make_kept()
