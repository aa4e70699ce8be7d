"""What `mkdocs build` adds to the written pages: the command line's own help, the notebook, the measured results, and
formulas as MathML, which browsers draw without a script.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
import notebook

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
GENERATED = {"reference/commands.md": lambda: commands(), "tutorials/notebook.md": lambda: notebook.as_markdown()}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and what is in results/."""
    from mkdocs.structure.files import File

    for path, text in GENERATED.items():
        files.append(File.generated(config, path, content=text()))
    for path in sorted((ROOT / "results").rglob("*")):
        if path.is_file():
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links between docs/ and results/, which lie beside each other, to where both are in the site."""
    here = posixpath.dirname(page.file.src_uri)
    if here == "results":
        markdown = re.sub(r"\[(\w+/)\]\(\w+\)", r"`results/\1`", markdown)  # folders of records, no pages
    markdown = re.sub(r"\]\((?:\.\./)+results/", f"]({posixpath.relpath('results', here or '.')}/", markdown)
    return re.sub(r"\]\((?:\.\./)+docs/", f"]({posixpath.relpath('.', here or '.')}/", markdown)


def on_page_content(content: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw the formulas of docstrings, which are LaTeX in ``:math:`...```."""
    return re.sub(
        r":math:<code>(.*?)</code>",
        lambda found: f'<span class="formula">{formula(html.unescape(found[1]))}</span>',
        content,
        flags=re.DOTALL,
    )


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Name the theme's search for those who hear the page."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def formula(latex: str) -> str:
    r"""Return MathML.

    Example:
        >>> formula(r"\\hat A x")[:5]
        '<math'
    """
    from latex2mathml.converter import convert

    return convert(" ".join(latex.split()).replace(r"\circledast", "⊛"))


def commands() -> str:
    """Return the page of the command line: what ``--help`` prints, command by command."""
    from geco.cli.main import COMMANDS

    about = "What each command prints with `--help`, at a width of 80 letters. `geco COMMAND --help` shows the same."
    parts = ["# Command line", about, _block("geco --help")]
    for name, (_, what) in COMMANDS.items():
        parts += [f"## geco {name}", f"{what[0].upper()}{what[1:]}.", _block(f"geco {name} --help")]
    return "\n\n".join(parts) + "\n"


def _block(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    words = [sys.executable, "-m", "geco", *command.split()[1:]]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, encoding="utf-8", check=True)
    return f"```text\n$ {command}\n{ran.stdout.rstrip()}\n```"
