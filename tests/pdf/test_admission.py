"""Documents that stall an inspection do not occupy all threads of the server, or a worker twice."""

import hashlib
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine
from tests.support.documents.pdfs import PdfWriter, simple_pdf

Put = Callable[..., Path]
THREADS = 8  # the number of a server's threads


@pytest.fixture(scope="module")
def stalling_document() -> bytes:
    """Return 45,000 pages without a size: the engine searches 900 ancestors for each, which takes many seconds."""
    writer = PdfWriter()
    root, count = writer.reserve(), 45_000
    nodes = [writer.reserve() for _ in range(900)]
    pages = [writer.add(f"<< /Type /Page /Parent {nodes[-1]} 0 R >>") for _ in range(count)]
    for at, node in enumerate(nodes[:-1]):
        parent = f"/Parent {nodes[at - 1]} 0 R" if at else ""
        writer.put(node, f"<< /Type /Pages {parent} /Count {count} /Kids [{nodes[at + 1]} 0 R] >>")
    kids = " ".join(f"{page} 0 R" for page in pages)
    writer.put(nodes[-1], f"<< /Type /Pages /Parent {nodes[-2]} 0 R /Count {count} /Kids [{kids}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {nodes[0]} 0 R >>")
    return writer.finish(root)


def inspect_status(engine: PdfEngine, path: Path) -> int:
    try:
        engine.inspect(path, Tenant("mal", hashlib.sha256(path.read_bytes()).hexdigest()))
    except Problem as problem:
        return problem.status
    return 200


def test_stalling_documents_leave_half_of_the_threads_to_others(write_file: Put, stalling_document: bytes) -> None:
    paths = [write_file(stalling_document + b"%" * extra, f"{extra}.pdf") for extra in range(THREADS)]
    with closing(PdfEngine(timeout_s=20.0)) as engine, ThreadPoolExecutor(THREADS) as pool:
        engine.inspect(write_file(simple_pdf()))
        jobs = [pool.submit(inspect_status, engine, path) for path in paths]
        first = [job.result() for job in itertools.islice(as_completed(jobs), THREADS - 4)]
        assert first == [503] * (THREADS - 4)
        # The others stall until the time limit of a job, and no other caller waits for them.
        assert [pool.submit(inspect_status, engine, path).result() for path in paths[:3]] == [503] * 3
        assert sum(job.done() for job in jobs) == THREADS - 4
        engine.close()


@pytest.mark.usefixtures("equal_workers")
def test_content_that_stalled_is_rejected_immediately_and_other_content_is_not(
    write_file: Put, stalling_document: bytes
) -> None:
    with closing(PdfEngine(workers=1, timeout_s=4.0)) as engine:
        assert inspect_status(engine, write_file(stalling_document, "first.pdf")) == 422
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine.pool, "hold", None)  # it is rejected without a worker
            assert inspect_status(engine, write_file(stalling_document, "second.pdf")) == 422
        ordinary = simple_pdf()
        assert (
            inspect_status(
                engine, write_file(ordinary + b"%" * (len(stalling_document) - len(ordinary)), "as-long.pdf")
            )
            == 200
        )


def test_a_burst_of_ordinary_documents_is_accepted(write_file: Put) -> None:
    path = write_file(simple_pdf())
    with closing(PdfEngine()) as engine, ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(lambda _: inspect_status(engine, path), range(64))) == [200] * 64
