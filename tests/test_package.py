"""The wheel and the source distribution are complete, pass the checkers of the field, and can be installed."""

import os
import re
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import requests
from bs4 import BeautifulSoup
from readme_renderer import markdown

from tests.support.documents.pdfs import simple_pdf
from tests.support.package import UV, UVX, build_package, make_new_user_env, run_outside
from tests.support.repository import ROOT
from tests.support.servers.server_process import make_env, run_docshare, start_server

URL_AND_LINK = re.compile(r"(http://127\.0\.0\.1:\d+)\n\1/\w{12}\n")
SHARE_ONCE = ("serve", "--ephemeral", "--port", "0", "--exec")
INSTALLERS = {"pipx": (sys.executable, "-m", "pipx", "install"), "uv": (UV, "tool", "install")}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the wheel and the source distribution."""
    return build_package(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def environment(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel, which finds its dependencies where this test has them."""
    directory = tmp_path_factory.mktemp("installed") / "environment"
    run_outside(sys.executable, "-m", "venv", "--without-pip", str(directory))
    python = str(directory / "bin" / "python")
    (wheel,) = distributions.glob("*.whl")
    run_outside(
        sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", str(wheel)
    )
    packages = run_outside(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    # A plain line of a .pth file adds a folder without its own .pth files: not this tree, if it is installed as such.
    folders = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
    Path(packages, "dependencies.pth").write_text("\n".join(folders) + "\n")
    return directory


@pytest.fixture(scope="module")
def package_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of fetched packages, one for all workers of this run."""
    directory = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        directory = directory.parent
    return directory / "fetched-packages"


@pytest.fixture
def new_user(package_cache: Path, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user whose home has nothing but ``x.pdf``."""
    env = make_new_user_env(tmp_path / "home", package_cache)
    Path(env["HOME"], "x.pdf").write_bytes(simple_pdf())
    return env


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
    again = build_package(tmp_path, "-t", "wheel", source=tree)
    (first,), (second,) = distributions.glob("*.whl"), again.glob("*.whl")
    assert read_members(first) == read_members(second)


def test_twine_accepts_both_distributions(distributions: Path) -> None:
    run_outside(sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions.iterdir()))


