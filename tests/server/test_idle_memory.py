"""The memory of an idle server has nothing of earlier requests."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from docshare.server.idle_memory import IdleMemory
from docshare.server.services.operations import sweeps
from docshare.server.workers import jobs
from tests.support.engines.database import sqlite_only
from tests.support.people.cast import World
from tests.support.servers.process_memory import read_memory
from tests.support.servers.server_process import run_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system does not show the memory of a process")

# Objects of all sizes that Python would allocate itself (a bytes object has 33 bytes more), and larger ones. Some are
# kept, so that their memory is not returned to the system.
FILL_MEMORY = """
import sys
from docshare.__main__ import erase_freed_memory
erase_freed_memory()
texts = [str(812345).encode() * (size // 6 + 1) for size in range(12, 2000) for _ in range(5)]
others = [bytes(len(text)) for text in texts]
print("filled", flush=True)
sys.stdin.readline()
del texts
print("freed", flush=True)
sys.stdin.readline()
"""
TEXT = b"812345" * 2


# The last text is kept: the library returns free memory by itself only at the end.
FREE_MEMORY = """
import re
from docshare.server.idle_memory import return_free_pages
def read_resident_kib():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])
texts = [bytes(1000) for _ in range(50_000)]
del texts[:-1]
print(read_resident_kib())
return_free_pages()
print(read_resident_kib())
"""


def count_in_memory(process: "subprocess.Popen[str]", text: bytes) -> int:
    return sum(block.content.count(text) for block in read_memory(process.pid))


def test_freed_memory_is_erased() -> None:
    command = [sys.executable, "-c", FILL_MEMORY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "filled\n"
        assert count_in_memory(process, TEXT) > 100_000
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "freed\n"
        assert count_in_memory(process, TEXT) == 0
        process.kill()


def test_free_pages_are_returned_to_the_system() -> None:
    environ = {**os.environ, "PYTHONMALLOC": "malloc"}
    done = subprocess.run([sys.executable, "-c", FREE_MEMORY], env=environ, capture_output=True, text=True, check=True)
    kept_kib, resident_kib = map(int, done.stdout.split())
    assert kept_kib - resident_kib > 40_000


def test_free_pages_are_returned_while_the_server_is_busy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    monkeypatch.setattr(sweeps, "return_free_pages", lambda: calls.append(None))
    world.pia.upload()
    sweeps.free_memory(world.rt)
    assert calls == [None]


def test_memory_is_freed_once_after_requests() -> None:
    memory = IdleMemory()
    assert not memory.is_due(0)
    assert not memory.is_due(0)
    assert not memory.is_due(3)
    assert not memory.is_due(5)
    assert memory.is_due(5)
    assert memory.is_due(5)
    memory.free()
    assert not memory.is_due(5)
    assert not memory.is_due(6)
    assert memory.is_due(6)


def test_an_idle_server_ends_the_workers_that_read_documents(world: World) -> None:
    made = world.pia.upload()
    first = world.rt.engine.pool.list_pids()
    sweeps.free_memory(world.rt)
    assert world.rt.engine.pool.list_pids() == first
    assert world.http.get("/healthz").status_code == 200  # a probe is not a request of a reader
    sweeps.free_memory(world.rt)
    assert first
    assert world.rt.engine.pool.list_pids() == []
    assert world.http.get(f"/{made['shortId']}/pages/1-800.jpg?v=1", buffered=True).status_code == 200
    assert sweeps.free_memory in [job.run for job in jobs.JOBS if job.is_local]


@sqlite_only
def test_the_caches_of_all_connections_are_released(world: World) -> None:
    world.pia.upload()
    thread = threading.Thread(target=lambda: world.rt.db.fetch_all("SELECT * FROM data_keys"))
    thread.start()
    thread.join()
    world.rt.db.release_memory()
    assert world.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("own", ["", "glibc.malloc.check=0"])
def test_the_server_runs_with_a_library_that_erases_what_it_frees(tmp_path: Path, own: str) -> None:
    with run_server(tmp_path, GLIBC_TUNABLES=own) as server:
        environ = Path(f"/proc/{server.process.pid}/environ").read_bytes()
        parts = ("glibc.malloc.perturb=165", "tcache_count=0", "PYTHONMALLOC=malloc", own)
        assert all(part.encode() in environ for part in parts)


def test_a_server_that_cannot_start_again_says_so() -> None:
    program = "import sys; sys.executable = '/missing/python'; from docshare.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "serve"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: cannot start /missing/python: No such file or directory\n"
