"""Code blocks of a page, and running them in order as a reader would: Python in one namespace, commands in the folder
that the test is in, blocks with a ``title="FILE"`` saved.

A comment on the line above a block marks it: ``<!-- not run: WHY -->``, with WHY from the table of
`tests/test_docs.py`. ``<!-- slow -->`` on the first line marks the page.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from geco.cli.main import _parse, main

DECIMAL = r"\d+\.\d+"
FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]*?) -->\n)?^(?P<in> *)```(?P<lang>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=in)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block, or a cell of a notebook.

    Args:
        line: where it begins.
        lang: word after the fence.
        title: file it is to be saved as, if any.
        text: what is in it.
        why: it is not run, if not empty.
    """

    line: int
    lang: str
    title: str
    text: str
    why: str = ""


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a Markdown page or the code of a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return [Block(number, "python", "", "".join(cell["source"])) for number, cell in enumerate(cells, 1)]
    found = []
    for match in FENCE.finditer(text):
        title = re.search(r'title="([^"]+)"', match["info"])
        body = re.sub(rf"^{match['in']}", "", match["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(line, match["lang"], title[1] if title else "", body, match["why"] or ""))
    return found


def run_page(page: Path) -> dict[str, object]:
    """Run a page's blocks in order and return what they have named. Text after one is what it prints, see `compare`."""
    names: dict[str, object] = {}
    printed = ""
    found = blocks_of(page)
    for block, after in itertools.zip_longest(found, found[1:]):
        where = f"{page.name}, line {block.line}"
        if block.why:
            _check_flags(block)
        elif block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.lang == "text":
            compare(block.text, printed, where)
        elif block.lang in ("python", "bash"):
            with _caught() as out:
                if block.lang == "python":
                    exec(compile(block.text, where, "exec"), names)
                else:
                    _run(block, out, fails=after is not None and "geco: error: " in after.text)
            printed = out.getvalue()
    return names


def _run(block: Block, out: io.StringIO, fails: bool) -> None:
    """Run commands; they end well unless what follows shows an error."""
    for words in commands(block.text):
        assert words[0] == "geco", f"only geco is run here, got {words}"
        with contextlib.suppress(SystemExit) if fails else contextlib.nullcontext():
            main(words[1:])
    assert not fails or "geco: error: " in out.getvalue(), f"no error in {out.getvalue()}"


def _check_flags(block: Block) -> None:
    """See that a block that is not run is Python, or commands with flags that exist."""
    if block.lang == "python":
        compile(block.text, "block", "exec")
    for words in commands(block.text) if block.lang == "bash" else []:
        if words[0] == "geco" and len(words) > 1:
            count = 2 if words[1] == "data" else 1
            _parse(" ".join(words[1 : 1 + count]), words[1 + count :])


def commands(text: str) -> list[list[str]]:
    """Return the words of each command.

    Example:
        >>> commands("geco a 'b c'; geco d  # e")
        [['geco', 'a', 'b c'], ['geco', 'd']]
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&")
        lexer.whitespace_split = True
        for separates, words in itertools.groupby(lexer, lambda word: word in (";", "&&")):
            found += [] if separates else [list(words)]
    return found


def compare(expected: str, found: str, where: str) -> None:
    """See that two texts are the same, but for ``...`` and blanks, and decimals 0.05 apart: other machines round
    otherwise.

    Example:
        >>> compare("test 0.97 in ...", "test  0.95 in 3 s", "here")
        >>> compare("test 0.97", "test 0.67", "here")
        Traceback (most recent call last):
        AssertionError: here prints
        ...
    """
    parts = re.split(rf"( ?\.\.\. ?|{DECIMAL})", " ".join(expected.split()))
    decimals = [part for part in parts[1::2] if "..." not in part]
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [".*?" if "..." in part else f"({DECIMAL})" for part in parts[1::2]]
    match = re.fullmatch("".join(parts), " ".join(found.split()))
    near = match and all(abs(float(a) - float(b)) <= 0.05 for a, b in zip(decimals, match.groups(), strict=True))
    assert near, f"{where} prints\n{found}\nand not\n{expected}"


@contextlib.contextmanager
def _caught() -> Iterator[io.StringIO]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out
