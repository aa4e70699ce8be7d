"""The command line without what Windows lacks: SIGUSR1, signal masks, `resource`, /proc, and folders one can open.

What else is different on Windows is not found here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

SYSTEM = """
import json, os, pathlib, shutil, signal, sys
import filelock, torch_geometric  # have their own ways around
sys.platform = "other"
del signal.SIGUSR1, signal.pthread_sigmask
sys.modules["resource"] = None
shutil._use_fd_functions = False  # they open folders
read_text, open_file = pathlib.Path.read_text, os.open

def read(path, *options, **more):
    if str(path).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return read_text(path, *options, **more)

def open_no_folder(path, flags, *options, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return open_file(path, flags, *options, **more)

pathlib.Path.read_text, os.open = read, open_no_folder
from geco.cli.main import main
for words in json.loads(sys.argv[1]):
    main(words)
"""
QUICK = ("--train.epochs", "1", "--model.hidden", "4", "--model.layers", "1", "--train.threads", "1")


def test_commands(tmp_path: Path) -> None:
    out = str(tmp_path / "r")
    commands = [
        ["data", "list"],
        ["env"],
        ["train", "ring-copy", *QUICK, "--dry-run"],
        ["train", "ring-copy", *QUICK, "--data.workers", "1", "--out", out],
        ["eval", out],
    ]
    program = [sys.executable, "-c", SYSTEM, json.dumps(commands)]
    found = subprocess.run(program, capture_output=True, text=True, timeout=200)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert re.search(r"\nmemory +unknown\n", found.stdout)
    assert "peak memory unknown on this system, data included\n" in found.stdout
    assert f"kept in {out}\nseed" in found.stdout, "eval follows"
