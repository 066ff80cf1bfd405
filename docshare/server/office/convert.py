"""Convert office documents to PDF with LibreOffice, scanned beforehand and confined during the conversion.

Each conversion has its own directory with a fresh profile and a copy of the document. Only the resulting file counts:
LibreOffice exits with 0 even if it cannot read the document and writes nothing.
"""

import contextlib
import logging
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docshare.contract.amounts import format_size
from docshare.contract.media import DOCUMENTS
from docshare.contract.plans import MB, PLAN_LIMITS
from docshare.contract.problems import Problem
from docshare.server.office import environment
from docshare.server.office.jail import ISOLATION_LEVELS, JailJob
from docshare.server.office.package import document_problem, open_package, rewrite_parts
from docshare.server.office.prescan import LinkedPictures
from docshare.server.office.process import JailedCommand, JailSetupError, JailTimeout
from docshare.server.office.profile import write_profile
from docshare.server.office.scan import scan_document
from docshare.server.office.slots import ConversionSlots
from docshare.server.office.usage import ExcessError
from docshare.server.pdf.budget import Tenant
from docshare.server.store.blobs import PartialFile
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.trees import remove_tree

MISSING_HINT = (
    "Export the document as PDF and upload that. The operator can install LibreOffice and restart the server "
    "(on Debian: apt install libreoffice-writer-nogui libreoffice-impress-nogui)."
)
NO_MEMORY_HINT = (
    "Export the document as PDF and upload that. LibreOffice needs files in clear, which the server keeps in memory "
    "only: the operator can mount a tmpfs at /dev/shm, or set DOCSHARE_ENCRYPTION=off."
)
_PROGRAMS = ("soffice", "libreoffice")
_TIMEOUT_S = 60.0
_QUEUE_TIMEOUT_S = 30.0
_PROBE_TIMEOUT_S = 20.0
_MISSING_RETRY_S = 3600
_BLOCK_BYTES = 1 << 20
_PDF_MAGIC = b"%PDF-"
_LARGEST_PDF = max(limits.stored_bytes for limits in PLAN_LIMITS.values())
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _ConversionFilters:
    """The names of LibreOffice filters. They are explicit so that LibreOffice does not detect the file type itself."""

    read: str
    write: str


_FILTERS = {
    "docx": _ConversionFilters("MS Word 2007 XML", "writer_pdf_Export"),
    "pptx": _ConversionFilters("Impress MS PowerPoint 2007 XML", "impress_pdf_Export"),
    "ppt": _ConversionFilters("MS PowerPoint 97", "impress_pdf_Export"),
}
_MISSING_LAYERS: dict[str, tuple[str, ...]] = {"jail": (), "network": ("root",), "bare": ("namespaces", "root")}
_SCANNED_KINDS = ("docx", "pptx")  # a .ppt cannot be scanned in parts; it is only confined


