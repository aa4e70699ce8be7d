"""Too little memory is reported before or when it is met, in one line with advice.

Not done: to explain a process that the system killed for memory (exit 137) takes a parent process; there is none.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.data import load_dataset
from geco.data.embedded.synthetic import erdos_renyi
from geco.machine import resident
from geco.names import BASELINES
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.memory import least
from tests.train.runs import ONE, refused, use

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def limit(spare: int) -> None:
    """Let this process take so many bytes more than it has."""
    most = resident("VmSize") + spare
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def little(*words: str) -> None:
    """Train on a graph of 50,000 nodes with little memory to spare."""
    load_dataset.load = lambda *_, **__: erdos_renyi(50_000, degree=2)
    limit(2**28)
    main(list(words))


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        ("5000", "training takes over "),  # plainly too much: known before anything is built
        ("64", "out of memory ("),  # found out when it is asked for
    ],
)
def test_too_little_memory(hidden: str, message: str, tmp_path: Path) -> None:
    """Too little memory is exit 6 in one line, with torch's own words and advice."""
    flags = ["--model.hidden", hidden, "--model.layers", "4", "--train.epochs", "1", "--train.threads", "1"]
    words = ["train", "digits", *flags, "--out", str(tmp_path / "run")]
    # a new process: a forked one would live on what other tests have freed
    code = "import sys; from tests.train.test_memory import little; little(*sys.argv[1:])"
    ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    err = ended.stderr
    assert ended.returncode == 6, err
    assert err.count("\n") == 1
    assert message in err
    assert "smaller network" in err or "lower --model.hidden" in err
    assert not (tmp_path / "run" / "seed-0" / "result.json").exists()


def test_dry_run_says_what_there_is(monkeypatch: Patch, capsys: Capture) -> None:
    """The estimate stands beside what is available; what cannot fit is refused there as well."""
    use(monkeypatch, ONE)
    main(["train", "digits", "--model.hidden", "8", "--dry-run"])
    assert "GiB were available at the start" in capsys.readouterr().out
    monkeypatch.setattr("geco.train.memory.available_memory", lambda: 10**3)
    code, line = refused(capsys, "train", "digits", "--model.hidden", "8", "--dry-run")
    assert code == 6
    assert "lower --model.hidden, --model.layers or --data.batch-size" in line


@pytest.mark.parametrize("consistency", [0.0, 1.0])
@pytest.mark.parametrize("model", ["geco", *BASELINES])
def test_refuses_only_what_cannot_fit(model: str, consistency: float) -> None:
    """What a step takes, with one pass or two, is more than the bound that training is refused by."""
    dataset = erdos_renyi(500, degree=4)
    shape = ModelConfig(name=model, hidden=128, layers=3, heads=2)  # type: ignore[arg-type]
    config = Config(DataConfig("t"), shape, train=TrainConfig(epochs=1, consistency=consistency))
    trainer = Trainer(config, dataset)
    held = saved_bytes(trainer)
    adam = 16 * trainer.parameters
    assert least(config, dataset.arrays["node/x"].shape[1], 500) < held + adam


def saved_bytes(trainer: Trainer) -> int:
    """Return the bytes kept for the backward pass of a step, each storage once, weights left out."""
    weights = {p.untyped_storage().data_ptr() for p in trainer.model.parameters()}
    kept: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() not in weights:
            kept[tensor.untyped_storage().data_ptr()] = (tensor.untyped_storage().nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        data, mask = next(iter(trainer.batches.train(0)))
        trainer._loss(data, mask)
    return sum(size for size, _ in kept.values())
