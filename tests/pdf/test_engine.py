"""The engine and its worker processes: start, confinement, limits and end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

import docshare
from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess
from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from docshare.server.pdf.schedule import JobLane
from docshare.server.pdf.template import WorkerTemplate
from tests.support.documents.hostile_pdfs import memory_bomb, paced_pages
from tests.support.documents.pdfs import many_pages_pdf, simple_pdf
from tests.support.polling import wait_until
from tests.support.terminal import Terminal

Put = Callable[..., Path]


def is_running(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def read_cpu_ticks(pid: int) -> int:
    """Return the processor time of a process in clock ticks (hundredths of a second)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def read_soft_limit(pid: int, name: str) -> str:
    """Return the soft limit of a process from /proc."""
    line = next(line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if line.startswith(name))
    return line[len(name) :].split()[0]


def make_busy_check(engine: PdfEngine) -> Callable[[], bool]:
    """Return a predicate: whether the engine's only worker has used processor time since this call."""
    (pid,) = engine.pool.list_pids()
    before = read_cpu_ticks(pid)
    return lambda: read_cpu_ticks(pid) > before + 10


def test_no_worker_runs_before_the_first_job() -> None:
    with closing(PdfEngine()) as engine:
        assert engine.pool.list_pids() == []


@pytest.mark.usefixtures("quick_jobs")
def test_one_reader_uses_one_worker(write_file: Put) -> None:
    path = write_file(simple_pdf(3))
    with closing(PdfEngine(workers=2)) as engine:
        for page in (1, 2, 3):
            engine.render(path, page, 800)
        assert len(engine.pool.list_pids()) == 1


@pytest.mark.usefixtures("quick_jobs")
def test_a_worker_is_replaced_after_its_maximum_number_of_jobs(write_file: Put) -> None:
    path = write_file(simple_pdf(1))
    all_pids = set()
    with closing(PdfEngine(workers=1, recycle_after=3)) as engine:
        for _ in range(9):
            engine.render(path, 1, 800)
            all_pids.update(engine.pool.list_pids())
    assert len(all_pids) == 3
    assert not any(map(is_running, all_pids))


def test_close_ends_the_workers(write_file: Put) -> None:
    engine = PdfEngine()
    engine.inspect(write_file(simple_pdf(1)))
    pids = engine.pool.list_pids()
    engine.close()
    assert len(pids) == 1
    assert not is_running(pids[0])


def test_workers_end_when_the_server_is_killed(write_file: Put) -> None:
    path = write_file(simple_pdf(1))
    code = (
        "import sys, time; from pathlib import Path; from docshare.server.pdf.engine import PdfEngine; "
        "engine = PdfEngine(); "
        f"engine.inspect(Path({str(path)!r})); print(engine.pool.list_pids()[0], flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        worker = int(server.stdout.readline())
        assert is_running(worker)
        server.kill()
    wait_until(lambda: not is_running(worker))


def test_a_closed_engine_is_unavailable(write_file: Put) -> None:
    engine = PdfEngine()
    engine.close()
    with pytest.raises(Problem) as caught:
        engine.inspect(write_file(simple_pdf(1)))
    assert caught.value.status == 503


@pytest.mark.usefixtures("quick_jobs")
def test_closing_rejects_waiting_callers(write_file: Put) -> None:
    path = write_file(paced_pages("fs"))
    engine = PdfEngine(workers=1)
    engine.inspect(path)
    working = make_busy_check(engine)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(engine.render, path, 2, 800) for _ in range(2)]
        wait_until(working)
        engine.close()
        assert [type(job.exception()) for job in jobs] == [Problem, Problem]


@pytest.mark.usefixtures("equal_workers")
def test_rendering_of_a_slow_page_times_out(write_file: Put) -> None:
    path = write_file(paced_pages("sf"))
    with closing(PdfEngine(timeout_s=1.0)) as engine:
        with pytest.raises(UnrenderableError) as caught:
            engine.render(path, 1, 800)
        assert caught.value.cost_s < 2.0
        assert not caught.value.is_permanent
        assert engine.render(path, 2, 800)


