"""Output of workers that an attacker controls does not reach anyone."""

import json
import logging
import re
import select
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from docshare.server import pdf
from docshare.server.pdf import answers
from docshare.server.pdf import child as child_module
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess, WorkerReply
from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from docshare.server.pdf.template import WorkerTemplate
from docshare.server.pdf.worker import main
from tests.support.documents.pdfs import simple_pdf

Put = Callable[..., Path]
Pose = Callable[..., None]


def build_worker_reply(body: bytes, **header: object) -> bytes:
    """Return ``body`` in the protocol of a worker."""
    return json.dumps({**header, "size": len(body)}).encode("ascii") + b"\n" + body


@pytest.fixture
def forged_image(write_file: Put) -> bytes:
    """Return a page image that a compromised worker could send to another reader."""
    with closing(PdfEngine(workers=1)) as engine:
        return engine.render(write_file(simple_pdf(1), "forged.pdf"), 1, 80)


def wait_for_output(worker: WorkerProcess) -> None:
    """Wait until a worker without a job has written something."""
    assert worker._process.stdout is not None
    poll = select.poll()
    poll.register(worker._process.stdout, select.POLLIN)
    assert poll.poll(30_000)


def test_a_second_reply_after_the_first_is_discarded(
    write_file: Put, start_impostors: Pose, forged_image: bytes
) -> None:
    path = write_file(simple_pdf(1))
    start_impostors(build_worker_reply(forged_image) + build_worker_reply(forged_image))
    with closing(PdfEngine(workers=1)) as engine:
        with pytest.raises(UnrenderableError):
            engine.render(path, 1, 80)
        assert engine.pool.list_pids() == []


def test_unexpected_data_is_not_parsed_as_the_next_reply(
    write_file: Put, start_impostors: Pose, forged_image: bytes
) -> None:
    job = {"do": "render", "path": str(write_file(simple_pdf(1))), "page": 1, "width": 80}
    start_impostors(build_worker_reply(forged_image), later=build_worker_reply(b"of the first owner"))
    child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0)
    try:
        assert child.ask(job).body == forged_image
        wait_for_output(child)
        with pytest.raises(BrokenWorkerError, match="unexpected data"):
            child.ask(job)
    finally:
        child.kill()


@pytest.mark.usefixtures("quick_jobs")
def test_the_next_caller_gets_a_new_worker(write_file: Put, start_impostors: Pose, forged_image: bytes) -> None:
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        start_impostors(build_worker_reply(forged_image), later=build_worker_reply(b"\xff\xd8\xff of the first owner"))
        assert engine.render(path, 1, 80) == forged_image
        (first,) = engine.pool.list_pids()
        start_impostors(build_worker_reply(forged_image))
        wait_for_output(next(slot.worker for slot in engine.pool._slots if slot.worker is not None))
        assert engine.render(path, 1, 80) == forged_image
        assert engine.pool.list_pids() != [first]


@pytest.mark.usefixtures("quick_jobs")
@pytest.mark.parametrize(("burn", "is_reused"), [(0.8, False), (0.1, True)])
def test_a_worker_that_computes_without_a_job_gets_no_further_job(
    write_file: Put, start_impostors: Pose, forged_image: bytes, burn: float, is_reused: bool
) -> None:
    """That time is not charged to anyone; a little of it is allowed for cleanup."""
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        start_impostors(build_worker_reply(forged_image), burn=burn)
        engine.render(path, 1, 80)
        (first,) = engine.pool.list_pids()
        clock = ~first << 3 | 2
        used, until = time.clock_gettime(clock), time.monotonic() + 60
        while time.clock_gettime(clock) < used + burn * 0.9 and time.monotonic() < until:
            time.sleep(0.05)
        start_impostors(build_worker_reply(forged_image))
        assert engine.render(path, 1, 80) == forged_image
        assert (engine.pool.list_pids() == [first]) is is_reused


def test_an_unknown_reason_does_not_reach_the_log(
    write_file: Put, start_impostors: Pose, caplog: pytest.LogCaptureFixture
) -> None:
    start_impostors(build_worker_reply(b"", error="page\n2026-11-22 ERROR \x1b[31mforged"))
    with (
        closing(PdfEngine(workers=1)) as engine,
        caplog.at_level(logging.DEBUG),
        pytest.raises(UnrenderableError) as caught,
    ):
        engine.render(write_file(simple_pdf(1)), 1, 80)
    assert "crashes" in str(caught.value)
    assert caplog.messages
    assert "forged" not in caplog.text


@pytest.mark.parametrize("reason", [True, 1, ["page"], {"page": 1}, "PAGE", "", "page "])
def test_an_error_with_an_unknown_reason_is_rejected(reason: object) -> None:
    with pytest.raises(BrokenWorkerError, match="known reason"):
        answers.parse_reply(WorkerReply({"error": reason}, b""), answers.parse_jpeg)


