"""A worker that foreign code has taken over answers ``docshare lint``: only findings of an honest one are taken."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf import answers
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply
from docshare.server.pdf.linter import PdfLinter
from tests.support.pdfs import simple_pdf

Put = Callable[..., Path]
Pose = Callable[..., None]

ROW = ["comments", "warning", 2, "1 note or mark."]


def told(*rows: object, **changed: object) -> bytes:
    """Findings about a document of three pages with something changed."""
    return json.dumps({"pages": 3, "findings": list(rows), **changed}).encode("ascii")


def answer(body: bytes, **header: object) -> bytes:
    """``body`` as a worker sends it."""
    return json.dumps({"size": len(body), **header}).encode("ascii") + b"\n" + body


def read(body: bytes) -> list[tuple[str, str, int | None, str]]:
    return [tuple(each) for each in answers.parse_reply(WorkerReply({}, body), answers.lint_findings)]


def test_findings_of_a_worker_are_taken() -> None:
    assert read(told(ROW, [*ROW[:2], None, "x" * 1000])) == [tuple(ROW), (*ROW[:2], None, "x" * 1000)]
    assert len(read(told(*[ROW] * 26))) == 26
    assert read(told(pages=0)) == []


@pytest.mark.parametrize("row", [
    ["no-such-check", *ROW[1:]],
    [["comments"], *ROW[1:]],
    [None, *ROW[1:]],
    [ROW[0], "fatal", *ROW[2:]],
    [ROW[0], ["warning"], *ROW[2:]],
    *([*ROW[:2], page, ROW[3]] for page in (0, -1, 4, 10**30, True, False, 1.0, "1", [1], {})),
    *([*ROW[:3], message] for message in ("x" * 1001, "\ud800", 1, None, ["x"])),
    ROW[:3],
    [*ROW, "more"],
    "row",
    None,
    7,
])  # fmt: skip
def test_a_finding_that_no_worker_reports_is_no_answer(row: object) -> None:
    with pytest.raises(BrokenWorkerError):
        read(told(ROW, row))


@pytest.mark.parametrize("body", [
    *(told(ROW, pages=pages) for pages in (True, -1, 2.0, "3", None, (1 << 20) + 1, 1)),
    told(findings={}),
    told(findings="abcd"),
    told(*[ROW] * 27),
    told([*ROW[:3], "[" * 300_000]),
    json.dumps([ROW]).encode("ascii"),
    b"{}",
    b"[" * 100_000,
    b"null",
    b"",
    b"\xff",
])  # fmt: skip
def test_what_is_not_a_list_of_findings_is_no_answer(body: bytes) -> None:
    with pytest.raises(BrokenWorkerError):
        read(body)


@pytest.mark.parametrize("bad", [
    answer(told([*ROW[:2], True, ROW[3]])),
    answer(told([*ROW[:2], 4, ROW[3]])),
    answer(b"", error="forged"),
    answer(b"", error=["password"]),
    answer(b"x", size=True),
])  # fmt: skip
def test_a_worker_with_another_answer_is_ended(put: Put, pose: Pose, bad: bytes) -> None:
    path = put(simple_pdf(3))
    pose(bad, answer(told(ROW)))
    with PdfLinter() as linter:
        with pytest.raises(Problem, match="too much time or memory"):
            linter.findings(path)
        pose(answer(told([*ROW[:2], 1, ROW[3]])))  # the next worker
        assert [each.page for each in linter.findings(path)] == [1]


def test_a_worker_whose_clean_copy_is_not_a_pdf_is_ended(put: Put, pose: Pose) -> None:
    path, sink = put(simple_pdf(1)), io.BytesIO()
    pose(answer(b"<script>"), answer(b"%PDF-first"))
    with PdfLinter() as linter:
        with pytest.raises(Problem, match="too much time or memory"):
            linter.clean(path, sink, keep_title=True)
        pose(answer(b"%PDF-next"))
        linter.clean(path, sink, keep_title=True)
    assert sink.getvalue() == b"%PDF-next"
