"""Run attacks in every kind of process that opens documents: ``python -m tests.torture.confinement [--verbose]``.

The code of ``payload`` runs as if it had exploited a library: in a worker that is started and confined like those of
the server, during a job. A hook (``sitecustomize``), which only these processes load, injects it; the product has no
code for it. Each attempt is first run without confinement, as the same user. As root, everything is repeated as an
ordinary user.
"""

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docshare.contract.problems import Problem
from docshare.server.office.convert import OfficeConverter
from docshare.server.office.scan import scan_document
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess
from docshare.server.pdf.pool import WorkerPool
from docshare.server.pdf.probe import ConfinementProbe
from docshare.server.pdf.schedule import JobLane
from docshare.server.store.blobs import PartialFile
from tests.support.documents.pdfs import simple_pdf
from tests.torture import payload

ROOT = Path(__file__).resolve().parents[2]
BASIC = list(payload.ATTEMPTS)[: list(payload.ATTEMPTS).index("openat2")]
"""Direct attempts; the others are those of an attacker who knows that these are blocked."""
KINDS = (
    "render", "tile", "text", "texts", "inspect", "palette", "derive", "stamp", "picture", "clean", "lint", "scan",
    "convert",
)  # fmt: skip
"""Kinds of jobs with an argument that can name an attempt; the job "outline" has none, and the same workers run it."""
# LibreOffice can start programs, and has queues and users in its own namespaces.
_PROCESS_ATTEMPTS = {
    "fork", "execute", "memfd_and_execute", "become_root_again", "run_written_code", "message_queue",
    "hand_descriptors_back", "start_a_thread",
}  # fmt: skip
_ENDED = "ended"
_ORDINARY_USER = 65533
_HOOK = """
import json, sys
modules = ("docshare.server.pdf.worker.main", "docshare.server.pdf.worker.template", "docshare.server.office.scan")
if any(name in sys.orig_argv for name in modules):
    sys.path.insert(0, {root!r})
    from tests.torture import hook
    hook.arm(json.loads({targets!r}))
"""