def test_the_wheel_contains_nothing_that_does_not_belong_there(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    run_outside(sys.executable, "-m", "check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel))


def test_the_description_on_a_package_index_has_no_broken_link_or_picture(distributions: Path) -> None:
    """It is the README without its pictures: a package index does not have them."""
    (path,) = distributions.glob("*.whl")
    members = read_members(path)
    (metadata,) = (content.decode() for name, content in members.items() if name.endswith(".dist-info/METADATA"))
    headers, _, description = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in headers.splitlines()
    page = BeautifulSoup(markdown.render(description) or "", "html.parser")
    assert page.h1 is not None
    assert page.h1.get_text() == "docshare"
    assert page.find_all("img") == []
    targets = {f"#{element['id']}" for element in page.find_all(id=True)}
    links = {str(element["href"]) for element in page.find_all("a", href=True)}
    assert "https://help.docsend.com" in links
    assert {link for link in links - targets if not link.startswith(("https://", "http://"))} == set()
    readme = (ROOT / "README.md").read_text().splitlines()
    left_out = [line for line in readme if line and line not in description.splitlines()]
    assert left_out[1] == "| What readers see, and your library | What you see of the readers |"
    assert [line[:3] for line in left_out] == ["![T", "| W", "| !", "| !", "![d"]


def test_pyroma_misses_only_the_addresses(distributions: Path) -> None:
    """The repository and its authors have no public address yet; each costs one point of ten."""
    (path,) = distributions.glob("*.tar.gz")
    script = "import sys; from pyroma import main; sys.argv[0] = 'pyroma'; main()"
    # If what builds the package is not installed, fail instead of fetching it.
    env = {**os.environ, "PIP_NO_INDEX": "1"}
    told = run_outside(sys.executable, "-c", script, "--min", "8", str(path), env=env).stdout
    complaints = [line for line in told.splitlines() if line.startswith(("Your package", "You "))]
    assert [line.split(" field")[0] for line in complaints] == [
        "Your package does not have author-email data.",
        "Your package should have a 'url'",
    ]


def test_the_installed_wheel_runs_and_has_its_manual(environment: Path) -> None:
    command = str(environment / "bin" / "docshare")
    where = run_outside(str(environment / "bin" / "python"), "-c", "import docshare; print(docshare.__file__)").stdout
    assert where.startswith(str(environment))
    assert run_outside(command, "--version").stdout.startswith("docshare ")
    assert "upgrade" in run_outside(command, "help").stdout
    assert (environment / "share" / "man" / "man1" / "docshare-upload.1").is_file()


@pytest.fixture(scope="module")
def bare_user(distributions: Path, package_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a user who has only a virtual environment with the wheel, installed by its pip."""
    home = tmp_path_factory.mktemp("bare") / "home"
    env = make_new_user_env(home, package_cache)
    env["PATH"] = f"{home}/venv/bin:/usr/bin"
    run_outside(sys.executable, "-m", "venv", str(home / "venv"), env=env)
    (wheel,) = distributions.glob("*.whl")
    run_outside("pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), env=env)
    return env


def test_an_empty_environment_gets_a_complete_installation(bare_user: dict[str, str]) -> None:
    venv = Path(bare_user["HOME"], "venv")
    show = "import docshare, sys; print(docshare.__file__); print(*sys.path, sep=chr(10))"
    where, *folders = run_outside("python", "-c", show, env=bare_user).stdout.splitlines()
    package = Path(where).parent
    assert package.is_relative_to(venv)
    assert [folder for folder in folders if folder.endswith("site-packages")] == [str(package.parent)]
    assert {"py.typed", "LICENSE"} <= {path.name for path in package.iterdir()}
    assert not list(package.parent.glob("tests*"))
    share = venv / "share"
    for name in (
        "man/man1/docshare-upload.1", "man/man7/docshare-upgrade.7", "bash-completion/completions/docshare",
        "zsh/site-functions/_docshare", "fish/vendor_completions.d/docshare.fish",
    ):  # fmt: skip
        assert (share / name).stat().st_size > 100, name
    run_outside("pip", "check", env=bare_user)


def test_commands_and_library_work_in_an_empty_environment(bare_user: dict[str, str]) -> None:
    home = Path(bare_user["HOME"])
    (home / "x.pdf").write_bytes(simple_pdf())
    shared = run_outside("docshare", *SHARE_ONCE, "docshare", "upload", "x.pdf", cwd=home, env=bare_user)
    assert URL_AND_LINK.fullmatch(shared.stdout)
    library = "import docshare; print(*(file['originalName'] for file in docshare.Client().files.list()))"
    listed = run_outside(
        "docshare",
        *SHARE_ONCE,
        "sh",
        "-c",
        f'docshare upload -q x.pdf && python -c "{library}"',
        cwd=home,
        env=bare_user,
    )
    assert listed.stdout.splitlines()[-1] == "x.pdf"
    assert run_outside("docshare", "completion", "bash", env=bare_user).stdout.startswith("#")
    assert "exit codes" in run_outside("docshare", "help", "upgrade", env=bare_user).stdout


@pytest.mark.parametrize("tool", INSTALLERS)
def test_a_new_user_installs_the_program_and_shares_a_document(
    tool: str, new_user: dict[str, str], distributions: Path
) -> None:
    (wheel,) = distributions.glob("*.whl")
    home = Path(new_user["HOME"])
    run_outside(*INSTALLERS[tool], str(wheel), env=new_user)
    assert run_outside("docshare", "--version", env=new_user).stdout.startswith("docshare ")
    shared = run_outside("docshare", *SHARE_ONCE, "docshare", "upload", "x.pdf", cwd=home, env=new_user)
    assert URL_AND_LINK.fullmatch(shared.stdout)
    # pipx puts manual pages where ``man`` finds them next to ~/.local/bin; uv does not.
    manual = {"pipx": ".local/share/man/man1", "uv": ".local/share/uv/tools/docshare/share/man/man1"}[tool]
    assert (home / manual / "docshare-upload.1").is_file()


def test_uvx_runs_the_program_without_installing_it(new_user: dict[str, str], distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    program = (UVX, "--from", str(wheel), "docshare")
    assert run_outside(*program, "--version", env=new_user).stdout.startswith("docshare ")
    upload = (*program, "upload", "x.pdf")
    shared = run_outside(*program, *SHARE_ONCE, *upload, cwd=Path(new_user["HOME"]), env=new_user)
    assert URL_AND_LINK.fullmatch(shared.stdout)
    assert not Path(new_user["HOME"], ".local").joinpath("bin").exists()


def test_one_folder_needs_no_package_of_the_cluster_extra(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    missing.mkdir()
    for name in ("psycopg", "psycopg_pool", "obstore", "redis"):
        used = "from pathlib import Path; Path(__file__).with_suffix('.used').touch(); raise ImportError(__name__)"
        (missing / f"{name}.py").write_text(used)
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=3))
    env = make_env(tmp_path, PYTHONPATH=os.pathsep.join([str(missing), str(ROOT)]))
    process, _ = start_server("--port", "0", env=env)
    try:
        uploaded = run_docshare("upload", str(tmp_path / "report.pdf"), env=env)
        assert uploaded.returncode == 0, uploaded.stderr
        assert requests.get(uploaded.stdout.strip(), timeout=30).status_code == 200
        for line in (("show", "@last"), ("doctor",), ("admin", "sweep")):
            done = run_docshare(*line, env=env)
            assert done.returncode in (0, 13), done.stderr  # doctor reports what this host lacks
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert [found.stem for found in missing.glob("*.used")] == ["psycopg"], "peewee looks for it by itself"