def find_program() -> Path | None:
    """Return the LibreOffice launcher on the PATH of this process, or None if it is not installed."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    return Path(found) if found else None


class OfficeConverter:
    """Converts documents, a few at a time. Thread-safe.

    Parameters: ``tmp`` is a directory for temporary files, whose names begin with ``prefix`` and which the caller
    removes before the first conversion; None if documents in clear may not reach a disk and there is no file system in
    memory; ``program`` the LibreOffice launcher or None; ``slots`` the number of parallel conversions; ``timeout_s``
    the wall-clock limit of one; ``patience_s`` how long a caller waits for a slot; ``max_waiting`` how many callers can
    wait, half of them for one owner; ``required``: LibreOffice runs only in the jail with every layer of confinement.
    ``missing`` names the missing layers once ``level`` is known.
    """

    def __init__(
        self,
        tmp: Path | None,
        program: Path | None,
        *,
        prefix: str = "office-",
        slots: int = 2,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _QUEUE_TIMEOUT_S,
        max_waiting: int = 4,
        required: bool = False,
    ) -> None:
        self.missing: tuple[str, ...] = ()
        self._required = required
        self._tmp = tmp and tmp.resolve()
        self._prefix = prefix
        self._program = program
        self._timeout_s = timeout_s
        self._slots = ConversionSlots(slots, patience_s=patience_s, max_waiting=max_waiting)
        self._lock = threading.Lock()
        self._probe_lock = threading.Lock()
        self._level: str | None = None
        self._running: set[JailedCommand] = set()
        self._closed = False

    @property
    def is_available(self) -> bool:
        """Return whether LibreOffice is installed."""
        return self._program is not None

    @property
    def isolation_level(self) -> str:
        """Return the isolation level of LibreOffice on this host, one of ``jail.ISOLATION_LEVELS``; measured on first
        use.

        Raises Problem ``unavailable`` if LibreOffice cannot be started.
        """
        with self._probe_lock:
            if self._level is None:
                self._level = self._probe()
            return self._level

    def convert(
        self,
        source: StoredBytes | Path,
        kind: str,
        part: PartialFile,
        largest: int = _LARGEST_PDF,
        tenant: Tenant | None = None,
    ) -> list[str]:
        """Convert the document at ``source`` to PDF and write it to the empty ``part``. Return the URLs of linked
        pictures, which the PDF does not contain.

        ``kind`` is the result of ``detect.detect_kind``; ``largest`` the size limit of the PDF in bytes; ``tenant`` the
        party that the conversion is charged to. Raises Problem ``payload_too_large`` (the document or the PDF is too
        large), ``unprocessable`` (rejected by the scan, unreadable, or over the limits of time, memory or disk space,
        now or within the last ten minutes), ``unavailable`` (LibreOffice is not installed or busy). The caller counts
        the pages of the PDF.
        """
        if not self.is_available:
            raise Problem(
                "unavailable",
                "This server cannot convert office documents.",
                hint=MISSING_HINT,
                headers={"Retry-After": str(_MISSING_RETRY_S)},
            )
        if self._tmp is None:
            raise Problem(
                "unavailable",
                "This server cannot convert office documents.",
                hint=NO_MEMORY_HINT,
                headers={"Retry-After": str(_MISSING_RETRY_S)},
            )
        _check_size(source, kind)
        if kind in _SCANNED_KINDS:
            with source.open("rb") as file:  # reject zip bombs before waiting for a slot
                open_package(file).close()
        with self._slots.hold(tenant or Tenant(str(source), str(source))) as charge:
            linked = (
                scan_document(source, kind, required=self._required)
                if kind in _SCANNED_KINDS
                else LinkedPictures([], {})
            )
            level = self.isolation_level
            with self._job_directory() as home:
                document = home / f"document.{kind}"
                if linked.pictures:
                    _strip_linked_pictures(source, document, kind, linked)
                else:
                    with source.open("rb") as file, document.open("xb") as sink:
                        shutil.copyfileobj(file, sink, _BLOCK_BYTES)
                charge(self._run(level, home, _build_arguments(document, kind), self._timeout_s))
                _copy_result(home / "document.pdf", part, largest)
        return linked.pictures

    def close(self) -> None:
        """Stop running conversions. Their callers, waiting callers and later callers get Problem ``unavailable``."""
        self._slots.close()
        with self._lock:
            self._closed = True
            running = list(self._running)
        for jailed in running:
            jailed.interrupt()

    def _probe(self) -> str:
        """Return the highest isolation level at which LibreOffice starts on this host."""
        for level in ISOLATION_LEVELS:
            try:
                with self._job_directory() as home:
                    status, jailed = self._start(level, home, ["--version"], _PROBE_TIMEOUT_S)
            except JailSetupError as error:
                _log.info("Isolation level %s is not available: %s", level, error)
                continue
            except (JailTimeout, ExcessError):
                break  # a failure of LibreOffice, not of the isolation level
            if status == 0:
                self.missing = (*_MISSING_LAYERS[level], *jailed.missing)
                if self.missing:
                    _log.warning("LibreOffice runs without %s; see docshare doctor", ", ".join(self.missing))
                if self.missing and self._required:
                    break
                return level
        raise _start_problem()

    def _run(self, level: str, home: Path, arguments: list[str], timeout_s: float) -> float:
        """Run LibreOffice in ``home`` and return its processor seconds. Its exit status is unreliable and only
        logged."""
        try:
            status, jailed = self._start(level, home, arguments, timeout_s)
        except JailTimeout as error:
            _log.warning("Stopped a conversion: %s", error)
            raise document_problem(
                "Converting the document takes too long.", "Export it as PDF and upload that."
            ) from error
        except ExcessError as error:
            _log.warning("Stopped a conversion: %s", error)
            raise document_problem(
                f"Converting the document takes {error}.", "Export it as PDF and upload that."
            ) from error
        except JailSetupError as error:
            _log.error("LibreOffice cannot be confined: %s", error)
            raise _start_problem() from error
        if jailed.missing and self._required:
            raise _start_problem()
        if status:
            _log.warning("LibreOffice exited with status %d", status)
        return jailed.cpu_s

    def _start(self, level: str, home: Path, arguments: list[str], timeout_s: float) -> tuple[int, JailedCommand]:
        jailed = JailedCommand(self._build_job(level, home, arguments))
        with self._lock:
            self._running.add(jailed)
            closed = self._closed
        try:
            if closed:
                jailed.interrupt()
            return jailed.wait(timeout_s), jailed
        finally:
            with self._lock:
                self._running.discard(jailed)
                closed = self._closed
            if closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"})

    def _build_job(self, level: str, home: Path, arguments: list[str]) -> JailJob:
        assert self._program is not None
        program = self._program.resolve()
        # .../program/soffice needs the sibling directories of program.
        installation = program.parent.parent if program.parent.name == "program" else program.parent
        return JailJob(
            level=level,
            command=[str(program), f"-env:UserInstallation={(home / 'profile').as_uri()}", *arguments],
            env=environment.soffice_environment(str(home)),
            home=str(home),
            programs=[str(installation)],
            limits={"AS": 2048 * MB, "FSIZE": 512 * MB, "CPU": 90, "NOFILE": 512, "CORE": 0},
        )

    @contextlib.contextmanager
    def _job_directory(self) -> Iterator[Path]:
        """Yield a new directory with a fresh profile; remove it afterwards."""
        home = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self._tmp))
        try:
            write_profile(home / "profile")
            yield home
        finally:
            if not remove_tree(home):
                _log.warning("Could not remove the directory of a conversion; the next start will: %s", home.name)


def _start_problem() -> Problem:
    _log.error("LibreOffice is installed but cannot be started")
    return Problem("unavailable", "LibreOffice cannot be started.", headers={"Retry-After": "60"})


def _check_size(source: StoredBytes | Path, kind: str) -> None:
    cap = DOCUMENTS[kind].cap
    with source.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
    if cap is not None and size > cap:
        raise Problem("payload_too_large", f"The file is larger than {format_size(cap)}, the limit for .{kind} files.")


def _strip_linked_pictures(source: StoredBytes | Path, document: Path, kind: str, linked: LinkedPictures) -> None:
    """Write ``source`` to ``document`` without its linked pictures, and scan the result again."""
    with source.open("rb") as file, document.open("xb") as sink:
        rewrite_parts(file, sink, linked.parts)
    if scan_document(document, kind).pictures:
        raise document_problem(
            "The document links to an external picture.", "Embed linked pictures and upload the document again."
        )


def _build_arguments(document: Path, kind: str) -> list[str]:
    filters = _FILTERS[kind]
    return [
        "--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", "--nofirststartwizard",
        f"--infilter={filters.read}", "--convert-to", f"pdf:{filters.write}", "--outdir", str(document.parent),
        str(document),
    ]  # fmt: skip


def _copy_result(path: Path, part: PartialFile, largest: int) -> None:
    """Copy the PDF at ``path``, of at most ``largest`` bytes, to ``part``.

    LibreOffice may be compromised by a hostile document, so ``path`` must be a regular file with a single link.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(os.fdopen(os.open(path, _OPEN_FLAGS), "rb"))
        except OSError as error:
            raise document_problem(
                "The document cannot be converted: it is damaged or uses unsupported features."
            ) from error
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise document_problem("The document cannot be converted.")
        if found.st_size > largest:  # the logical size, because the holes of a sparse file are copied as zeros
            detail = f"The converted PDF is larger than the limit of {format_size(largest)}."
            raise Problem("payload_too_large", detail)
        while block := file.read(_BLOCK_BYTES):
            if not part.size and not block.startswith(_PDF_MAGIC):
                raise document_problem("The document cannot be converted.")
            part.write(block)
    if not part.size:
        raise document_problem("The document cannot be converted.")
