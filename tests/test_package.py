"""The wheel and the source distribution contain the expected files."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the wheel and the source distribution."""
    directory = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return directory


def test_the_wheel_contains_the_license_and_types(distributions: Path) -> None:
    (path,) = distributions.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = wheel.read(metadata).decode().splitlines()
        assert wheel.read("docshare/LICENSE").startswith(b"MIT License")
    assert {"License-Expression: MIT", "License-File: docshare/LICENSE"} <= set(headers)
    assert "docshare/py.typed" in names
    assert metadata.replace("METADATA", "licenses/docshare/LICENSE") in names


def test_the_wheel_contains_man_page_and_completions(distributions: Path) -> None:
    (path,) = distributions.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    data = {name.split(".data/data/")[1] for name in names if ".data/data/" in name}
    assert {
        "share/man/man1/docshare.1",
        "share/bash-completion/completions/docshare",
        "share/zsh/site-functions/_docshare",
        "share/fish/vendor_completions.d/docshare.fish",
    } <= data
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]


def test_the_source_distribution_contains_the_license_and_the_tests(distributions: Path) -> None:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"docshare/LICENSE", "README.md", "pyproject.toml", "tests/conftest.py", "man/man1/docshare.1"} <= names
