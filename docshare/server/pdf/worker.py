"""The worker process: reads jobs from its input, answers on its output (protocol: see ``child``).

Started as ``python -m docshare.server.pdf.worker MEMORY_BYTES TIMEOUT_S`` by ``child`` and only there.
"""

import json
import os
import select
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docshare.server.pdf import confine

if TYPE_CHECKING:
    from docshare.server.pdf.documents import Documents

_IDLE_S = 15.0
_BLOCK = 1 << 16


def main(memory_bytes: int, timeout_s: float) -> None:
    """Serve jobs until the input ends."""
    source, sink = _private_pipes()
    try:
        confine.confine(memory_bytes)
        # Imported here, inside the limits, so that a missing library is told to the parent and not lost.
        from docshare.server.pdf.documents import Documents
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
        _send(sink, {"error": f"{type(error).__name__}: {error}"})
        return
    documents = Documents()
    _send(sink, {"ready": True})
    for line in _lines(source, documents):
        confine.allow_seconds(timeout_s)
        header, body = _answer(documents, json.loads(line))
        _send(sink, header, body)
    os._exit(0)  # nothing here needs an orderly end, and the parent waits


def _private_pipes() -> tuple[int, int]:
    """Move the protocol away from descriptors 0 and 1, so that no library can write into it."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    return source, sink


def _lines(source: int, documents: "Documents") -> Iterator[bytes]:
    """The job lines of the pipe. While none comes, documents are closed and memory is given back."""
    rest = b""
    idle_s: float | None = _IDLE_S
    while True:
        if not select.select([source], [], [], idle_s)[0]:
            documents.close()
            confine.release_memory()
            idle_s = None
            continue
        idle_s = _IDLE_S
        block = os.read(source, _BLOCK)
        if not block:
            return
        *lines, rest = (rest + block).split(b"\n")
        yield from lines


def _send(sink: int, header: dict[str, Any], body: bytes = b"") -> None:
    for block in (json.dumps({**header, "size": len(body)}).encode("ascii") + b"\n", body):
        view = memoryview(block)
        while view:
            view = view[os.write(sink, view) :]


def _answer(documents: "Documents", job: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from docshare.server.pdf import imagemark, inspect, palette, render, text
    from docshare.server.pdf.documents import Refused

    try:
        if job["do"] == "derive":
            from docshare.server.pdf import derive  # its library takes long to load, and most workers do without

            return {}, derive.document(job["path"], job)
        if job["do"] == "picture":
            from docshare.server.pdf import picture

            return {}, picture.redrawn(job["path"], job["type"])
        if job["do"] == "stamp":
            return {}, imagemark.stamped(job["path"], job["mark"])
        if job["do"] == "lint":
            from docshare.server.pdf.lint import report

            return {}, report.report(documents, job)
        if job["do"] == "clean":
            from docshare.server.pdf.lint import clean

            return {}, clean.copy(job["path"], keep_title=job["keep_title"])
        document = documents.open(job["path"])
        match job["do"]:
            case "inspect":
                return {}, inspect.page_sizes(document, job["max_pages"])
            case "render":
                return {}, render.jpeg(document, job["page"], job["width"], job.get("mark"))
            case "palette":
                return {}, json.dumps(palette.colours(document, job["budget_s"])).encode("ascii")
            case _:
                return {}, json.dumps(text.page_text(document, job["page"])).encode("ascii")
    except Refused as refused:
        return {"error": refused.reason}, b""
    # Anything else, MemoryError first, ends the process: the parent then starts from a clean one.


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
