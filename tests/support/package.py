"""Build the package from this tree, and provide the environment of a user who installs it on a new machine."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support.repository import ROOT

UV = str(Path(sysconfig.get_path("scripts"), "uv"))
UVX = str(Path(sysconfig.get_path("scripts"), "uvx"))
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


def make_new_user_env(home: Path, package_cache: Path) -> dict[str, str]:
    """Create the empty directory ``home`` and return the environment of its user, whose programs are in ``.local/bin``.

    Of the environment of the tests, it contains only the configuration of the package index.

    ``package_cache``: directory of the packages that uv has fetched.
    """
    home.mkdir()
    kept = ("SSL_CERT_", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    kept += ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_CONSTRAINT")
    return {
        "HOME": str(home),
        "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
        "UV_CACHE_DIR": str(package_cache),
        "UV_PYTHON": sys.executable,
        "UV_SYSTEM_CERTS": "1",
        **_read_index_of_pip(),
        **{key: value for key, value in os.environ.items() if key.upper().startswith(kept)},
    }


def _read_index_of_pip() -> dict[str, str]:
    """Return the variables that make uv and pip use the package index of pip, whose configuration may be in the home
    directory. uv does not read it."""
    settings = run_outside(sys.executable, "-m", "pip", "config", "list").stdout.splitlines()
    values = [line.partition("=")[2].strip("'") for line in settings if line.split("=")[0].endswith(".index-url")]
    return {"UV_DEFAULT_INDEX": values[0], "PIP_INDEX_URL": values[0]} if values else {}