def test_every_reason_of_the_workers_is_known() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(pdf.__file__).parent.rglob("*.py")]
    found = {reason for source in sources for reason in re.findall(r'Refused\("(\w+)"\)', source)}
    # These reasons come from ``repair``, and ``damaged`` from the decryption of the document.
    assert found | {"password", "protection", "broken", "damaged"} == answers.REASONS


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("text", 4 << 20),
        ("texts", 4 << 20),
        ("outline", 4 << 20),
        ("lint", 4 << 20),
        ("palette", 4096),
        ("inspect", 1 << 20),
    ],
)
def test_a_reply_over_the_size_limit_is_not_received(
    write_file: Put, start_impostors: Pose, kind: str, most: int
) -> None:
    job = {"do": kind, "path": str(write_file(simple_pdf(1)))}
    start_impostors(build_worker_reply(b" " * most), b'{"size": %d}\n' % (most + 1))
    child = WorkerProcess(memory_bytes=1 << 30, timeout_s=20.0, edits=True)
    try:
        assert len(child.ask(job).body) == most
        with pytest.raises(BrokenWorkerError, match="too long"):
            child.ask(job)
    finally:
        child.kill()


BOX = [0, 0, 0.5, 0.5, "text", 0]


def make_text_reply(**changed: object) -> WorkerReply:
    """Return the reply for a page of text with some values changed."""
    page = {"width": 612, "height": 792, "boxes": [BOX], "links": [[0, 0, 1, 1, {"page": 2}]], **changed}
    return WorkerReply({}, json.dumps(page).encode("ascii"))


def test_a_valid_page_of_text_is_accepted() -> None:
    page = answers.parse_reply(
        make_text_reply(links=[[0, 0, 1, 1, {"url": "HTTPS://example.com/?a=[1]"}]]), answers.parse_page_text
    )
    assert (page.boxes[0].text, page.links[0].target) == ("text", {"url": "HTTPS://example.com/?a=[1]"})
    page = answers.parse_reply(make_text_reply(boxes=[BOX] * 100_000), answers.parse_page_text)
    assert len(page.boxes) == 100_000


def test_a_worker_truncates_a_page_with_too_much_text() -> None:
    rows = [[0.12345, 0.12345, 0.12345, 0.12345, "\u2022", 270]] * 100_000
    links = [[0, 0, 1, 1, {"page": 2}]] * 100
    body = main._truncate_text({"width": 612, "height": 792, "boxes": rows, "links": links})
    assert 3 << 20 < len(body) <= main.MAX_JSON_BYTES
    page = answers.parse_reply(WorkerReply({}, body), answers.parse_page_text)
    assert len(page.boxes) > 50_000


@pytest.mark.parametrize(
    "target",
    [
        {"url": "javascript:alert(1)"},
        {"url": "https://a.example/\n"},
        {"url": "data:text/html,x"},
        {"url": "https://a.example/" + "x" * 2048},
        {"url": "https://a.example/\ud800"},
        {"url": ["https://a.example/"]},
        {"page": 0},
        {"page": -5},
        {"page": 50_001},
        {"page": True},
        {"page": 1.5},
        {"page": "1"},
        {},
    ],
)
def test_an_invalid_link_is_rejected(target: object) -> None:
    with pytest.raises(BrokenWorkerError):
        answers.parse_reply(make_text_reply(links=[[0, 0, 1, 1, target]]), answers.parse_page_text)


@pytest.mark.parametrize(
    "changed",
    [
        {"boxes": [BOX] * 100_001},
        {"boxes": [[*BOX[:4], "[" * 299_990, 0]] * 2},
        {"links": [[0, 0, 1, 1, {"page": 1}]] * 2001},
        {"boxes": [[*BOX[:5], 45]]},
        {"boxes": [[*BOX[:5], True]]},
        {"boxes": [[*BOX[:4], ["text"], 0]]},
        {"boxes": [[*BOX[:4], "\udfff", 0]]},
        {"width": 0},
        {"height": -1},
    ],
)
def test_invalid_page_text_is_rejected(changed: dict[str, object]) -> None:
    with pytest.raises(BrokenWorkerError):
        answers.parse_reply(make_text_reply(**changed), answers.parse_page_text)


def test_valid_plain_texts_are_accepted() -> None:
    reply = WorkerReply({}, "caf\u00e9 \u200fa\f\0\f".encode())
    assert answers.parse_reply(reply, partial(answers.parse_texts, most=3)) == ["caf\u00e9 \u200fa", "\0", ""]


@pytest.mark.parametrize("body", [b"a\fb\fc\fd", b"a\vb", b"a\0b", b"a\nb", b"\xff", b"\xed\xa0\x80"])
def test_invalid_plain_texts_are_rejected(body: bytes) -> None:
    with pytest.raises(BrokenWorkerError):
        answers.parse_reply(WorkerReply({}, body), partial(answers.parse_texts, most=3))


