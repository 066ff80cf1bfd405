"""Ten programs of users pass ``mypy --strict`` and pyright, and run against a real server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docshare import Client
from docshare.contract.signing import sign
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server
from tests.test_architecture import ROOT

FOLDER = Path(__file__).parent / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
WRONG = """
from docshare import Client
client = Client()
client.files.list()[0]["sharedUrl"]
for row in client.activity.follow():
    if row["event"] == "file.viewed":
        row["data"]["contentVersion"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.token) as connected:
        yield connected


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    path = tmp_path / "offer.pdf"
    path.write_bytes(simple_pdf(pages=3))
    return path


def run_program(server: ServerProcess, name: str, *args: object, code: int = 0) -> str:
    """Run an example and return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / f"{name}.py"), *map(str, args)],
        env={**os.environ, "DOCSHARE_URL": server.url, "DOCSHARE_TOKEN": server.token, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def run_checker(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=200,
        env={**os.environ, "MYPYPATH": str(ROOT), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip


CHECKERS: dict[str, tuple[str, ...]] = {
    "mypy": ("mypy", "--strict", "--config-file", os.devnull, "--follow-imports", "silent"),
    "pyright": ("pyright", "--pythonpath", sys.executable),
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_programs_pass_the_type_checker(checker: str) -> None:
    done = run_checker(*CHECKERS[checker], *(str(FOLDER / f"{name}.py") for name in PROGRAMS))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_type_checker_finds_unknown_keys(checker: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    done = run_checker(*CHECKERS[checker], str(wrong))
    assert done.returncode == 1
    assert all(key in done.stdout for key in ("sharedUrl", "contentVersion")), done.stdout + done.stderr


def test_the_upload_example_shares_a_file_with_its_settings(server: ServerProcess, client: Client, pdf: Path) -> None:
    link = run_program(server, "upload_and_share", pdf).strip()
    file = client.files.show(link)
    assert (file["originalName"], file["allowDownload"], file.get("viewLimit")) == ("Offer.pdf", False, 100)


def test_the_replace_example_is_seen_by_the_tail_example(server: ServerProcess, client: Client, pdf: Path) -> None:
    link = client.files.upload(pdf)["shareUrl"]
    assert run_program(server, "replace_in_ci", pdf, link) == "version 2\n"
    assert "offer.pdf version 2\n" in run_program(server, "tail_events", 1)


def test_the_list_example_prints_a_line_for_each_file(server: ServerProcess, client: Client) -> None:
    made = client.files.upload(simple_pdf(), "list me.pdf")
    assert f"list me.pdf\t0\t{made['shareUrl']}\tnever\n" in run_program(server, "list_files")


def test_the_report_and_wait_examples_see_an_unread_file(server: ServerProcess, client: Client, pdf: Path) -> None:
    link = client.files.upload(pdf)["shareUrl"]
    assert run_program(server, "report", link).splitlines()[0] == "0 views pro"
    assert "nobody has read" in run_program(server, "wait_for_read", link, 1, code=1)


def test_the_csv_example_creates_each_variant_once(
    server: ServerProcess, client: Client, pdf: Path, tmp_path: Path
) -> None:
    link = client.files.upload(pdf)["shareUrl"]
    table = tmp_path / "people.csv"
    table.write_text("name,download\nAnn,yes\nBob,no\n")
    assert len(run_program(server, "variants_from_csv", table, link).splitlines()) == 2
    assert run_program(server, "variants_from_csv", table, link) == ""
    by_label = {row.get("label"): row for row in client.variants.list(link)}
    assert [by_label[name]["overrides"].get("allowDownload") for name in ("Ann", "Bob")] == [True, False]
    pending = [(row["kind"], row["name"], row["reason"]) for row in client.readership.pending(link)]
    assert pending == [("variant", "Bob", "never"), ("variant", "Ann", "never")]
    client.variants.delete(link, by_label["Ann"]["url"])
    assert [row.get("label") for row in client.variants.list(link)] == ["Bob"]


def test_the_download_example_writes_only_the_copy(
    server: ServerProcess, client: Client, pdf: Path, tmp_path: Path
) -> None:
    link, target = client.files.upload(pdf)["shareUrl"], tmp_path / "copy.pdf"
    size = pdf.stat().st_size
    assert run_program(server, "download_copy", link, target) == f"{size} bytes\n"
    assert target.read_bytes() == pdf.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.pdf", "offer.pdf"]


def test_the_error_example_prints_the_kind_of_error(server: ServerProcess) -> None:
    assert run_program(server, "handle_errors", "aB3dE5fG7hJ9") == "404 not_found True\n"
    foreign = run_program(server, "handle_errors", "slug:missing")
    assert foreign == "404 not_found False\n"


def test_the_receiver_example_accepts_only_signed_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, now = "whsec_ab", round(Client("http://127.0.0.1:9").clock.wall() * 1000)
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(compile((FOLDER / "webhook_receiver.py").read_text(), "receiver", "exec"), names)
    http = names["app"].test_client()
    for body in (
        b'{"event":"file.viewed","data":{"fileName":"a.pdf","timeMs":7}}',
        b'{"event":"note.created","data":{"author":"Ann","body":"ok"}}',
    ):
        header = {"X-Service-Signature": sign(secret, body, now)}
        assert http.post("/docshare", data=body, headers=header).status_code == 204
        assert http.post("/docshare", data=body + b" ", headers=header).status_code == 400
    assert names["seen"] == ["a.pdf: 7 ms", "Ann: ok"]
