"""Office documents to PDF by LibreOffice: scanned, jailed, limited, and judged by what comes out (spec: hardening F9 to
F11).

LibreOffice gets a throw-away profile, a copy of the document and a directory of its own. Whether it says that it has
succeeded does not count: it exits 0 without having written anything for every document it cannot read.
"""

import contextlib
import logging
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
from docshare.server.store.blobs import PartialFile, remove_tree

MISSING_HINT = (
    "Export the document as PDF and upload that. The operator can install LibreOffice and restart the server "
    "(on Debian: apt install libreoffice-writer-nogui libreoffice-impress-nogui)."
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


class _ConversionFilters(NamedTuple):
    """LibreOffice's names: named, so that it does not judge for itself what a document is."""

    read: str
    write: str


_FILTERS = {
    "docx": _ConversionFilters("MS Word 2007 XML", "writer_pdf_Export"),
    "pptx": _ConversionFilters("Impress MS PowerPoint 2007 XML", "impress_pdf_Export"),
    "ppt": _ConversionFilters("MS PowerPoint 97", "impress_pdf_Export"),
}
_MISSING_LAYERS: dict[str, tuple[str, ...]] = {"jail": (), "network": ("root",), "bare": ("namespaces", "root")}
_SCANNED_KINDS = ("docx", "pptx")  # a .ppt has no parts that could be judged apart: the jail alone holds it


def find_program() -> Path | None:
    """LibreOffice on the search path of this process, None when it is not installed."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    return Path(found) if found else None


class OfficeConverter:
    """Converts documents, a few at a time. Safe to use from many threads.

    Parameters: ``tmp`` a directory for what lives only during a conversion (empty it before the first); ``program``
    LibreOffice's launcher or None; ``slots`` conversions at once; ``timeout_s`` wall clock of one; ``patience_s`` how
    long a caller waits for a slot, and ``max_waiting`` how many may; ``required``: LibreOffice runs in the jail with
    every layer of confinement, or not at all. ``missing``, once ``level`` is known: the layers that are not there.
    """

    def __init__(
        self,
        tmp: Path,
        program: Path | None,
        *,
        slots: int = 2,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _QUEUE_TIMEOUT_S,
        max_waiting: int = 2,
        required: bool = False,
    ) -> None:
        self.missing: tuple[str, ...] = ()
        self._required = required
        self._tmp = tmp.resolve()
        self._program = program
        self._timeout_s = timeout_s
        self._slots = ConversionSlots(slots, patience_s=patience_s, max_waiting=max_waiting)
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._level: str | None = None
        self._running: set[JailedCommand] = set()
        self._closed = False

    @property
    def available(self) -> bool:
        """Whether LibreOffice is there."""
        return self._program is not None

    @property
    def level(self) -> str:
        """How well LibreOffice is kept apart on this host, a word of ``jail.LEVELS``; found out once, at first use.

        Raises Problem ``unavailable`` when it does not start at all.
        """
        with self._probing:
            if self._level is None:
                self._level = self._probe()
            return self._level

    def convert(self, source: Path, kind: str, part: PartialFile, largest: int = _LARGEST_PDF) -> list[str]:
        """Write the PDF of the document at ``source`` into ``part``, which is empty. Returns the addresses of linked
        pictures, which were left out.

        ``kind``: what it really is (``detect.kind_of``); ``largest``: bytes that the PDF may have. Raises Problem
        ``payload_too_large`` (over the kind's cap, or a PDF over ``largest``), ``unprocessable`` (refused by the scan,
        unreadable, longer than the time limit, more memory or disk space than allowed), ``unavailable`` (LibreOffice
        missing or busy). The caller counts the pages of the PDF.
        """
        if not self.available:
            raise Problem(
                "unavailable",
                "This server cannot convert office documents.",
                hint=MISSING_HINT,
                headers={"Retry-After": str(_MISSING_RETRY_S)},
            )
        _check_size(source, kind)
        if kind in _SCANNED_KINDS:
            with source.open("rb") as file:  # a bomb waits for no slot
                open_package(file).close()
        with self._slots.taken():
            linked = (
                scan_document(source, kind, required=self._required)
                if kind in _SCANNED_KINDS
                else LinkedPictures([], {})
            )
            level = self.level
            with self._workshop() as home:
                document = home / f"document.{kind}"
                if linked.pictures:
                    _strip_linked_pictures(source, document, kind, linked)
                else:
                    shutil.copyfile(source, document)
                self._run(level, home, _build_arguments(document, kind), self._timeout_s)
                _copy_result(home / "document.pdf", part, largest)
        return linked.pictures

    def close(self) -> None:
        """End running conversions; their callers, and those who wait or come later, get ``unavailable``."""
        self._slots.close()
        with self._lock:
            self._closed = True
            running = list(self._running)
        for jailed in running:
            jailed.interrupt()

    def _probe(self) -> str:
        """The best level at which LibreOffice starts here."""
        for level in ISOLATION_LEVELS:
            try:
                with self._workshop() as home:
                    status, missing = self._start(level, home, ["--version"], _PROBE_TIMEOUT_S)
            except JailSetupError as error:
                _log.info("level %s: %s", level, error)
                continue
            except (JailTimeout, ExcessError):
                break  # says nothing about what the host allows
            if status == 0:
                self.missing = (*_MISSING_LAYERS[level], *missing)
                if self.missing:
                    _log.warning("LibreOffice is confined without: %s; see docshare doctor", ", ".join(self.missing))
                if self.missing and self._required:
                    break
                return level
        raise _start_problem()

    def _run(self, level: str, home: Path, arguments: list[str], timeout_s: float) -> None:
        """Have LibreOffice work in ``home``. Its exit status says nothing, so it is only logged."""
        try:
            status, missing = self._start(level, home, arguments, timeout_s)
        except JailTimeout as error:
            _log.warning("a conversion was ended: %s", error)
            raise document_problem(
                "Converting the document takes too long.", "Export it as PDF and upload that."
            ) from error
        except ExcessError as error:
            _log.warning("a conversion was ended: it takes %s", error)
            raise document_problem(
                f"Converting the document takes {error}.", "Export it as PDF and upload that."
            ) from error
        except JailSetupError as error:
            _log.error("LibreOffice cannot be kept apart: %s", error)
            raise _start_problem() from error
        if missing and self._required:
            raise _start_problem()
        if status:
            _log.warning("LibreOffice ended with status %d", status)

    def _start(self, level: str, home: Path, arguments: list[str], timeout_s: float) -> tuple[int, dict[str, str]]:
        jailed = JailedCommand(self._order(level, home, arguments))
        with self._lock:
            self._running.add(jailed)
            closed = self._closed
        try:
            if closed:
                jailed.interrupt()
            return jailed.wait(timeout_s), jailed.missing
        finally:
            with self._lock:
                self._running.discard(jailed)
                closed = self._closed
            if closed:
                raise Problem("unavailable", "The server is stopping.", headers={"Retry-After": "5"})

    def _order(self, level: str, home: Path, arguments: list[str]) -> JailJob:
        assert self._program is not None
        program = self._program.resolve()
        # .../program/soffice needs the directories next to its own.
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
    def _workshop(self) -> Iterator[Path]:
        """A directory with a fresh profile, gone afterwards."""
        home = Path(tempfile.mkdtemp(prefix="office-", dir=self._tmp))
        try:
            write_profile(home / "profile")
            yield home
        finally:
            if not remove_tree(home):
                _log.warning("a directory of a conversion stays behind until the next start: %s", home.name)


def _start_problem() -> Problem:
    _log.error("LibreOffice is installed but does not start")
    return Problem("unavailable", "LibreOffice does not start.", headers={"Retry-After": "60"})


def _check_size(source: Path, kind: str) -> None:
    cap = DOCUMENTS[kind].cap
    if cap is not None and source.stat().st_size > cap:
        raise Problem("payload_too_large", f"The file is larger than {cap // MB} MB, the limit of .{kind} documents.")


def _strip_linked_pictures(source: Path, document: Path, kind: str, linked: LinkedPictures) -> None:
    """Write ``source`` to ``document`` without its linked pictures. What LibreOffice gets is judged anew."""
    with source.open("rb") as file, document.open("xb") as sink:
        rewrite_parts(file, sink, linked.parts)
    if scan_document(document, kind).pictures:
        raise document_problem(
            "The document takes a picture from outside of it.", "Embed linked pictures, and send it again."
        )


def _build_arguments(document: Path, kind: str) -> list[str]:
    filters = _FILTERS[kind]
    return [
        "--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", "--nofirststartwizard",
        f"--infilter={filters.read}", "--convert-to", f"pdf:{filters.write}", "--outdir", str(document.parent),
        str(document),
    ]  # fmt: skip


def _copy_result(path: Path, part: PartialFile, largest: int) -> None:
    """Copy the PDF at ``path``, of at most ``largest`` bytes, into ``part``. Whatever wrote it has read a hostile file:
    only a plain file counts."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(os.fdopen(os.open(path, _OPEN_FLAGS), "rb"))
        except OSError as error:
            raise document_problem(
                "The document cannot be converted: it is damaged or uses what is not known here."
            ) from error
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise document_problem("The document cannot be converted.")
        if found.st_size > largest:  # not what is allocated: the holes of a sparse file are read as zeros
            limit = f"{largest // MB} MB"
            raise Problem("payload_too_large", f"The PDF made of the document is larger than the limit of {limit}.")
        while block := file.read(_BLOCK_BYTES):
            if not part.size and not block.startswith(_PDF_MAGIC):
                raise document_problem("The document cannot be converted.")
            part.write(block)
    if not part.size:
        raise document_problem("The document cannot be converted.")
