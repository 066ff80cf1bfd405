"""How workers are confined on hosts that lack some layers, and what is reported to the operator."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess
from docshare.server.pdf.probe import ConfinementProbe
from docshare.server.pdf.worker.confine import LAYERS
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf, simple_pdf
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env, start_server

Put = Callable[..., Path]
Pose = Callable[..., None]

# Run a program under a filter: the system calls in the first argument fail, or kill the process if prefixed "kill:".
UNDER_FILTER = """
import errno, os, sys
from docshare.server.confinement import kernel, seccomp
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
names = sys.argv[1].removeprefix("kill:").split(",")
seccomp.SYSCALL_NUMBERS["landlock_create_ruleset"] = (444, 444)
action = 0x80000000 if sys.argv[1].startswith("kill:") else seccomp.errno_action(errno.EPERM)
rules = {name: seccomp.SyscallRule(action) for name in names}
seccomp.install_filter(seccomp.assemble_filter(rules, rest_allowed=True))
os.execv(sys.argv[2], sys.argv[2:])
"""
RENDER_AND_REPORT = """
import json, sys
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess
child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
drawn = child.ask({"do": "render", "path": sys.argv[1], "page": 1, "width": 80}).body
try:
    WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0, required=True)
    error_message = ""
except BrokenWorkerError as error:
    error_message = str(error)
print(json.dumps({"missing": child.layers.list_missing(), "drawn": len(drawn), "error_message": error_message}))
child.kill()
"""
# Print how many system calls read files while a worker draws text whose font is not embedded.
COUNT_READS_OF_FONTS = """
import io, sys
from docshare.server.pdf.worker import main, render
from docshare.server.pdf.worker.documents import OpenPdfDocument

def count_reads():
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file)["syscr"])

main.load_libraries(edits=False)
document = OpenPdfDocument(io.BytesIO(open(sys.argv[1], "rb").read()))
before = count_reads()
render.render_jpeg(document, 1, 80)
print(count_reads() - before)
"""
# Print how many Python functions a fork of a template calls to confine itself.
COUNT_CALLS_OF_A_FORK = """
import os, sys
from docshare.server.pdf.worker import confine, template
place = confine.enter_process_namespace()
confine.prepare()
reader, writer = os.pipe()
child = template._fork(place)
if child == 0:
    calls = []
    sys.setprofile(lambda frame, event, value: calls.append(event))
    confine.confine(1 << 30, place)
    sys.setprofile(None)
    os.write(writer, str(calls.count("call")).encode())
    os._exit(0)
