"""The wheel and the source distribution are complete, pass the checkers of the field, and can be installed."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the wheel and the source distribution."""
    directory = tmp_path_factory.mktemp("built")
    build(ROOT, directory)
    return directory


@pytest.fixture(scope="module")
def environment(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel, which finds its dependencies where this test has them."""
    directory = tmp_path_factory.mktemp("installed") / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", str(directory))
    python = str(directory / "bin" / "python")
    (wheel,) = distributions.glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", str(wheel))
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    # A plain line of a .pth file adds a folder without its own .pth files: not this tree, if it is installed as such.
    folders = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
    Path(packages, "dependencies.pth").write_text("\n".join(folders) + "\n")
    return directory


def build(source: Path, directory: Path, *options: str) -> None:
    """Build the distributions of the tree ``source`` into ``directory``."""
    run(sys.executable, "-m", "hatchling", "build", "-d", str(directory), *options, cwd=source)


def run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``command`` outside of this tree unless ``cwd`` is given; the test fails with its output if it fails."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd or "/", env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def read_members(path: Path) -> dict[str, bytes]:
    """Return the contents of the files of a wheel by name."""
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


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


def test_the_source_distribution_builds_the_same_wheel(distributions: Path, tmp_path: Path) -> None:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as source:
        source.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    build(tree, tmp_path / "again", "-t", "wheel")
    (first,), (second,) = distributions.glob("*.whl"), (tmp_path / "again").glob("*.whl")
    assert read_members(first) == read_members(second)


def test_twine_accepts_both_distributions(distributions: Path) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions.iterdir()))


def test_the_wheel_contains_nothing_that_does_not_belong_there(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    run(sys.executable, "-m", "check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel))


def test_pyroma_misses_only_the_addresses(distributions: Path) -> None:
    """The repository and its authors have no public address yet; each costs one point of ten."""
    (path,) = distributions.glob("*.tar.gz")
    script = "import sys; from pyroma import main; sys.argv[0] = 'pyroma'; main()"
    told = run(sys.executable, "-c", script, "--min", "8", str(path)).stdout
    complaints = [line for line in told.splitlines() if line.startswith(("Your package", "You "))]
    assert [line.split(" field")[0] for line in complaints] == [
        "Your package does not have author-email data.",
        "Your package should have a 'url'",
    ]


def test_the_installed_wheel_runs_and_has_its_manual(environment: Path) -> None:
    command = str(environment / "bin" / "docshare")
    where = run(str(environment / "bin" / "python"), "-c", "import docshare; print(docshare.__file__)").stdout
    assert where.startswith(str(environment))
    assert run(command, "--version").stdout.startswith("docshare ")
    assert "upgrade" in run(command, "help").stdout
    assert (environment / "share" / "man" / "man1" / "docshare-upload.1").is_file()
