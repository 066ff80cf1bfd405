"""The package as it is built from this tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

_NOT_SOURCES = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".schemathesis", "*.egg-info", "dist")


def build_package(folder: Path, *options: str, source: Path = ROOT) -> Path:
    """Build the tree ``source`` below ``folder``, from a copy of it; return the directory of the distributions.
    ``options`` go to ``hatchling build``."""
    shutil.copytree(source, folder / "tree", ignore=shutil.ignore_patterns(*_NOT_SOURCES))
    run_outside(sys.executable, "-m", "hatchling", "build", "-d", "../dist", *options, cwd=folder / "tree")
    return folder / "dist"


def run_outside(
    *command: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` outside of this tree unless ``cwd`` is given; raise AssertionError with its output if it fails.

    ``env``: the whole environment; by default that of the tests, which does not find the package in this tree.
    """
    if env is None:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd or "/", env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done
