"""The notebook of the tutorials: as Markdown for the site, and run again by ``python docs/_site/notebook.py``, which
needs no Jupyter.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

PATH = Path(__file__).parents[1] / "tutorials" / "notebook.ipynb"


def cells() -> list[dict[str, Any]]:
    """Return the cells, each with its ``source`` as one text."""
    found = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in found]


def as_markdown() -> str:
    """Return text, code and what the code printed."""
    parts = []
    for cell in cells():
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
            continue
        parts.append(f"```python\n{cell['source']}\n```")
        text = "".join(part for output in cell["outputs"] for part in _text(output))
        parts += [f"```text\n{text.rstrip()}\n```"] if text else []
    return "\n\n".join(parts) + "\n"


def _text(output: dict[str, Any]) -> list[str]:
    return output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]


def run() -> None:
    """Run all cells in order in one namespace and keep what they print."""
    book = json.loads(PATH.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    count = 0
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"], cell["outputs"] = count, _outputs("".join(cell["source"]), names, count)
    PATH.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last else None
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        found.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return found


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # what the cells write is not kept
    run()