os.close(writer)
calls = os.read(reader, 20)
os.waitpid(child, 0)
os.write(2, calls)
"""
STRICT_LAYERS = {"processes", "namespaces", "root", "landlock", "seccomp"}


def run_under_filter(calls: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` under a filter that blocks the system calls ``calls``."""
    return subprocess.run(
        [sys.executable, "-c", UNDER_FILTER, calls, *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def missing_layers() -> set[str]:
    """Return the layers that this host lacks; none on most hosts."""
    return set(ConfinementProbe().measure().list_missing())


def test_the_layers_that_a_worker_reports_match_the_host(missing_layers: set[str]) -> None:
    child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
    try:
        lines = Path(f"/proc/{child.pid}/status").read_text(encoding="ascii").splitlines()
    finally:
        child.kill()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    assert list(child.layers.missing) == list(LAYERS)
    assert (status["Seccomp"] == ["2"]) == ("seccomp" not in missing_layers)
    assert (len(status["NSpid"]) > 1) == ("processes" not in missing_layers)
    assert ("0" not in status["Uid"] and status["Groups"] == []) == ("user" not in missing_layers) or os.geteuid() != 0
    assert {int(status[name][0], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {0}
    assert status["NoNewPrivs"] == ["1"]


def test_health_details_list_the_layers(tmp_path: Path, missing_layers: set[str]) -> None:
    process, url = start_server("--port", "0", env=make_env(tmp_path))
    try:
        plain = requests.get(f"{url}/healthz", timeout=10)
        wait_until(lambda: "active" in requests.get(f"{url}/healthz?details", timeout=10).json()["confinement"])
        details = requests.get(f"{url}/healthz?details", timeout=10).json()
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert plain.text == "ok\n"
    assert (details["status"], details["database"], details["storage"]) == ("ok", True, True)
    assert details["confinement"]["required"] is False
    assert set(details["confinement"]["missing"]) == missing_layers
    assert set(details["confinement"]["active"]) == set(LAYERS) - missing_layers


@pytest.mark.parametrize(
    ("calls", "missing"),
    [
        ("unshare", {"processes", "namespaces", "root"}),
        ("mount", {"root"}),
        ("kill:mount", {"root"}),  # like the filter of a systemd unit
        ("kill:unshare", {"processes", "namespaces", "root"}),
        ("kill:landlock_create_ruleset", {"landlock"}),
        ("kill:unshare,mount,landlock_create_ruleset,seccomp", STRICT_LAYERS),
        ("seccomp", {"seccomp"}),
        ("unshare,seccomp", {"processes", "namespaces", "root", "seccomp"}),
    ],
)
def test_a_worker_starts_without_layers_that_the_host_lacks(
    tmp_path: Path, calls: str, missing: set[str], missing_layers: set[str]
) -> None:
    document = tmp_path / "document.pdf"
    document.write_bytes(simple_pdf(1))
    done = run_under_filter(calls, sys.executable, "-c", RENDER_AND_REPORT, str(document))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["missing"]) == missing | missing_layers
    assert found["drawn"] > 100
    assert all(name in found["error_message"] for name in missing)


def test_a_worker_starts_without_the_call_that_reports_filters(write_file: Put) -> None:
    done = run_under_filter("prctl", sys.executable, "-c", RENDER_AND_REPORT, str(write_file(simple_pdf(1))))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"processes", "capabilities"} <= set(found["missing"])
    assert found["drawn"] > 100


def test_a_server_that_requires_every_layer_does_not_start_without_one(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "docshare", "serve", "--port", "0", "--data", str(tmp_path / "data"))
    done = run_under_filter("unshare", *command, DOCSHARE_CONFINEMENT="required")
    assert done.returncode == 2
    assert done.stdout == ""
    error, hint = done.stderr.strip().splitlines()[-2:]
    assert "DOCSHARE_CONFINEMENT is required" in error
    assert "processes" in error
    assert "user namespaces" in hint


def test_a_worker_has_only_the_document_and_the_protocol_open(tmp_path: Path) -> None:
    document = tmp_path / "document.pdf"
    document.write_bytes(simple_pdf(1))
    child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
    try:
        child.ask({"do": "inspect", "path": str(document), "max_pages": 10})
        handles = Path(f"/proc/{child.pid}/fd")
        if os.geteuid() != 0:
            pytest.skip("only root may look at what a worker has open")
        opened = sorted(os.readlink(handle).partition(":")[0] for handle in handles.iterdir())
    finally:
        child.kill()
    assert opened == sorted(["/dev/null"] * 3 + ["socket", "pipe", str(document)])


def test_a_worker_has_read_the_fonts_of_the_host_before_it_is_forked(write_file: Put) -> None:
    document = write_file(sheets_pdf([Sheet(lines_content("words in Helvetica"))]))
    command = [sys.executable, "-c", COUNT_READS_OF_FONTS, str(document)]
    assert int(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout) < 10


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start workers without a template")
def test_a_fork_confines_itself_in_few_calls(missing_layers: set[str]) -> None:
    """The memory of each function that a fork calls is copied, so its number decides how long the fork takes."""
    command = [sys.executable, "-c", COUNT_CALLS_OF_A_FORK]
    calls = int(subprocess.run(command, capture_output=True, timeout=60, check=True).stderr)
    assert calls < 260, missing_layers


@pytest.mark.parametrize(
    "answer",
    [
        b'{"size": ' + b"9" * 4000 + b"}\n",
        b'{"size": 1e3}\n',
        b'{"size": NaN}\n',
        b'{"size": -1}\n',
        b'{"size": 99999999999}\n',
        b"[" * 4000 + b"\n",
        b"x" * 10_000,
        b"null\n",
        b"\xff\xfe\n",
    ],
)
def test_an_invalid_reply_breaks_only_that_worker(answer: bytes, write_file: Put, start_impostors: Pose) -> None:
    start_impostors(answer)
    child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
    try:
        with pytest.raises(BrokenWorkerError):
            child.ask({"do": "inspect", "path": str(write_file(simple_pdf(1))), "max_pages": 10})
    finally:
        child.kill()
