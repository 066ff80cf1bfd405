"""Lint and clean PDFs for the command line, in one worker process.

The files are untrusted, so this process never parses them (see ``child`` and ``confine``).
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from docshare.contract.lint import CHECKS, LEVELS, LintFinding
from docshare.contract.problems import Problem
from docshare.server.pdf import answers
from docshare.server.pdf.child import BrokenWorkerError, WorkerProcess, WorkerReply, WorkerTimeoutError

_T = TypeVar("_T")
_UNLOCK_HINT = "Remove the password first, for example: qpdf --decrypt --password=SECRET locked.pdf open.pdf"
_REFUSAL_TEXTS: dict[str, tuple[str, str | None]] = {
    "password": ("The PDF is password-protected.", _UNLOCK_HINT),
    "protection": ("The PDF is protected in an unsupported way.", _UNLOCK_HINT),
}
_UNREADABLE_TEXT: tuple[str, str | None] = ("The file cannot be read as a PDF.", None)


class PdfLinter:
    """A context manager that processes files one after another in one worker.

    Parameters: ``memory_bytes`` limits the address space of the worker; ``timeout_s`` is the wall-clock limit of one
    job. Pages not checked after half of it are reported as a finding ``unchecked``. If ``required``, the worker starts
    only with every layer of ``confine`` active.
    """

    def __init__(self, *, memory_bytes: int = 2 << 30, timeout_s: float = 90.0, required: bool = False) -> None:
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s
        self._required = required
        self._child: WorkerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._child is not None:
            self._child.kill()

    def lint(self, path: Path) -> list[LintFinding]:
        """Return the findings for the file at ``path``, sorted by level, then in the order of ``CHECKS``, then by page.

        Raises Problem ``unprocessable`` if the file cannot be read, needs a password, or takes too much time or
        memory; Problem ``unavailable`` if the worker does not start.
        """
        job = {"do": "lint", "path": str(path.absolute()), "budget_s": self._timeout_s / 2}
        found = self._ask(job, answers.lint_findings)
        order = list(CHECKS)
        return sorted(found, key=lambda each: (-LEVELS.index(each.level), order.index(each.check), each.page or 0))

    def clean(self, path: Path, sink: IO[bytes], *, keep_title: bool) -> None:
        """Write a copy of the file at ``path`` without metadata and hidden content to ``sink``.

        Raises the same Problems as ``lint``, and OSError if ``sink`` cannot be written.
        """
        job = {"do": "clean", "path": str(path.absolute()), "keep_title": keep_title}
        self._ask(job, partial(answers.check_pdf, sink), sink)

    def _ask(self, job: dict[str, Any], read: Callable[[WorkerReply], _T], sink: IO[bytes] | None = None) -> _T:
        """Return the worker's reply as parsed by ``read``. A worker that fails is killed."""
        try:
            return answers.parse_reply(self._get_worker().ask(job, sink=sink), read)
        except answers.WorkerRefusal as refusal:
            detail, hint = _REFUSAL_TEXTS.get(refusal.reason, _UNREADABLE_TEXT)
            raise Problem("unprocessable", detail, hint=hint) from refusal
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            if self._child is not None:
                self._child.kill()
                self._child = None
            raise Problem("unprocessable", "Checking this file takes too much time or memory.") from error

    def _get_worker(self) -> WorkerProcess:
        if self._child is None:
            try:
                self._child = WorkerProcess(
                    memory_bytes=self._memory_bytes, timeout_s=self._timeout_s, required=self._required, edits=True
                )
            except (BrokenWorkerError, WorkerTimeoutError) as error:
                raise Problem("unavailable", f"The PDF engine cannot be started: {error}.") from error
        return self._child
