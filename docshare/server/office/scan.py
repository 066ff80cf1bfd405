"""The pre-scan in a process of its own: hostile XML costs that process and nothing else.

``scan`` is the server's side; run as a program, this module is the process: kind and path as its arguments, one
JSON object as its answer, empty or with the refusal's ``detail`` and ``hint``.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

from docshare.contract.problems import Problem
from docshare.server.office.environment import python
from docshare.server.office.package import refusal
from docshare.server.office.prescan import prescan
from docshare.server.pdf.confine import allow_seconds, confine

TIMEOUT_S = 20.0
_MEMORY_BYTES = 1 << 30
_MAX_ANSWER = 4096
_log = logging.getLogger(__name__)


def scan(path: Path, kind: str) -> None:
    """Judge the document at ``path``, a ``docx`` or ``pptx`` by its ``kind``; returns when it may be converted.

    Raises Problem ``unprocessable`` (as ``prescan``, or when the scan dies or takes longer than 20 seconds) and
    ``unavailable`` (no process can be started).
    """
    command, environment = python("docshare.server.office.scan", kind, str(path))
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        answer = json.loads(done.stdout[:_MAX_ANSWER])
        reasons = [str(answer[key]) for key in ("detail", "hint")] if answer != {} else []
    except OSError as error:
        raise Problem("unavailable", "The document cannot be checked now.", headers={"Retry-After": "10"}) from error
    except (subprocess.SubprocessError, LookupError, TypeError, ValueError) as error:
        _log.warning("the check of an office document was ended: %s", type(error).__name__)
        raise refusal("The document cannot be checked: it is too large or damaged.") from error
    if reasons:
        raise refusal(*reasons)


def main() -> None:
    """Give up all rights, scan the file that the arguments name, answer on standard output."""
    kind, path = sys.argv[1:]
    confine(_MEMORY_BYTES)
    allow_seconds(TIMEOUT_S / 2)
    answer = {}
    try:
        with open(path, "rb") as file:
            prescan(file, kind)
    except Problem as problem:
        answer = {"detail": problem.detail, "hint": problem.hint}
    print(json.dumps(answer))  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()
