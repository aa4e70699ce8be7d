from __future__ import annotations

from pathlib import Path

import pytest

from geco.cli.main import main
from geco.data.embedded.echo import echo
from geco.data.embedded.synthetic import ring_copy, tree_copy
from geco.errors import UsageError
from geco.studies.explanations import MEASURES, asked, hits, source


def test_the_source_is_the_node_whose_feature_is_the_answer() -> None:
    for dataset in (ring_copy(5, graphs=20, distractors=True), tree_copy(3, graphs=20, distractors=True)):
        for data in (dataset[0], dataset[7]):
            node = int((data.y >= 0).nonzero())
            assert int(data.x[source(dataset.info.name, data, node), :-2].argmax()) == int(data.y[node])
    data = echo(16, graphs=10)[3]
    for node in (data.y >= 0).nonzero().flatten()[:10].tolist():
        assert int(data.x[source("echo", data, node), 1]) == int(data.y[node])


def test_runs_on_other_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    words = ["--train.epochs", "1", "--model.hidden", "8", "--train.threads", "1"]
    main(["train", "digits", *words, "--out", str(tmp_path / "r")])
    with pytest.raises(UsageError, match="ring-copy, tree-copy and echo"):
        next(asked(tmp_path / "r", 3))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "epochs"), [("ring-copy", "20"), ("echo", "8")])
def test_the_node_that_holds_the_answer_is_named_first(
    name: str, epochs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    main(["train", name, "--train.epochs", epochs, "--out", str(tmp_path / "r")])
    _, three = hits(tmp_path / "r", 100, MEASURES["other nodes in its place"])
    assert three >= 95
