"""No worker reads documents of two owners."""

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import Derivation, PdfEngine
from tests.pdf.test_confinement import run_under_filter
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until

Put = Callable[..., Path]
OWNERS = [f"account {number}" for number in range(10, 20)]
RENDER_FOR_TWO_OWNERS = """
import json, sys
from contextlib import closing
from pathlib import Path
from docshare.server.pdf import budget
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine
from tests.pdf.test_isolation import read_status
budget.QUICK_JOB_S = 60.0  # after a heavy job, a busy machine would use another worker
with closing(PdfEngine(workers=1)) as engine:
    drawn = [len(engine.render(Path(sys.argv[1]), 1, 80, None, Tenant(owner, "c"))) for owner in ("a", "b", "a", "b")]
    workers = engine.pool.list_pids()
    rows = [read_status(pid, "NSpid") for pid in workers]
    parents = {read_status(pid, "PPid")[0] for pid in workers}
    print(json.dumps({"drawn": min(drawn), "workers": len(workers), "parents": len(parents), "ids": len(rows[0])}))
"""


def read_status(pid: int, name: str) -> list[str]:
    """Return the values of a row in the status of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(line.split()[1:] for line in lines if line.startswith(f"{name}:"))


def find_template(engine: PdfEngine) -> int:
    """Return the process of which the workers of ``engine`` are forks."""
    return int(read_status(engine.pool.list_pids()[0], "PPid")[0])


def list_children(parent: int) -> list[int]:
    """Return the processes that ``parent`` started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
    return [int(pid) for pid in children.split()]


def find_owners_in_files(pid: int) -> set[str]:
    """Return the owners of the documents that a process has open."""
    names = [os.readlink(handle) for handle in Path(f"/proc/{pid}/fd").iterdir()]
    return {Path(name).stem for name in names if name.endswith(".pdf")}


def find_owners_in_memory(pid: int) -> set[str]:
    """Return the owners of the documents in the writable memory of a process."""
    found = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            place, rights = line.split()[:2]
            if "w" in rights:
                start, end = (int(part, 16) for part in place.split("-"))
                memory.seek(start)
                with contextlib.suppress(OSError):  # a guard page
                    content = memory.read(end - start)
                    found |= {owner for owner in OWNERS if f"document of {owner}".encode() in content}
    return found


def test_no_worker_has_documents_of_two_owners(write_file: Put) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may look at what a worker has open and in memory")
    in_files: list[set[str]] = []
    in_memory: list[set[str]] = []
    with closing(PdfEngine(workers=1)) as engine:
        for owner in OWNERS * 2:
            language = f"/Type /Catalog /Lang (document of {owner})".encode()
            path = write_file(simple_pdf(2).replace(b"/Type /Catalog", language), f"{owner}.pdf")
            tenant = Tenant(owner, owner)
            engine.inspect(path, tenant)
            engine.render(path, 1, 80, None, tenant)
            engine.render_if_spare(path, 2, 80, None, tenant)
            engine.derive(path, Derivation(2, 1, 1), io.BytesIO(), tenant)
            processes = list_children(find_template(engine))
            in_files += map(find_owners_in_files, processes)
            in_memory += map(find_owners_in_memory, processes)
            assert find_owners_in_memory(find_template(engine)) == set()
    for found in (in_files, in_memory):
        assert set(OWNERS) <= set().union(*found)
        assert max(map(len, found)) == 1


@pytest.mark.parametrize(
    ("tenants", "count"),
    [
        ([Tenant("account 1", "a", "address 1"), Tenant("account 1", "b")], 1),
        ([Tenant("account 1", "a", "address 1"), Tenant("account 2", "a", "address 1")], 2),
        # Files without an owner, which anybody may have uploaded.
        ([Tenant("address 1", "a", "address 1"), Tenant("address 1", "b", "address 1")], 2),
        ([Tenant("address 1", "a", "address 1"), Tenant("address 2", "a", "address 2")], 1),
    ],
)
@pytest.mark.usefixtures("quick_jobs")
def test_documents_share_a_worker_only_within_an_owner(write_file: Put, tenants: list[Tenant], count: int) -> None:
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        for tenant in tenants:
            engine.render(path, 1, 80, None, tenant)
        assert len(engine.pool.list_pids()) == count


@pytest.mark.usefixtures("quick_jobs")
def test_two_owners_that_alternate_keep_their_workers(write_file: Put) -> None:
    path = write_file(simple_pdf(1))
    seen = set()
    with closing(PdfEngine(workers=1)) as engine:
        for owner in OWNERS[:2] * 3:
            engine.render(path, 1, 80, None, Tenant(owner, "c"))
            seen.update(engine.pool.list_pids())
    assert len(seen) == 2


@pytest.mark.usefixtures("quick_jobs")
def test_a_worker_is_forked_again_after_its_template_died(write_file: Put) -> None:
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        engine.render(path, 1, 80, None, Tenant("account 1", "c"))
        template, (worker,) = find_template(engine), engine.pool.list_pids()
        os.kill(template, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{worker}").exists())
        for owner in ("account 1", "account 2"):
            assert engine.render(path, 1, 80, None, Tenant(owner, "c"))
        assert find_template(engine) != template


def test_the_template_and_its_workers_end_with_the_engine(write_file: Put) -> None:
    with closing(PdfEngine(workers=1)) as engine:
        engine.render(write_file(simple_pdf(1)), 1, 80)
        processes = [find_template(engine), *engine.pool.list_pids()]
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes)


@pytest.mark.parametrize(
    ("calls", "parents"),
    [
        ("keyctl", 1),
        ("pidfd_open", 0),
        ("kill:pidfd_open", 0),
        ("pidfd_send_signal", 0),
        ("setns", 0),
        ("kill:setns", 0),
        ("unshare", 1),
    ],
)
def test_workers_are_separate_on_a_host_that_cannot_fork_them(write_file: Put, calls: str, parents: int) -> None:
    done = run_under_filter(calls, sys.executable, "-c", RENDER_FOR_TWO_OWNERS, str(write_file(simple_pdf(1))))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["drawn"] > 100
    assert found["workers"] == 2
    assert found["parents"] == (parents or found["workers"])
    assert found["ids"] == (1 if calls == "unshare" else 2 + parents)