def test_a_crash_is_permanent_and_the_next_page_is_rendered(write_file: Put) -> None:
    path = write_file(memory_bomb())
    with closing(PdfEngine(workers=1, memory_bytes=256 << 20, timeout_s=60.0)) as engine:
        with pytest.raises(UnrenderableError) as caught:
            engine.render(path, 1, 800)
        assert caught.value.is_permanent
        assert engine.render(write_file(simple_pdf(1), "good.pdf"), 1, 800)


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGXCPU])
def test_a_worker_that_died_while_idle_is_replaced(write_file: Put, blow: signal.Signals) -> None:
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        engine.inspect(path)
        (first,) = engine.pool.list_pids()
        os.kill(first, blow)
        wait_until(lambda: not is_running(first))
        assert engine.render(path, 1, 800)
        assert engine.pool.list_pids() != [first]


@pytest.mark.usefixtures("quick_jobs")
def test_a_job_of_a_killed_worker_is_retried(write_file: Put) -> None:
    path = write_file(paced_pages("m"))
    with closing(PdfEngine(workers=1, timeout_s=60.0)) as engine, ThreadPoolExecutor(1) as pool:
        page = pool.submit(engine.render, path, 1, 800)
        wait_until(engine.pool.list_pids)
        (first,) = engine.pool.list_pids()
        wait_until(make_busy_check(engine))
        os.kill(first, signal.SIGKILL)
        assert page.result().startswith(b"\xff\xd8")
        assert engine.pool.list_pids() != [first]


@pytest.mark.usefixtures("quick_jobs")
def test_many_threads_share_two_workers(write_file: Put) -> None:
    path = write_file(many_pages_pdf(40, lines=20))
    # All of them may wait, however long a page takes on a busy machine.
    with closing(PdfEngine(workers=2, max_waiting=16)) as engine, ThreadPoolExecutor(16) as pool:
        alone = [engine.render(path, page, 800) for page in (1, 20, 40)]
        together = list(pool.map(lambda page: engine.render(path, page, 800), range(1, 41)))
        assert [together[page - 1] for page in (1, 20, 40)] == alone
        assert len(engine.pool.list_pids()) <= 2


def test_a_stalled_engine_rejects_readers_over_its_queue_limit(write_file: Put) -> None:
    path = write_file(paced_pages("s" * 8))
    # Closed first, the engine ends the jobs that the pool waits for.
    with ThreadPoolExecutor(8) as pool, closing(PdfEngine(workers=1, timeout_s=60.0, max_waiting=2)) as engine:
        jobs = [pool.submit(engine.render, path, page, 800) for page in range(1, 9)]
        wait_until(lambda: sum(job.done() for job in jobs) >= 5)
        problems = [job.exception() for job in jobs if job.done()]
        assert [type(problem) for problem in problems] == [Problem] * 5
        assert all(problem.headers["Retry-After"] == "2" for problem in problems)  # type: ignore[union-attr]


@pytest.mark.parametrize("program", ["/nonexistent/python", "/bin/false"])
def test_an_engine_that_does_not_start_is_unavailable(
    write_file: Put, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with closing(PdfEngine()) as engine:
        for _ in range(2):
            with pytest.raises(Problem) as caught:
                engine.inspect(write_file(simple_pdf(1)))
            assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "10"})