def test_a_valid_outline_is_accepted() -> None:
    rows = [[0, None, "Part"], [1, 50_000, "Chapter \u05d0"], [0, 1, "x" * 200]]
    found = answers.parse_reply(WorkerReply({}, json.dumps(rows).encode()), answers.parse_outline)
    assert [list(entry) for entry in found] == rows


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, "below nothing"]], [[0, 1, "x"], [2, 1, "x"]], [[-1, 1, "x"]], [[True, 1, "x"]], [["0", 1, "x"]],
        [[0, 0, "x"]], [[0, 50_001, "x"]], [[0, 1.5, "x"]], [[0, True, "x"]], [[0, "1", "x"]],
        [[0, 1, ""]], [[0, 1, "x" * 201]], [[0, 1, "a\nb"]], [[0, 1, "\ud800"]], [[0, 1, None]],
        [[0, 1]], [[0, 1, "x", "y"]], {"0": 1}, 5, [[level, 1, "x"] for level in range(13)],
        [[0, 1, "x"]] * 10_001,
    ],
)  # fmt: skip
def test_an_invalid_outline_is_rejected(rows: object) -> None:
    with pytest.raises(BrokenWorkerError):
        answers.parse_reply(WorkerReply({}, json.dumps(rows).encode()), answers.parse_outline)


def test_page_sizes_are_clamped() -> None:
    sides = array("d", [0.0001, 1e300, 612.0, 792.0]).tobytes()
    found = answers.parse_reply(WorkerReply({}, sides), answers.parse_inspection)
    assert found.sizes == [(0.1, 1e6), (612.0, 792.0)]


@pytest.mark.parametrize(
    "forge",
    [
        lambda image: b"\xff\xd8\xff<script>alert(1)</script>",
        lambda image: b"\xff\xd8\xff<script>alert(1)</script>\xff\xd9",
        lambda image: image[:-2],
        lambda image: image[:2] + b"\xff\xfe\x00\x0a<script>" + image[2:],
        lambda image: image[:2] + image[image.index(b"\xff\xda") :],
        lambda image: image[:200],
        lambda image: image[:4] + b"\xff\xff" + image[6:],
        lambda image: image[:4] + b"\x00\x00" + image[6:],
        lambda image: image[:2] + b"\xff\xe0\x00\x02" * 100_000 + image[2:],
        lambda image: b"\xff\xd8\xff\xc0\x00\x02\xff\xd9",
        lambda image: b"",
        lambda image: b"\xff\xd8\xff\xd9",
    ],
)
def test_an_image_with_only_a_valid_start_is_rejected(forged_image: bytes, forge: Callable[[bytes], bytes]) -> None:
    assert answers.parse_reply(WorkerReply({}, forged_image), answers.parse_jpeg) == forged_image
    with pytest.raises(BrokenWorkerError):
        answers.parse_reply(WorkerReply({}, forge(forged_image)), answers.parse_jpeg)


def test_an_image_of_another_size_is_rejected(write_file: Put, start_impostors: Pose, forged_image: bytes) -> None:
    start_impostors(build_worker_reply(forged_image))
    path = write_file(simple_pdf(1))
    with closing(PdfEngine(workers=1)) as engine:
        assert engine.render(path, 1, 80) == forged_image
        for width in (79, 81, 800):
            with pytest.raises(UnrenderableError):
                engine.render(path, 1, width)


@pytest.mark.parametrize(
    ("wide", "tall", "is_accepted"),
    [(80, 100, True), (79, 16_384, True), (80, 0, False), (0, 100, False), (65_535, 65_535, False)],
)
def test_an_image_may_be_narrower_only_if_it_has_the_maximum_height(
    forged_image: bytes, wide: int, tall: int, is_accepted: bool
) -> None:
    at = forged_image.index(b"\xff\xc0") + 5
    image = forged_image[:at] + tall.to_bytes(2, "big") + wide.to_bytes(2, "big") + forged_image[at + 4 :]
    try:
        assert answers.parse_reply(WorkerReply({}, image), partial(answers.parse_jpeg, width=80)) == image
        assert is_accepted
    except BrokenWorkerError:
        assert not is_accepted


def test_a_worker_that_hangs_at_its_start_is_restarted(
    write_file: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, start = tmp_path / "python", WorkerTemplate._try_start
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    starts = [(sys.executable, 60.0), (str(hanging), 1.0)]

    def start_next(template: WorkerTemplate) -> None:
        executable, timeout_s = starts.pop()
        monkeypatch.setattr(sys, "executable", executable)
        monkeypatch.setattr(child_module, "START_TIMEOUT_S", timeout_s)
        start(template)

    monkeypatch.setattr(WorkerTemplate, "_try_start", start_next)
    with closing(PdfEngine(workers=1)) as engine:
        engine.text(write_file(simple_pdf(1)), 1)
        assert len(engine.pool.list_pids()) == 1
    assert starts == []