class Arena:
    """A data folder as a target, and a server. ``targets`` contains their paths and addresses for the payload."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = os.urandom(16).hex()
        self._secret_buffer = ctypes.create_string_buffer(self.secret.encode())
        for name in ("vault.key", "docshare.db", "blob", "other.pdf"):
            (folder / name).write_text(self.secret * 200, encoding="ascii")
        (folder / "doomed").touch()
        (folder / "document.pdf").write_bytes(simple_pdf(1))
        (folder / "tmp").mkdir()
        self._other = (folder / "other.pdf").open("rb")
        self.victim = subprocess.Popen(["sleep", "600"])
        self._unix, self._abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self._unix.bind(str(folder / "socket"))
        self._abstract.bind(f"\0docshare-{self.secret}")
        self._tcp = socket.create_server(("127.0.0.1", 0))
        for listener in (self._unix, self._abstract):
            listener.listen()
        key = int(self.secret[:7], 16)
        self._segment = ctypes.CDLL(None).shmget(key, 4096, 0o1600)
        self.targets: dict[str, Any] = {
            "secret": self.secret, "vault": str(folder / "vault.key"), "database": str(folder / "docshare.db"),
            "blob": str(folder / "blob"), "doomed": str(folder / "doomed"), "folder": str(folder),
            "document": str(folder / "document.pdf"), "document_size": (folder / "document.pdf").stat().st_size,
            "victim": self.victim.pid, "server": os.getpid(), "address": ctypes.addressof(self._secret_buffer),
            "descriptor": self._other.fileno(), "socket": str(folder / "socket"),
            "abstract": f"docshare-{self.secret}", "port": self._tcp.getsockname()[1], "key": key,
        }  # fmt: skip

    def list_damage(self) -> list[str]:
        """Return everything that an attack has changed."""
        texts = {
            name: (self.folder / name).read_text(encoding="ascii") for name in ("vault.key", "docshare.db", "blob")
        }
        found = [name for name, text in texts.items() if text != self.secret * 200]
        found += [name for name in ("doomed",) if not (self.folder / name).exists()]
        found += [name for name in ("written",) if (self.folder / name).exists()]
        found += ["document.pdf"] * ((self.folder / "document.pdf").read_bytes() != simple_pdf(1))
        return found + ["victim"] * (self.victim.poll() is not None)

    def close(self) -> None:
        """Close the resources of the server."""
        self.victim.kill()
        self.victim.wait()
        ctypes.CDLL(None).shmctl(self._segment, 0, None)
        for sock in (self._other, self._unix, self._abstract, self._tcp):
            sock.close()


@contextlib.contextmanager
def open_arena() -> Iterator[Arena]:
    """Yield a new arena in a folder with mode 0700."""
    with tempfile.TemporaryDirectory(prefix="arena-") as folder:
        new_arena = Arena(Path(folder))
        try:
            yield new_arena
        finally:
            new_arena.close()


def attempt_unconfined(name: str) -> str:
    """Return the result of the attempt ``name`` without confinement."""
    with open_arena() as arena:
        targets = arena.folder / "targets.json"
        targets.write_text(json.dumps(arena.targets), encoding="ascii")
        command = [sys.executable, payload.__file__, name, str(targets)]
        with (arena.folder / "document.pdf").open("rb") as file:
            handles = (file.fileno(),)
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, pass_fds=handles)
        return done.stdout.strip() or f"{_ENDED} ({done.returncode})"


@contextlib.contextmanager
def open_confined(kind: str, arena: Arena) -> Iterator[Callable[[str], str]]:
    """Yield a function that runs an attempt in a process of ``kind``, started like the server does, and returns the
    result."""
    with contextlib.ExitStack() as stack:
        if kind == "convert":
            yield _install_as_libreoffice(stack.enter_context(_open_folder()), arena)
            return
        stack.enter_context(_install_hook(arena))
        yield (
            (lambda name: _attempt_in_scan(name, arena))
            if kind == "scan"
            else stack.enter_context(_open_worker(kind, arena))
        )


@contextlib.contextmanager
def open_pool(arena: Arena) -> Iterator[Callable[[str, str, Path], str]]:
    """Yield a function that runs an attempt in a pool of workers like that of the server, in a job of an owner on a
    document, and returns the result."""

    def attack(name: str, owner: str, path: Path) -> str:
        with pool.hold(str(path), Tenant(owner, path.name), JobLane.PAGES, patience_s=20.0) as slot:
            reply = pool.prepare_worker(slot).ask({"do": "text", "path": str(path), "page": name})
        return reply.body.decode().strip('"')

    pool = WorkerPool(places={JobLane.PAGES: 1}, memory_bytes=1 << 30, timeout_s=20.0, recycle_after=100, max_waiting=1)
    with _install_hook(arena), contextlib.closing(pool):
        yield attack


@contextlib.contextmanager
def _open_folder() -> Iterator[Path]:
    """Yield a new folder that every user may read."""
    with tempfile.TemporaryDirectory(prefix="hook-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextlib.contextmanager
def _install_hook(arena: Arena) -> Iterator[None]:
    """Inject the payload into all processes of ``_HOOK`` that are started during the block."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_open_folder())
        text = _HOOK.format(root=str(ROOT), targets=json.dumps(arena.targets))
        (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
        paths = os.environ.get("PYTHONPATH")
        stack.callback(sys.path.remove, str(folder))
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), paths)))
        try:
            yield
        finally:
            os.environ.pop("PYTHONPATH")
            if paths is not None:
                os.environ["PYTHONPATH"] = paths


@contextlib.contextmanager
def _open_worker(kind: str, arena: Arena) -> Iterator[Callable[[str], str]]:
    child: WorkerProcess | None = None

    def attack(name: str) -> str:
        nonlocal child
        if child is None:
            child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
        try:
            return (
                child.ask({"do": kind, "path": arena.targets["document"], **_build_job_arguments(kind, name)})
                .body.decode()
                .strip('"')
            )
        except BrokenWorkerError:
            child.kill()
            child = None
            return _ENDED

    try:
        yield attack
    finally:
        if child is not None:
            child.kill()


def _build_job_arguments(kind: str, name: str) -> dict[str, Any]:
    """Return the arguments of a job of ``kind`` that pass ``name`` to the hook."""
    return {
        "render": {"page": 1, "width": name},
        "tile": {"do": "render", "page": 1, "tile": name},
        "text": {"page": name},
        "texts": {"first": name, "last": 1, "budget_s": 0},
        "inspect": {"max_pages": name},
        "palette": {"budget_s": name},
        "derive": {"total": 1, "first": name, "last": 1, "mark": None},
        "stamp": {"mark": name},
        "picture": {"type": name},
        "clean": {"keep_title": name},
        "lint": {"budget_s": name},
    }[kind]