def test_a_failed_start_is_not_retried_for_every_request(
    write_file: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, log = tmp_path / "python", tmp_path / "starts"
    program.write_text(f"#!/bin/sh\necho started >> {log}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with closing(PdfEngine()) as engine:
        for _ in range(5):
            with pytest.raises(Problem):
                engine.inspect(write_file(simple_pdf(1)))
    assert log.read_text() == "started\n"


def test_a_worker_is_confined(write_file: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCSHARE_SMTP_URL", "smtp://user:secret@mail")
    with closing(PdfEngine(workers=1, memory_bytes=700 << 20)) as engine:
        engine.inspect(write_file(simple_pdf(1)))
        (pid,) = engine.pool.list_pids()
        assert read_soft_limit(pid, "Max address space") == str(700 << 20)
        assert read_soft_limit(pid, "Max file size") == "0"
        assert read_soft_limit(pid, "Max core file size") == "0"
        assert int(read_soft_limit(pid, "Max open files")) < 64
        assert int(read_soft_limit(pid, "Max cpu time")) < 30
        assert b"DOCSHARE" not in Path(f"/proc/{pid}/environ").read_bytes()
        assert os.getpgid(pid) != os.getpgid(0)
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        assert int(status["CapEff"], 16) & ~0b110 == 0  # an upper bound: other users have open files too
        assert status["NoNewPrivs"] == "1"


def test_a_worker_has_no_terminal(write_file: Put) -> None:
    code = (
        "import os, sys; from pathlib import Path; from docshare.server.pdf.engine import PdfEngine; "
        "engine = PdfEngine(workers=1); engine.inspect(Path(sys.argv[1])); "
        "terminals = [Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[4] "
        "for pid in (os.getpid(), *engine.pool.list_pids())]; print(terminals[0] != '0', terminals[1:]); engine.close()"
    )
    command = [sys.executable, "-c", code, str(write_file(simple_pdf(1)))]
    with Terminal(command, os.environ) as terminal:
        assert terminal.wait_for_exit().text == "True ['0']\n"


def test_workers_of_slow_documents_run_only_while_the_processors_are_idle(write_file: Put) -> None:
    path, tenant = str(write_file(simple_pdf(1))), Tenant("account 1", "a")
    with closing(PdfEngine(workers=1)) as engine:
        policies = []
        for spent_s, stalled in ((0.01, False), (1.0, False), (4.0, True), (0.01, False)):
            with engine.pool.hold(path, tenant, JobLane.PAGES, patience_s=10.0) as slot:
                pid = engine.pool.prepare_worker(slot).pid
                policies.append((os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)))
                engine.pool.charge(slot, spent_s, stalled=stalled)
    assert policies[:2] == [(os.SCHED_OTHER, 0)] * 2
    assert policies[2] == (os.SCHED_OTHER, 15), "pages that take a moment are not slow"
    assert policies[3] == (os.SCHED_IDLE, 15)


def test_a_killed_worker_of_slow_documents_dies_at_the_priority_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may raise a priority")
    worker, policies = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0), []
    process = worker._process

    def kill() -> None:
        policies.append((os.sched_getscheduler(worker.pid), os.getpriority(os.PRIO_PROCESS, worker.pid)))
        type(process).kill(process)

    worker.demote(idle=True)
    monkeypatch.setattr(process, "kill", kill)
    worker.kill()
    assert policies == [(os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0))]


