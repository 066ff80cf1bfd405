"""Upload hostile office documents: external pictures, templates and objects, fields, macros, zip bombs.

``python -m tests.torture.office_hostile [DIRECTORY [COUNT]]`` uploads 123 hostile documents, and then the office
documents in DIRECTORY, at most COUNT of them; without DIRECTORY, it makes 598 documents. Prints the responses and how
long the conversions took. Exits with 1 after a wrong response, a packet to this machine, a canary in a stored PDF, a
bomb or a legacy document that reached LibreOffice, or if the 95th percentile of the conversions is above 6 seconds.
"""

import math
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pypdfium2
from urllib3 import encode_multipart_formdata

from docshare.server.office import convert as converting
from docshare.server.office.process import JailedCommand
from docshare.server.pdf.engine import PdfEngine
from tests.office.test_bombs import CONTAINERS
from tests.office.test_detect import REJECTED
from tests.office.test_prescan import HOSTILE
from tests.support.clock import FakeClock
from tests.support.documents import office
from tests.support.people.cast import World, close_world, make_runtime, make_world
from tests.torture.office_corpus import (
    EXPECTED_STATUSES,
    LEGACY_NAMES,
    OfficeUpload,
    list_directory,
    list_made_documents,
)

CANARY = "canary-77c1f2"
_SCHEMES = (
    "file://{file}", "{file}", "http://{web}/x", "https://{web}/x", "ftp://{web}/x", "smb://{web}/x", "//{web}/x",
    "\\\\{web}\\x", "file:////{web}/x",
)  # fmt: skip
_BOMB_S = 1.0
_CONVERSION_P95_S = 6.0


@dataclass
class OfficeFigures:
    """``slowest_bomb_s`` and ``conversions_s`` depend on the machine, so only the command checks them.

    ``conversions_s``: the seconds of each upload that started LibreOffice.
    """

    documents: int = 0
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest_bomb_s: float = 0
    conversions_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def list_documents(file: str, web: str) -> list[OfficeUpload]:
    """Return all hostile documents; ``file`` is a path with the canary, ``web`` a monitored address of this machine."""
    found = [OfficeUpload("hostile", name, make) for name, (make, _) in HOSTILE.items()]
    found += [OfficeUpload("bomb", name, make) for name, (make, _) in CONTAINERS.items()]
    found += [
        OfficeUpload("unreadable", name, lambda data=data: data)
        for name, data, _ in REJECTED[1:]
        if data[:5] != b"%PDF-"
    ]
    legacy = office.make_ole_container("1Table", "WordDocument")
    found.append(OfficeUpload("legacy", "old Word", lambda: legacy, LEGACY_NAMES))
    for scheme in _SCHEMES:
        target = scheme.format(file=file, web=web)
        for package in (office.make_docx, office.make_pptx):
            for called in ("image", "hyperlink"):
                name = f"{package.__name__} with a {called} at {scheme}"
                found.append(
                    OfficeUpload("linked", name, lambda p=package, t=target, c=called: office.link_picture(p(), t, c))
                )
    return found


