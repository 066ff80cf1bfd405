"""A compromised LibreOffice cannot access the host: the second layer of defense after the scan.

The first half runs scripts in place of LibreOffice. In the second half, LibreOffice opens hostile documents with the
scan disabled.
"""

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pikepdf
import pypdfium2
import pytest

from docshare.server.office import convert as converting
from docshare.server.office import process
from docshare.server.office.convert import OfficeConverter
from docshare.server.office.prescan import LinkedPictures
from docshare.server.store.blobs import PartialFile
from tests.office.conftest import list_processes
from tests.support.documents import office

Put = Callable[[bytes, str], Path]
Build = Callable[..., OfficeConverter]

CANARY_SIZE = (61, 67)  # pixels; no other picture here has this aspect ratio
CANARY_TEXT = "canary-5f0c1e"


@pytest.fixture
def require_namespaces(build: Build, fake_soffice: Callable[[str], Path]) -> None:
    if build(fake_soffice("exit 0")).isolation_level != "jail":
        pytest.skip("this host allows no user namespaces")


@pytest.fixture
def run_in_jail(
    require_namespaces: None, build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile
) -> Callable[[str], str]:
    """Return a function that runs a shell script in place of LibreOffice and returns its output."""

    def run(script: str) -> str:
        converter = build(fake_soffice(f"(echo %PDF-; {script}) > document.pdf 2>&1"))
        converter.convert(write_file(office.make_docx(), "letter.docx"), "docx", part)
        return part.path.read_text(encoding="utf-8").removeprefix("%PDF-\n")

    return run


def test_the_jail_contains_only_programs_of_the_host(
    run_in_jail: Callable[[str], str], tmp_path: Path, data: Path
) -> None:
    secrets = [tmp_path / "canary.txt", data.parent / "docshare.db", data / "other.part"]
    for secret in secrets:
        secret.write_text(CANARY_TEXT, encoding="ascii")
    private = [*map(str, secrets), "/etc/passwd", "/etc/shadow", str(Path.home()), "/root", "/home", "/var/lib", "/run"]
    seen = run_in_jail(
        f"cat {' '.join(private)}; for x in {' '.join(private)}; do [ -e $x ] && echo $x is there; done; ls /"
    )
    assert CANARY_TEXT not in seen
    assert "is there" not in seen
    assert not {"root", "home", "run", "srv", "mnt", "media", "boot", "sys"} & set(seen.split())


def test_only_the_working_directory_is_writable(run_in_jail: Callable[[str], str]) -> None:
    # Tested without writing, so that a failure does not damage the host.
    seen = run_in_jail(
        "for x in / /usr /usr/lib /etc /dev /var /proc/sys/kernel .; do [ -w $x ] && echo may write $x; done"
    )
    assert seen == "may write .\n"


def test_written_files_cannot_be_executed(run_in_jail: Callable[[str], str]) -> None:
    assert "ran" not in run_in_jail("cp /bin/echo x; chmod 755 x; ./x ran")


def test_the_jail_has_no_network(run_in_jail: Callable[[str], str]) -> None:
    # A new network namespace has the loopback device (down), default devices of the kernel, and no routes.
    seen = run_in_jail(
        "cat /proc/net/dev; echo; cat /proc/net/route /proc/net/ipv6_route; echo; grep . /sys/class/net/*/address"
    )
    assert " lo:" in seen
    assert not re.search(r"^ *(eth|en|wl|docker|br|veth)\w*:", seen, flags=re.M)
    assert len(re.findall(r"^\w+\t[0-9A-F]{8}\t", seen, flags=re.M)) == 0


def test_processes_of_the_host_are_not_visible(run_in_jail: Callable[[str], str]) -> None:
    numbers = [int(name) for name in run_in_jail("ls /proc").split() if name.isdigit()]
    assert numbers
    assert max(numbers) < 20
    assert os.getpid() not in numbers


def test_the_jail_has_no_capabilities_and_cannot_gain_any(run_in_jail: Callable[[str], str]) -> None:
    seen = run_in_jail("grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status; unshare -r id && echo new namespace")
    assert "new namespace" not in seen
    assert re.findall(r"(\w+):\s+(\w+)", seen)[:3] == [
        ("CapPrm", "0" * 16),
        ("CapEff", "0" * 16),
        ("NoNewPrivs", "1"),
    ]


