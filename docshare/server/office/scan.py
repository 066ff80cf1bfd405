"""Run the prescan in a separate, confined process, so that hostile XML affects only that process.

``scan_document`` is the server's side. Run as a program, this module is the process: its argument is the kind, its
stdin the document. It prints one JSON object: the linked ``pictures`` and the ``parts`` without them, or the
``detail`` and ``hint`` of the Problem.
"""

import codecs
import contextlib
import io
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

from docshare.contract.problems import Problem
from docshare.server.office.environment import python_command
from docshare.server.office.memory import copy_to_memory
from docshare.server.office.package import document_problem
from docshare.server.office.prescan import MAX_PICTURES, LinkedPictures, prescan
from docshare.server.pdf.worker.confine import LAYERS, confine, enter_process_namespace, extend_cpu_limit
from docshare.server.store.stored_bytes import StoredBytes

TIMEOUT_S = 20.0
_MEMORY_BYTES = 1 << 30
_MAX_RESPONSE_BYTES = 4 << 20
_MAX_REASON_BYTES = 1_000
_MAX_NAME_BYTES = 1_000  # of a part of the document
# Codecs to load before the confinement: for names in zip files, and for XML that is neither UTF-8 nor UTF-16.
_CODECS = (
    "cp437",
    "utf-8",
    "utf-16",
    *(f"cp125{number}" for number in range(9)),
    "iso8859-1",
    "iso8859-2",
    "iso8859-15",
)
_log = logging.getLogger(__name__)


def scan_document(path: StoredBytes | Path, kind: str, *, required: bool = False) -> LinkedPictures:
    """Check the document at ``path``, of the ``kind`` ``docx`` or ``pptx``; return its linked pictures, which must be
    removed before the conversion.

    ``required``: every layer of ``confine`` must be active. Raises Problem ``unprocessable`` (for the reasons of
    ``prescan``, or if the process crashes or takes longer than 20 seconds) or ``unavailable`` (the process cannot be
    started or confined).
    """
    command, environment = python_command("docshare.server.office.scan", kind, *(["required"] if required else []))
    try:
        with path.open("rb") as file, copy_to_memory(file) if isinstance(path, StoredBytes) else file as plain:
            answer = json.loads(_run_scanner(command, environment, plain).splitlines()[-1])
        if "missing" in answer:
            names = ", ".join(name for name in LAYERS if name in answer["missing"])
            raise OSError(f"the scan process lacks confinement: {names or 'unknown layers'}")
        if "detail" not in answer:
            parts = {
                _require_text(name, _MAX_NAME_BYTES): _require_text(text) for name, text in answer["parts"].items()
            }
            return LinkedPictures(_addresses(answer["pictures"]), parts)
        reasons = [_require_text(answer[key], _MAX_REASON_BYTES) for key in ("detail", "hint")]
    except OSError as error:
        _log.error("Could not check an office document: %s", error)
        raise Problem(
            "unavailable", "The server cannot check the document now.", headers={"Retry-After": "10"}
        ) from error
    except (subprocess.SubprocessError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        _log.warning("Stopped the check of an office document: %s", type(error).__name__)
        raise document_problem("The document cannot be checked: it is too large or damaged.") from error
    raise document_problem(*reasons)


def _run_scanner(command: list[str], environment: dict[str, str], document: IO[bytes]) -> bytes:
    """Run the scan process on ``document`` and return its output.

    Raises SubprocessError if it fails or times out, and ValueError if its output is too long, which happens only if a
    document has compromised it.
    """
    deadline = time.monotonic() + TIMEOUT_S
    with subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        stdin=document,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        output = bytearray()
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0 or not poll.poll(left * 1000):
                    raise subprocess.TimeoutExpired(command, TIMEOUT_S)
                block = os.read(process.stdout.fileno(), 1 << 16)
                if not block:
                    break
                output += block
                if len(output) > _MAX_RESPONSE_BYTES:
                    raise ValueError("output is too long")
            if process.wait(max(0.1, deadline - time.monotonic())):
                raise subprocess.CalledProcessError(process.returncode, command)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    return bytes(output)


def _addresses(pictures: list[object]) -> list[str]:
    """Return ``pictures`` as strings. Raises TypeError or ValueError if ``prescan`` could not have returned them."""
    if len(pictures) > MAX_PICTURES:
        raise ValueError("too many pictures")
    return [_require_text(address) for address in pictures]


def _require_text(value: object, longest: int = _MAX_RESPONSE_BYTES) -> str:
    """Return ``value`` if it is a string that can be encoded as UTF-8. Raises TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError("not a string")
    if len(value.encode("utf-8")) > longest:
        raise ValueError("string is too long")
    return value


def main() -> None:
    """Drop all privileges, scan the document on stdin, and print the result."""
    kind, *options = sys.argv[1:]
    place = enter_process_namespace()
    for name in _CODECS:
        codecs.lookup(name)
    status = confine(_MEMORY_BYTES, place)
    extend_cpu_limit(TIMEOUT_S / 2)
    missing = [name for name, reason in status.missing.items() if reason is not None]
    answer: dict[str, object]
    if options and missing:
        answer = {"missing": missing}
    else:
        try:
            with io.BufferedReader(io.FileIO(0)) as file:
                answer = asdict(prescan(file, kind))
        except Problem as problem:
            answer = {"detail": problem.detail, "hint": problem.hint}
    left = memoryview(json.dumps(answer).encode("ascii"))
    while left:
        left = left[os.write(1, left) :]
    os._exit(0)


if __name__ == "__main__":
    main()