@contextmanager
def _watch_side_effects() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield a socket that must not receive connections, and the list of LibreOffice jobs, during the block."""
    connections: list[str] = []
    soffice_jobs: list[list[str]] = []

    class Counted(JailedCommand):
        def __init__(self, order: converting.JailJob) -> None:
            soffice_jobs.append(order["command"])
            super().__init__(order)

    with socket.create_server(("127.0.0.1", 0)) as server, mock.patch.object(converting, "JailedCommand", Counted):
        server.setblocking(False)
        yield f"127.0.0.1:{server.getsockname()[1]}", connections, soffice_jobs
        try:
            server.accept()[0].close()
            connections.append("a connection was opened")
        except BlockingIOError:
            pass


def check_documents(world: World, folder: Path, every: int = 1, corpus: Sequence[OfficeUpload] = ()) -> OfficeFigures:
    """Upload every ``every``-th hostile document and all of ``corpus``; check the responses and the side effects."""
    figures = OfficeFigures()
    (folder / "canary.png").write_bytes(office.make_picture((61, 67)))
    (folder / "canary").write_bytes(office.make_docx(CANARY))
    with _watch_side_effects() as (web, connections, soffice_jobs):
        for document in [*list_documents(str(folder / "canary"), web)[::every], *corpus]:
            figures.documents += 1
            data = document.make()
            for name in document.file_names:
                _check_upload(world, document, name, data, soffice_jobs, figures)
    figures.problems += connections
    return figures


def _check_upload(
    world: World, document: OfficeUpload, name: str, data: bytes, soffice_jobs: list[list[str]], figures: OfficeFigures
) -> None:
    """Upload ``data`` as ``name``, and add the results to ``figures``."""
    # Without the form of the test client, which leaves the temporary file of a large body open.
    body, content_type = encode_multipart_formdata({"file": (name, data)})
    count, began = len(soffice_jobs), time.monotonic()
    answer = world.pia.post("/api/v1/files", data=body, content_type=content_type)
    duration_s = time.monotonic() - began
    described = f"{document.kind}, {document.name} as {name}"
    figures.answers[document.kind, answer.status_code] += 1
    if answer.status_code not in EXPECTED_STATUSES[document.kind]:
        figures.problems.append(f"{described}: {answer.status_code} {answer.get_json()}")
    is_converted = any("--convert-to" in order for order in soffice_jobs[count:])
    if is_converted:
        figures.conversions_s.append(duration_s)
    if document.kind == "bomb":
        figures.slowest_bomb_s = max(figures.slowest_bomb_s, duration_s)
    if document.kind in ("bomb", "legacy") and is_converted:
        figures.problems.append(f"{described}: LibreOffice was started")
    if answer.status_code == 200:
        _search_canary(world, answer.get_json()["uuid"], described, figures)
    elif document.kind == "modern":
        print(f"{answer.status_code} {described}: {answer.get_json()['detail']}", flush=True)
    world.clock.advance(seconds=1)


def _search_canary(world: World, uuid: str, name: str, figures: OfficeFigures) -> None:
    pdf = world.pia.get(f"/api/v1/files/{uuid}/content", buffered=True).data
    with pypdfium2.PdfDocument(pdf) as document:
        text = "".join(page.get_textpage().get_text_bounded() for page in document)
    if CANARY in text or b"/Width 61" in pdf:
        figures.problems.append(f"{name}: the canary is in the PDF")


def find_slow(figures: OfficeFigures) -> list[str]:
    """Print how long bombs and conversions took; return which took too long."""
    taken = figures.conversions_s
    p95 = statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else math.inf
    print(f"{figures.documents} documents; the slowest bomb took {figures.slowest_bomb_s:.2f} s")
    if taken:
        print(f"{len(taken)} conversions: median {statistics.median(taken):.2f} s, longest {max(taken):.2f} s")
    print(f"95th percentile of the conversions: {p95:.2f} s (target <= {_CONVERSION_P95_S:g})")
    wrong = ["a bomb was not rejected within a second"] if figures.slowest_bomb_s > _BOMB_S else []
    return wrong + ([f"the p95 of conversions is {p95:.2f} s"] if p95 > _CONVERSION_P95_S else [])


def main(directory: str = "", count: str = "") -> int:
    """Upload the documents, print the results, and return the exit code."""
    engine, clock = PdfEngine(workers=1), FakeClock()
    with tempfile.TemporaryDirectory(prefix="docshare-office-", ignore_cleanup_errors=True) as folder:
        world = make_world(make_runtime(Path(folder, "data"), clock, engine, rate_limit=100_000), clock)
        if directory:
            corpus = list_directory(Path(directory))
        else:
            Path(folder, "made").mkdir()
            corpus = list_made_documents(Path(folder, "made"))
        figures = check_documents(world, Path(folder), corpus=corpus[: int(count or len(corpus))])
        close_world(world)
    engine.close()
    figures.problems += find_slow(figures)
    print(*(f"{kind}: {count} x {status}" for (kind, status), count in sorted(figures.answers.items())), sep="\n")
    print(f"{len(figures.problems)} errors", *figures.problems, sep="\n  ")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