def test_the_environment_of_the_server_is_not_visible(
    run_in_jail: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCSHARE_SECRET", CANARY_TEXT)
    seen = run_in_jail("env; cat /proc/*/environ /proc/*/cmdline")
    assert CANARY_TEXT not in seen
    assert "DOCSHARE" not in seen


def test_resource_limits_are_set(run_in_jail: Callable[[str], str]) -> None:
    seen = dict(re.findall(r"^(Max \w+(?: \w+){0,2}) +(\w+)", run_in_jail("cat /proc/self/limits"), flags=re.M))
    assert seen["Max address space"] == str(2 << 30)
    assert seen["Max file size"] == str(512 << 20)
    assert seen["Max cpu time"] == "90"
    assert seen["Max open files"] == "512"
    assert seen["Max core file size"] == "0"
    assert 256 <= int(seen["Max processes"]) < 4096


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each command its own user id")
def test_a_fork_bomb_does_not_fill_the_process_table(run_in_jail: Callable[[str], str]) -> None:
    bomb = "for n in $(seq 600); do (sleep 1000 > /dev/null &) ; done 2> /dev/null; ls -d /proc/[0-9]*"
    assert 100 < len(re.findall(r"^/proc/\d+$", run_in_jail(bomb), flags=re.M)) <= 330


def test_the_working_directory_of_the_server_is_not_visible(
    run_in_jail: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / CANARY_TEXT).mkdir()
    monkeypatch.chdir(tmp_path / CANARY_TEXT)
    seen = run_in_jail("pwd; readlink /proc/[0-9]*/cwd; cat /proc/[0-9]*/environ; ls -d ../*")
    assert "/office-" in seen
    assert CANARY_TEXT not in seen


def test_the_launcher_runs_in_the_root_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = "import json, os; print(json.dumps({'exit': 0, 'cpu_s': 0, 'missing': {'directory': os.getcwd()}}))"
    monkeypatch.setattr(process, "python_command", lambda *_: ([sys.executable, "-c", answer], {}))
    launched = process.JailedCommand(
        {"level": "bare", "command": [], "env": {}, "home": str(tmp_path), "programs": [], "limits": {}}
    )
    assert launched.wait(30) == 0
    assert launched.missing == {"directory": "/"}


def test_the_profile_has_no_trusted_sources(run_in_jail: Callable[[str], str]) -> None:
    settings = run_in_jail("cat profile/user/registrymodifications.xcu")
    values = dict(re.findall(r"oor:name=\"(\w+)\" oor:op='fuse'><value>(\w+)<", settings))
    assert values["BlockUntrustedRefererLinks"] == "true"
    assert values["DisableMacrosExecution"] == "true"
    assert values["MacroSecurityLevel"] == "3"
    assert values["Link"] in "01"


def test_a_process_in_another_group_ends_with_the_conversion(run_in_jail: Callable[[str], str], data: Path) -> None:
    run_in_jail("setsid sleep 1000 > /dev/null &")
    assert list_processes(data) == {}


@pytest.mark.parametrize("level", ["network", "bare"])
def test_a_process_in_another_group_ends_without_a_pid_namespace(
    build: Build,
    fake_soffice: Callable[[str], Path],
    write_file: Put,
    part: PartialFile,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    level: str,
) -> None:
    monkeypatch.setattr(converting, "ISOLATION_LEVELS", (level,))
    hiding = "(setsid sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 &); sleep 0.3; echo %PDF-1.7 > document.pdf"
    build(fake_soffice(hiding)).convert(write_file(office.make_docx(), "letter.docx"), "docx", part)
    assert list_processes(data) == {}


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Return a directory with a picture and a document that must not appear in any PDF."""
    (tmp_path / "canary.png").write_bytes(office.make_picture(CANARY_SIZE))
    (tmp_path / "canary.docx").write_bytes(office.make_docx(CANARY_TEXT))
    return tmp_path


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Yield a loopback socket that accepts and records connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


# LibreOffice 7.4 follows the first three with default settings, and the others with any settings.
BAITS: dict[str, Callable[[str, str], bytes]] = {
    "linked picture.docx": lambda file, web: office.link_picture(office.make_docx(), f"{file}.png"),
    "picture in the web.docx": lambda file, web: office.link_picture(office.make_docx(), f"{web}.png", "hyperlink"),
    "linked picture.pptx": lambda file, web: office.link_picture(office.make_pptx(), f"{file}.png", "hyperlink"),
    "object.pptx": lambda file, web: office.link_object(office.make_pptx(), f"{file}.docx"),
    "object in the web.pptx": lambda file, web: office.link_object(office.make_pptx(), f"{web}.docx"),
    "drawing.docx": lambda file, web: office.embed_svg(office.make_docx(), office.make_svg(f"{file}.png")),
    "drawing.pptx": lambda file, web: office.embed_svg(office.make_pptx(), office.make_svg(f"{file}.png")),
}


@pytest.fixture
def convert_bait(
    converter: OfficeConverter,
    write_file: Put,
    part: PartialFile,
    canary: Path,
    listener: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], None]:
    """Return a function that converts a bait without the scan and checks that no canary is in the result."""

    def convert(name: str) -> None:
        monkeypatch.setattr(converting, "scan_document", lambda *_, **__: LinkedPictures([], {}))
        web = f"http://127.0.0.1:{listener.getsockname()[1]}/canary"
        document = BAITS[name]((canary / "canary").as_uri(), web)
        converter.convert(write_file(document, name), name.rpartition(".")[2], part)
        part.close()
        with pikepdf.open(part.path) as pdf:
            streams = [entry for entry in pdf.objects if isinstance(entry, pikepdf.Stream)]
            pictures = [entry for entry in streams if entry.get("/Subtype") == "/Image"]
            assert CANARY_SIZE not in [(int(entry.Width), int(entry.Height)) for entry in pictures]
        with pypdfium2.PdfDocument(part.path) as pdf_text:
            assert CANARY_TEXT not in "".join(page.get_textpage().get_text_bounded() for page in pdf_text)
        with pytest.raises(BlockingIOError):
            listener.accept()

    return convert


@pytest.mark.parametrize("name", list(BAITS)[3:])
def test_a_hostile_document_that_passes_scan_and_profile_cannot_read_files(
    require_namespaces: None, convert_bait: Callable[[str], None], name: str
) -> None:
    convert_bait(name)


@pytest.mark.parametrize("name", list(BAITS)[:3])
def test_without_a_jail_the_profile_still_blocks_linked_pictures(
    convert_bait: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    monkeypatch.setattr(converting, "ISOLATION_LEVELS", ("not allowed here", "bare"))
    convert_bait(name)
    assert "LibreOffice runs without namespaces, root" in caplog.text
