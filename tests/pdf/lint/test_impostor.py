"""A compromised worker for ``docshare lint``: findings that a genuine worker would not send are rejected."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf import answers
from docshare.server.pdf.child import BrokenWorkerError, WorkerReply
from docshare.server.pdf.linter import PdfLinter
from tests.support.documents.pdfs import simple_pdf

Put = Callable[..., Path]
Pose = Callable[..., None]

ROW = ["comments", "warning", 2, "1 comment."]


def make_findings_reply(*rows: object, **changed: object) -> bytes:
    """Return the reply for a document of three pages with some values changed."""
    return json.dumps({"pages": 3, "findings": list(rows), **changed}).encode("ascii")


def build_reply(body: bytes, **header: object) -> bytes:
    """Return ``body`` in the protocol of a worker."""
    return json.dumps({"size": len(body), **header}).encode("ascii") + b"\n" + body


def parse_findings(body: bytes) -> list[tuple[str, str, int | None, str]]:
    return [tuple(each) for each in answers.parse_reply(WorkerReply({}, body), answers.lint_findings)]


def test_valid_findings_are_accepted() -> None:
    assert parse_findings(make_findings_reply(ROW, [*ROW[:2], None, "x" * 1000])) == [
        tuple(ROW),
        (*ROW[:2], None, "x" * 1000),
    ]
    assert len(parse_findings(make_findings_reply(*[ROW] * 26))) == 26
    assert parse_findings(make_findings_reply(pages=0)) == []


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
def test_an_invalid_finding_is_rejected(row: object) -> None:
    with pytest.raises(BrokenWorkerError):
        parse_findings(make_findings_reply(ROW, row))


@pytest.mark.parametrize("body", [
    *(make_findings_reply(ROW, pages=pages) for pages in (True, -1, 2.0, "3", None, (1 << 20) + 1, 1)),
    make_findings_reply(findings={}),
    make_findings_reply(findings="abcd"),
    make_findings_reply(*[ROW] * 27),
    make_findings_reply([*ROW[:3], "[" * 300_000]),
    json.dumps([ROW]).encode("ascii"),
    b"{}",
    b"[" * 100_000,
    b"null",
    b"",
    b"\xff",
])  # fmt: skip
def test_a_reply_without_a_list_of_findings_is_rejected(body: bytes) -> None:
    with pytest.raises(BrokenWorkerError):
        parse_findings(body)


@pytest.mark.parametrize("bad", [
    build_reply(make_findings_reply([*ROW[:2], True, ROW[3]])),
    build_reply(make_findings_reply([*ROW[:2], 4, ROW[3]])),
    build_reply(b"", error="forged"),
    build_reply(b"", error=["password"]),
    build_reply(b"x", size=True),
])  # fmt: skip
def test_a_worker_with_an_invalid_reply_is_ended(write_file: Put, start_impostors: Pose, bad: bytes) -> None:
    path = write_file(simple_pdf(3))
    start_impostors(bad, build_reply(make_findings_reply(ROW)))
    with PdfLinter() as linter:
        with pytest.raises(Problem, match="too much time or memory"):
            linter.lint(path)
        start_impostors(build_reply(make_findings_reply([*ROW[:2], 1, ROW[3]])))  # the next worker
        assert [each.page for each in linter.lint(path)] == [1]


def test_a_worker_whose_clean_copy_is_not_a_pdf_is_ended(write_file: Put, start_impostors: Pose) -> None:
    path, sink = write_file(simple_pdf(1)), io.BytesIO()
    start_impostors(build_reply(b"<script>"), build_reply(b"%PDF-first"))
    with PdfLinter() as linter:
        with pytest.raises(Problem, match="too much time or memory"):
            linter.clean(path, sink, keep_title=True)
        start_impostors(build_reply(b"%PDF-next"))
        linter.clean(path, sink, keep_title=True)
    assert sink.getvalue() == b"%PDF-next"
