"""A compromised process that opens documents cannot access the host; ``tests.torture.confinement`` is the long form."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import pytest

from docshare.server.pdf.child import BrokenWorkerError
from docshare.server.pdf.probe import ConfinementProbe
from tests.support.documents.pdfs import simple_pdf
from tests.torture import confinement, payload
from tests.torture.confinement import Arena

# A container may deny these to all processes.
HOST_ATTEMPTS = {"ptrace", "read_memory", "read_memory_by_proc", "gain_capabilities"}
PROCESSES = ["fork_by_clone3", "clone_into_a_user_namespace", "start_a_thread", "limit_the_server"]
OTHERS = ["read_open_document_of_another_owner", "find_document_of_another_owner_in_memory"]


@pytest.fixture
def arena() -> Iterator[Arena]:
    with confinement.open_arena() as new_arena:
        yield new_arena


@pytest.mark.parametrize("name", confinement.BASIC)
def test_basic_attempts_succeed_without_confinement(name: str) -> None:
    result = confinement.attempt_unconfined(name)
    assert result == "achieved" or (name in HOST_ATTEMPTS and "not permitted" in result)


def test_every_attempt_in_a_worker_is_blocked(arena: Arena) -> None:
    with confinement.open_confined("render", arena) as attack:
        assert attack(payload.BREATHE) == "achieved"
        assert "achieved" not in {name: attack(name) for name in confinement.BASIC}.values()
    assert arena.list_damage() == []


@pytest.mark.parametrize("kind", ["tile", "texts", "derive", "stamp", "lint", "scan", "convert"])
def test_every_attempt_in_other_processes_is_blocked(kind: str, arena: Arena) -> None:
    names = [name for name in confinement.BASIC if confinement.is_applicable(name, kind)]
    with confinement.open_confined(kind, arena) as attack:
        assert attack(payload.BREATHE) == "achieved"
        assert "achieved" not in {name: attack(name) for name in names}.values()
    assert arena.list_damage() == []


@pytest.mark.parametrize("name", OTHERS)
def test_a_worker_finds_no_document_of_another_owner(name: str, arena: Arena) -> None:
    theirs, own = arena.folder / "theirs.pdf", arena.folder / "own.pdf"
    language = b"/Type /Catalog /Lang (%b)" % arena.secret[::-1].encode()
    theirs.write_bytes(simple_pdf(1).replace(b"/Type /Catalog", language))
    own.write_bytes(simple_pdf(1))
    with confinement.open_pool(arena) as attack:
        assert attack(payload.BREATHE, "account 1", theirs) == "achieved"
        assert attack(name, "account 1", own) == "achieved"
        assert attack(name, "account 2", own) == "in vain"
        assert attack(payload.BREATHE, "account 1", theirs) == "achieved"
        assert attack(name, "account 2", own) == "in vain"


@pytest.mark.parametrize("name", ["fork", "kill_process", "hand_descriptors_back"])
def test_an_attempt_in_a_forked_worker_is_blocked(name: str, arena: Arena) -> None:
    with confinement.open_pool(arena) as attack:
        with contextlib.suppress(BrokenWorkerError):
            assert attack(name, "account 1", arena.folder / "document.pdf") != "achieved"
        assert attack(payload.BREATHE, "account 2", arena.folder / "document.pdf") == "achieved"
    assert arena.list_damage() == []


@pytest.mark.parametrize("name", PROCESSES)
def test_process_attempts_succeed_without_confinement(name: str) -> None:
    assert confinement.attempt_unconfined(name) == "achieved"


@pytest.mark.parametrize("kind", ["render", "derive", "scan"])
def test_a_worker_that_clones_or_limits_another_process_is_killed(kind: str, arena: Arena) -> None:
    """The filter kills the process instead of returning an error. Libraries do not clone: workers have no threads."""
    with confinement.open_confined(kind, arena) as attack:
        assert attack(payload.BREATHE) == "achieved"
        assert {attack(name) for name in PROCESSES} == {"ended"}


def test_libreoffice_may_only_start_threads(arena: Arena) -> None:
    with confinement.open_confined("convert", arena) as attack:
        assert attack("start_a_thread") == "achieved"
        assert "not implemented" in attack("fork_by_clone3")  # libc falls back to clone
        for name in ("clone_into_a_user_namespace", "limit_the_server"):
            assert "not permitted" in attack(name), name


def test_every_attempt_in_a_worker_of_an_ordinary_user_is_blocked() -> None:
    if os.geteuid() != 0:
        pytest.skip("all tests already run as an ordinary user")
    command, environment = confinement.build_ordinary_user_command("--short")
    done = subprocess.run(command, cwd=confinement.ROOT, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "render: 0 of" in done.stdout
    assert f"layers missing: {list(ConfinementProbe().measure().list_missing())}" in done.stdout