def test_a_worker_that_does_not_start_leaves_other_processes_their_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the worker has reported its process ID, only the one in the namespace of its template is known: here, that
    is the ID of another process."""
    changed: list[int] = []

    def fail(worker: WorkerProcess, deadline: float) -> NoReturn:
        raise BrokenWorkerError("the worker has exited")

    monkeypatch.setattr(WorkerProcess, "_handshake", fail)
    monkeypatch.setattr(os, "setpriority", lambda which, pid, priority: changed.append(pid))
    with closing(WorkerTemplate()) as template, pytest.raises(BrokenWorkerError):
        WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0, start=template.start_worker)
    assert changed == []


def test_a_worker_of_root_has_no_network(write_file: Put) -> None:
    if os.geteuid() != 0:
        pytest.skip("leaving the network is best effort without root")
    with closing(PdfEngine(workers=1)) as engine:
        engine.inspect(write_file(simple_pdf(1)))
        (pid,) = engine.pool.list_pids()
        interfaces = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]


def test_a_worker_of_root_reads_files_of_other_users(write_file: Put, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = write_file(simple_pdf(2))
    path.chmod(0o600)
    os.chown(path, 65534, 65534)
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 65534, 65534)
    with closing(PdfEngine(workers=1)) as engine:
        assert engine.inspect(path).total_pages == 2


@pytest.mark.usefixtures("quick_jobs")
def test_a_deleted_file_is_closed(write_file: Put) -> None:
    deleted, other = write_file(simple_pdf(1), "gone.pdf"), write_file(simple_pdf(1), "other.pdf")
    with closing(PdfEngine(workers=1)) as engine:
        engine.inspect(deleted, Tenant("account 1", "a"))
        (pid,) = engine.pool.list_pids()
        deleted.unlink()
        engine.inspect(other, Tenant("account 1", "b"))
        opened = {os.readlink(handle) for handle in Path(f"/proc/{pid}/fd").iterdir()}
        assert str(other) in opened
        assert not any("gone.pdf" in name for name in opened)


@pytest.mark.usefixtures("quick_jobs")
def test_waiting_for_a_spare_worker_ends_when_one_is_free(write_file: Put) -> None:
    path = write_file(simple_pdf(2))
    with closing(PdfEngine(workers=1)) as engine, ThreadPoolExecutor(1) as pool:
        engine.inspect(path)
        with engine.pool.hold(str(path), Tenant("account 1", "a"), JobLane.PAGES, patience_s=10.0):
            assert engine.render_if_spare(path, 1, 800) is None
            assert not engine.pool.wait_for_spare(0.01)
            is_free = pool.submit(engine.pool.wait_for_spare, 30.0)
        assert is_free.result()
        assert engine.render_if_spare(path, 1, 800)


@pytest.mark.usefixtures("quick_jobs")
def test_with_two_workers_one_stays_free_for_readers(write_file: Put) -> None:
    path = write_file(paced_pages("fsf"))
    with ThreadPoolExecutor(1) as pool, closing(PdfEngine(workers=2, timeout_s=60.0)) as engine:
        engine.inspect(path)
        working = make_busy_check(engine)
        ahead = pool.submit(engine.render_if_spare, path, 2, 800)
        wait_until(working)
        assert engine.render_if_spare(path, 3, 800) is None
        assert engine.render(path, 1, 800)
        assert not ahead.done()
        engine.close()
        with pytest.raises(Problem, match="stopping"):
            ahead.result()


@pytest.mark.parametrize("how", ["absolute", "relative", "empty"])
def test_workers_start_after_the_directory_of_the_server_was_deleted(write_file: Put, tmp_path: Path, how: str) -> None:
    package = Path(docshare.__file__).parent
    folder = tmp_path / "place"
    folder.mkdir()
    paths = {"absolute": str(package.parent), "relative": f"other{os.pathsep}sources", "empty": ""}[how]
    if how != "absolute":
        sources = folder if how == "empty" else folder / "sources"
        sources.mkdir(exist_ok=True)
        (sources / "docshare").symlink_to(package)
    code = (
        "import os, shutil, sys; from pathlib import Path; from docshare.server.pdf.engine import PdfEngine; "
        f"shutil.rmtree({str(folder)!r}); "
        f"print(PdfEngine().inspect(Path({str(write_file(simple_pdf(3)))!r})).total_pages, flush=True); os._exit(0)"
    )
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_workers_resolve_relative_paths_of_the_environment(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from docshare.server.pdf import environment; "
        "print(environment.of_worker()['PYTHONPATH'], environment.of_worker().get('LD_LIBRARY_PATH'))"
    )
    root = str(Path(docshare.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": f"here{os.pathsep}/there", "LD_LIBRARY_PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code, root], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{root}{os.pathsep}{tmp_path}/here{os.pathsep}/there \n"
