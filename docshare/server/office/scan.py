"""The pre-scan in a process of its own: hostile XML costs that process and nothing else.

``scan`` is the server's side; run as a program, this module is the process: the kind as its argument, the document as
its standard input, one JSON object as its answer: the linked ``pictures`` and the ``parts`` without them, or the
refusal's ``detail`` and ``hint``.
"""

import codecs
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

from docshare.contract.problems import Problem
from docshare.server.office.environment import python
from docshare.server.office.package import refusal
from docshare.server.office.prescan import Linked, prescan
from docshare.server.pdf.confine import allow_seconds, confine, enter_process_namespace

TIMEOUT_S = 20.0
_MEMORY_BYTES = 1 << 30
_MAX_ANSWER = 4 << 20
# Loaded before the confinement: of names in archives, and of XML that is neither UTF-8 nor UTF-16.
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


def scan(path: Path, kind: str, *, required: bool = False) -> Linked:
    """Judge the document at ``path``, a ``docx`` or ``pptx`` by its ``kind``; returns what must be left out of it
    before it may be converted.

    ``required``: every layer of ``confine`` must hold. Raises Problem ``unprocessable`` (as ``prescan``, or when the
    scan dies or takes longer than 20 seconds) and ``unavailable`` (no process can be started or confined).
    """
    command, environment = python("docshare.server.office.scan", kind, *(["required"] if required else []))
    try:
        with path.open("rb") as file:
            done = subprocess.run(
                command,
                env=environment,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                timeout=TIMEOUT_S,
                check=True,
            )
        answer = json.loads(done.stdout[:_MAX_ANSWER].splitlines()[-1])
        if "missing" in answer:
            raise OSError(f"the check cannot be confined: {answer['missing']}")
        if "detail" not in answer:
            parts = {str(name): str(text) for name, text in answer["parts"].items()}
            return Linked([str(address) for address in answer["pictures"]], parts)
        reasons = [str(answer[key]) for key in ("detail", "hint")]
    except OSError as error:
        _log.error("an office document was not checked: %s", error)
        raise Problem("unavailable", "The document cannot be checked now.", headers={"Retry-After": "10"}) from error
    except (subprocess.SubprocessError, AttributeError, LookupError, TypeError, ValueError) as error:
        _log.warning("the check of an office document was ended: %s", type(error).__name__)
        raise refusal("The document cannot be checked: it is too large or damaged.") from error
    raise refusal(*reasons)


def main() -> None:
    """Give up all rights, scan the file in standard input, answer on standard output."""
    kind, *options = sys.argv[1:]
    place = enter_process_namespace()
    for name in _CODECS:
        codecs.lookup(name)
    status = confine(_MEMORY_BYTES, place)
    allow_seconds(TIMEOUT_S / 2)
    missing = [name for name, reason in status.missing.items() if reason is not None]
    answer: dict[str, object]
    if options and missing:
        answer = {"missing": missing}
    else:
        try:
            with io.BufferedReader(io.FileIO(0)) as file:
                answer = prescan(file, kind)._asdict()
        except Problem as problem:
            answer = {"detail": problem.detail, "hint": problem.hint}
    left = memoryview(json.dumps(answer).encode("ascii"))
    while left:
        left = left[os.write(1, left) :]
    os._exit(0)


if __name__ == "__main__":
    main()
