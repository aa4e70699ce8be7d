r"""`GECO` on the Hugging Face hub: ``pip install "geco-graph[hub]"``, then ``from geco.nn.hub import GECO``.

The files are those of `geco.nn.GECO`, ``config.json`` and ``model.safetensors``: either class reads what the other
wrote. Only these two are ever fetched, and nothing in them is run (the mixin that the hub has for PyTorch would fall
back to a pickle).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geco.nn import model
from geco.nn.pretrained import load_pretrained

try:
    from huggingface_hub import ModelHubMixin, snapshot_download
except ImportError as error:
    raise ImportError('geco.nn.hub needs huggingface_hub; install it with: pip install "geco-graph[hub]"') from error

__all__ = ["GECO"]

FILES = ["config.json", "model.safetensors"]


class GECO(
    ModelHubMixin,
    model.GECO,
    library_name="geco",
    tags=["graph-machine-learning"],
    paper_url="https://arxiv.org/abs/2406.12059",
):
    """`geco.nn.GECO` that is shared by ``model.push_to_hub("owner/name")`` and ``GECO.from_pretrained("owner/name")``.

    Arguments and shapes are those of `geco.nn.GECO`; `from_pretrained` also takes a folder, and of the hub a
    ``revision``, a ``token`` and a ``cache_dir``.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> GECO(8, 16, num_layers=2, out_channels=3).save_pretrained(folder)
        >>> GECO.from_pretrained(folder)
        GECO(8, 16, num_layers=2, out_channels=3, order=2, permutation=natural)
    """

    def _save_pretrained(self, save_directory: Path) -> None:
        model.GECO.save_pretrained(self, save_directory)

    def save_pretrained(self, folder: str | Path, **options: Any) -> None:  # type: ignore[override]
        """Write the two files; with options of the mixin, such as ``repo_id``, what those ask for as well."""
        if options:
            super().save_pretrained(folder, **options)
        else:
            self._save_pretrained(Path(folder))  # the mixin would first delete the old config.json

    @classmethod
    def from_pretrained(cls, folder: str | Path, **options: Any) -> GECO:  # type: ignore[override]
        """Read a folder, or fetch ``owner/name`` with the options of `huggingface_hub.snapshot_download`."""
        if not Path(folder).is_dir():
            folder = snapshot_download(str(folder), allow_patterns=FILES, **options)
        return load_pretrained(cls, Path(folder)).eval()
