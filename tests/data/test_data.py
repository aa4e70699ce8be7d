"""The names that `geco.data` gives, however they are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

import geco.data


def test_every_name_is_there() -> None:
    assert set(geco.data._HOME) == set(geco.data.__all__)  # type: ignore[attr-defined]
    for name in geco.data.__all__:
        assert callable(getattr(geco.data, name))
    with pytest.raises(AttributeError, match=r"module 'geco\.data' has no attribute 'lode'"):
        geco.data.lode  # type: ignore[attr-defined] # noqa: B018


def test_load_is_the_function_however_it_was_imported() -> None:
    import geco.data.load_dataset

    assert callable(geco.data.load)
    assert geco.data.load is geco.data.load_dataset.load


def test_importing_it_needs_no_torch() -> None:
    code = "import sys, geco.data; print([m for m in ('torch', 'numpy', 'pandas', 'scipy') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
