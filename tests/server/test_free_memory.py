"""The memory of an idle server has nothing of earlier requests."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from docshare.server.free_memory import FreeMemory
from docshare.server.services.operations import sweeps
from docshare.server.workers import jobs
from tests.support.engines.database import sqlite_only
from tests.support.people.cast import World
from tests.support.servers.process_memory import read_memory
from tests.support.servers.server_process import run_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system does not show the memory of a process")

# Objects of all sizes that Python allocates itself (a bytes object has 33 more), with digits that are in no other text
# of the process.
FILL_MEMORY = """
import sys
from docshare.server.free_memory import erase_free_objects
kept = []
for size in range(16, 480, 8):
    texts = [bytes(str(number) * 500, "ascii")[:size] for number in range(812340, 812800)]
    kept.append(texts[::7])
kept = [len(text) for texts in kept for text in texts]
del texts
print("filled", flush=True)
for line in sys.stdin:
    erase_free_objects()
    print("erased", flush=True)
"""
TEXT = b"812345" * 2


@pytest.fixture
def process() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", FILL_MEMORY]
    # The C library erases the larger ones, as in a server.
    env = os.environ | {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "filled\n"
        yield started
        started.kill()


def count_in_memory(process: "subprocess.Popen[str]", text: bytes) -> int:
    return sum(block.content.count(text) for block in read_memory(process.pid))


def test_free_objects_are_erased(process: "subprocess.Popen[str]") -> None:
    assert count_in_memory(process, TEXT) > 100
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "erased\n"
    assert count_in_memory(process, TEXT) == 0


def test_memory_is_erased_once_after_requests() -> None:
    memory = FreeMemory()
    assert not memory.is_due(0)
    assert not memory.is_due(0)
    assert not memory.is_due(3)
    assert not memory.is_due(5)
    assert memory.is_due(5)
    assert memory.is_due(5)
    memory.erase()
    assert not memory.is_due(5)
    assert not memory.is_due(6)
    assert memory.is_due(6)


def test_an_idle_server_ends_the_workers_that_read_documents(world: World) -> None:
    made = world.pia.upload()
    first = world.rt.engine.pool.list_pids()
    sweeps.erase_memory(world.rt)
    assert world.rt.engine.pool.list_pids() == first
    assert world.http.get("/healthz").status_code == 200  # a probe is not a request of a reader
    sweeps.erase_memory(world.rt)
    assert first
    assert world.rt.engine.pool.list_pids() == []
    assert world.http.get(f"/{made['shortId']}/pages/1-800.jpg?v=1", buffered=True).status_code == 200
    assert sweeps.erase_memory in [job.run for job in jobs.JOBS if job.is_local]


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
        assert all(part.encode() in environ for part in ("glibc.malloc.perturb=165", "tcache_count=0", own))
