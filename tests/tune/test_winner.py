from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from geco.cli.settings import read
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig
from geco.train.configured import configured
from geco.tune.winner import make_room, winner_toml


def test_the_file_trains_the_same_settings_and_holds_only_what_differs(tmp_path: Path) -> None:
    own = configured("amazon-photo", [], {}, "here")
    won = replace(own, model=replace(own.model, hidden=64), optim=OptimConfig(lr=0.003), seed=7)
    path = tmp_path / "best.toml"
    path.write_text(winner_toml(won, "trial 3 of 9"))
    options = read(["--config", str(path)])
    assert (options.data, options.model, options.optim, options.train) == (won.data, won.model, won.optim, won.train)
    text = path.read_text()
    assert text.startswith("# trial 3 of 9\n")
    assert "weight_decay = 0.0005" in text  # amazon-photo's own is another
    assert "permutation" not in text
    assert "seed" not in text


def test_data_without_a_configuration_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    path.write_text(winner_toml(Config(DataConfig("mine"), ModelConfig(layers=3)), "won"))
    assert path.read_text() == '# won\n\n[data]\nname = "mine"\n\n[model]\nlayers = 3\n'
    assert read(["--config", str(path)]).data.name == "mine"


def test_an_earlier_winner_is_put_aside_and_the_same_one_stays(tmp_path: Path) -> None:
    best = tmp_path / "best"
    for config, aside in ((Config(), 0), (Config(seed=3), 0), (Config(model=ModelConfig(layers=5)), 1), (Config(), 2)):
        make_room(best, config)
        assert len(list(tmp_path.glob("best-before-*"))) == aside
        if aside:
            assert not (best / "seed-0").exists()
        (best / "seed-0").mkdir(exist_ok=True)
    assert (tmp_path / "best-before-1" / "seed-0").exists()
