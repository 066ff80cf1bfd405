"""Run a worker process: read jobs from stdin and write replies to stdout (``child`` describes the protocol).

It is a fork of ``template``, or started as ``python -m docshare.server.pdf.worker.main MEMORY_BYTES TIMEOUT_S [edit]``.
"""

import io
import json
import os
import select
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from docshare.server.pdf.worker import confine
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import decrypt_file

if TYPE_CHECKING:
    from docshare.server.pdf.worker.documents import DocumentCache

MAX_JSON_BYTES = 4 << 20
"""Maximum size of a reply in JSON or of texts; the text of a dense newspaper page takes half of it."""

_IDLE_TIMEOUT_S = 15.0
_BLOCK_BYTES = 1 << 16


def main(
    memory_bytes: int, timeout_s: float, place: confine.ProcessPlace, load: Callable[[], None] = lambda: None
) -> None:
    """Serve jobs until the input ends.

    ``place`` is the result of ``confine.enter_process_namespace``; ``load`` loads the libraries if they are not loaded
    yet, before the process is confined.
    """
    source, sink = _move_pipes()
    try:
        load()
        from docshare.server.pdf.worker.documents import DocumentCache

        documents = DocumentCache()
        status = confine.confine(memory_bytes, place)
    except Exception as error:  # noqa: BLE001 - the parent reports any error
        _send(sink, {"error": f"{type(error).__name__}: {error}"})
        return
    _send(sink, {"ready": True, **status.row()})
    for line, file in _receive_jobs(source, documents):
        confine.extend_cpu_limit(timeout_s)
        header, body = _run_job(documents, json.loads(line), file)
        _send(sink, header, body)
    os._exit(0)  # skip the interpreter's shutdown, because the parent waits


def _move_pipes() -> tuple[socket.socket, int]:
    """Move the pipes away from descriptors 0 and 1, because a library could write to those."""
    source, sink = socket.socket(fileno=os.dup(0)), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    source.shutdown(socket.SHUT_WR)
    return source, sink


def load_libraries(*, edits: bool) -> None:
    """Import and use once everything that jobs need, because a confined process cannot load libraries."""
    from docshare.server.pdf.worker import warmup

    warmup.warm_up_drawing()
    if edits:
        from docshare.server.pdf.worker import editing

        editing.warm_up_editing()


def _receive_jobs(source: socket.socket, documents: "DocumentCache") -> Iterator[tuple[bytes, io.FileIO]]:
    """Yield each job as a JSON line and its file. While idle, close all documents and release memory."""
    rest = b""
    files: list[int] = []
    idle_s: float | None = _IDLE_TIMEOUT_S
    while True:
        if not select.select([source], [], [], idle_s)[0]:
            documents.close()
            confine.release_memory()
            idle_s = None
            continue
        idle_s = _IDLE_TIMEOUT_S
        block, received, _, _ = socket.recv_fds(source, _BLOCK_BYTES, 1)
        if not block:
            return
        files += received
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line, io.FileIO(files.pop(0))


def _send(sink: int, header: dict[str, Any], body: bytes = b"") -> None:
    for block in (json.dumps({**header, "size": len(body)}).encode("ascii") + b"\n", body):
        view = memoryview(block)
        while view:
            view = view[os.write(sink, view) :]


def _run_job(documents: "DocumentCache", job: dict[str, Any], file: io.FileIO) -> tuple[dict[str, Any], bytes]:
    """Run the job on its file, which is decrypted if the job has a key."""
    try:
        source = decrypt_file(
            file, bytes.fromhex(job["key"]) if "key" in job else None, job.get("context", "").encode()
        )
    except FileNotFoundError:
        return {"error": "missing"}, b""
    except DamagedBytesError:
        return {"error": "damaged"}, b""
    reply = _run_on_file(documents, job, source)
    # Libraries convert the error of a read to another one, or return an incomplete page.
    return ({"error": "damaged"}, b"") if documents.close_damaged(source) else reply


def _run_on_file(documents: "DocumentCache", job: dict[str, Any], file: Any) -> tuple[dict[str, Any], bytes]:
    from docshare.server.pdf.worker import image_mark, inspect, palette, picture, render, text
    from docshare.server.pdf.worker.documents import PdfRefused

    kind = job["do"]
    try:
        if kind in ("picture", "stamp", "clean"):
            with io.BufferedReader(file) as buffered:
                match kind:
                    case "picture":
                        return {}, picture.reencode_image(buffered, job["type"])
                    case "stamp":
                        return {}, image_mark.stamp_image(buffered, job["mark"], job.get("tile"))
                    case _:
                        from docshare.server.pdf.worker.lint import clean

                        return {}, clean.make_clean_copy(buffered, keep_title=job["keep_title"])
        if kind == "lint":
            from docshare.server.pdf.worker.lint import report

            return {}, report.lint_document(documents, {**job, "file": file})
        document = documents.open(file)
        match kind:
            case "derive":
                from docshare.server.pdf.worker import derive

                return {}, derive.derive_document(document, job)
            case "inspect":
                return {}, inspect.measure_pages(document, job["max_pages"])
            case "render" if "tile" in job:
                return {}, render.render_tile(document, job["page"], job["tile"], job.get("mark"))
            case "render":
                return {}, render.render_jpeg(document, job["page"], job["width"], job.get("mark"))
            case "palette":
                return {}, json.dumps(palette.find_palette(document, job["budget_s"])).encode("ascii")
            case "outline":
                return {}, inspect.list_outline(document, MAX_JSON_BYTES)
            case "texts":
                wanted = job["first"], job["last"], job["budget_s"]
                return {}, text.extract_plain_texts(document, *wanted, MAX_JSON_BYTES)
            case _:
                return {}, _truncate_text(text.extract_page_text(document, job["page"]))
    except PdfRefused as refused:
        return {"error": refused.reason}, b""
    # Any other exception, such as MemoryError, ends the process, and the parent starts a new one.


def _truncate_text(page: dict[str, Any]) -> bytes:
    """Return the text of a page as JSON. Drop boxes and links at the end of the page to fit ``MAX_JSON_BYTES``."""
    body = json.dumps(page).encode("ascii")
    while len(body) > MAX_JSON_BYTES:
        for rows in (page["boxes"], page["links"]):
            del rows[len(rows) * MAX_JSON_BYTES // (len(body) + 1) :]
        body = json.dumps(page).encode("ascii")
    return body


if __name__ == "__main__":
    confine.leave_terminal()
    main(
        int(sys.argv[1]),
        float(sys.argv[2]),
        confine.enter_process_namespace(),
        partial(load_libraries, edits="edit" in sys.argv[3:]),
    )