def _attempt_in_scan(name: str, arena: Arena) -> str:
    try:
        scan_document(Path(arena.targets["document"]), name)
    except Problem as problem:
        return _ENDED if "damaged" in problem.detail else problem.detail
    return "no answer"


def _install_as_libreoffice(folder: Path, arena: Arena) -> Callable[[str], str]:
    """Install the payload as a program in place of LibreOffice; return a function that runs an attempt in it."""
    program, python = folder / "soffice", Path(sys.executable).resolve()
    python = python if python.is_relative_to("/usr") else Path("/usr/bin/python3")
    shutil.copyfile(payload.__file__, folder / "payload.py")
    (folder / "targets.json").write_text(json.dumps(arena.targets), encoding="ascii")
    for path in folder.iterdir():  # independent of the umask of this process
        path.chmod(0o644)
    run = f'{python} {folder}/payload.py "$(cat {folder}/name)" {folder}/targets.json'
    program.write_text(f'#!/bin/sh\n[ "$2" = --version ] && exit 0\n(echo %PDF-; {run}) > document.pdf 2>&1\n')
    program.chmod(0o755)
    converter = OfficeConverter(Path(arena.targets["folder"]) / "tmp", program)

    def attack(name: str) -> str:
        (folder / "name").write_text(name, encoding="ascii")
        (folder / "name").chmod(0o644)
        part = PartialFile(folder / "made.part")
        try:
            converter.convert(Path(arena.targets["document"]), "ppt", part)
            part.close()
            return part.path.read_text(encoding="utf-8").removeprefix("%PDF-\n").strip() or _ENDED
        finally:
            part.discard()

    return attack


def is_applicable(name: str, kind: str) -> bool:
    """Return whether the attempt ``name`` is an attack in a process of ``kind``."""
    return not (kind == "convert" and name in _PROCESS_ATTEMPTS)


def attack_all(kinds: tuple[str, ...], names: list[str]) -> int:
    """Run the attempts ``names`` in all ``kinds`` and print the results; return the number of successful attacks."""
    succeeded = [name for name in names if _print_result(attempt_unconfined(name), "unconfined", name)]
    print(f"{len(succeeded)} of {len(names)} attempts succeed without confinement")
    bad = 0
    for kind in kinds:
        with open_arena() as arena, open_confined(kind, arena) as attack:
            assert attack(payload.BREATHE) == "achieved", f"the payload does not run in {kind}"
            results = {name: attack(name) for name in names if is_applicable(name, kind)}
            achieved = [name for name, result in results.items() if _print_result(result, kind, name)]
            damage = arena.list_damage()
        bad += len(achieved) + len(damage)
        summary = f"{kind}: {len(achieved)} of {len(results)} attempts succeeded {achieved or ''}"
        print(f"{summary}; damage: {damage or 'none'}")
    return bad


def _print_result(result: str, where: str, name: str) -> bool:
    if "--verbose" in sys.argv:
        print(f"  {where:12} {name:36} {result}")
    return result == "achieved"


def build_ordinary_user_command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and environment that run this module as an unprivileged user."""
    paths = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    user = ["setpriv", f"--reuid={_ORDINARY_USER}", f"--regid={_ORDINARY_USER}", "--clear-groups"]
    same = (
        f"import os, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]} or not os.access(sys.executable, 1))"
    )
    found = [sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"]
    able = [
        python for python in found if subprocess.run([*user, python, "-c", same], capture_output=True).returncode == 0
    ]
    assert able, "no Python of this version may be started by everybody"
    command = [*user, able[0], "-B", "-m", "tests.torture.confinement", *arguments]
    return command, {"PATH": os.environ["PATH"], "PYTHONPATH": paths}


def main() -> int:
    print(f"layers missing: {list(ConfinementProbe().measure().list_missing())}")
    if "--short" in sys.argv:
        return attack_all(("render",), BASIC)
    print(f"as user {os.geteuid()}:")
    bad = attack_all(KINDS, list(payload.ATTEMPTS))
    if os.geteuid() == 0:
        command, environment = build_ordinary_user_command(*sys.argv[1:])
        bad += subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return min(bad, 100)


if __name__ == "__main__":
    raise SystemExit(main())
