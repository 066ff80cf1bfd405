"""Keep documents open between jobs. Runs only inside the worker."""

import io
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import pypdfium2

from docshare.server.pdf.worker import repair
from docshare.server.store.segments import SegmentReader

_MAX_OPEN = 4


class PdfRefused(Exception):
    """The worker refuses a job; ``reason`` is one of ``answers.REASONS``. After ``repair``, the parent sends the job to
    the process for editing jobs, which can repair documents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _SharedFileReader(io.RawIOBase):
    """A reader of ``file`` with its own position. Not thread-safe."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        self._at = max(0, start + offset) if start is not None else self._file.seek(offset, whence)
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        count = self._file.readinto(buffer) or 0  # type: ignore[attr-defined]  # BinaryIO lacks it, but every open file has it
        self._at += count
        return count


def is_damaged(file: BinaryIO) -> bool:
    """Return whether a part of ``file`` was read that could not be decrypted."""
    return isinstance(file, SegmentReader) and file.is_damaged


def _get_status(file: BinaryIO) -> os.stat_result:
    return os.fstat((file.file if isinstance(file, SegmentReader) else file).fileno())


class OpenPdfDocument:
    """One open PDF. Its file, of up to 2 GB, is read on demand and closed with the document."""

    def __init__(self, file: BinaryIO) -> None:
        """Open the PDF in the open ``file``. Raises PdfRefused."""
        self.file = file
        self._is_repaired = False
        repair.reset_last_error()
        try:
            self.pdf = pypdfium2.PdfDocument(self.file)
        except pypdfium2.PdfiumError as error:
            opened = repair.open_repaired(self.file, error.err_code or 0) if repair.is_possible() else "repair"
            if isinstance(opened, str):
                self.file.close()
                raise PdfRefused(opened) from error
            self.pdf = opened
        self._init_forms()
        self.count: int = len(self.pdf)

    @contextmanager
    def page(self, number: int) -> Iterator[pypdfium2.PdfPage]:
        """Yield page ``number`` (1-based) and close it afterwards. Raises PdfRefused ``page`` on pdfium errors, also
        for those inside the block."""
        if not 1 <= number <= self.count:
            raise PdfRefused("page")
        try:
            page = self._load(number)
            try:
                yield page
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise PdfRefused("page") from error

    def _load(self, number: int) -> pypdfium2.PdfPage:
        try:
            return self.pdf[number - 1]
        except pypdfium2.PdfiumError:
            if self._is_repaired:
                raise
            if not repair.is_possible():
                raise PdfRefused("repair") from None
            self._is_repaired = True
            opened = repair.open_repaired(self.file, 0)
            if isinstance(opened, str) or len(opened) != self.count:
                raise
            self.pdf.close()
            self.pdf = opened
            self._init_forms()
            return self.pdf[number - 1]

    def _init_forms(self) -> None:
        with suppress(pypdfium2.PdfiumError):
            self.pdf.init_forms()  # required to render the values of form fields

    def reader(self) -> io.BufferedReader:
        """Return a reader of the file with its own position, for another library."""
        return io.BufferedReader(_SharedFileReader(self.file))

    def is_stale(self) -> bool:
        """Return whether the file was deleted. An open file would keep its disk space in use."""
        return _get_status(self.file).st_nlink == 0

    def close(self) -> None:
        """Close the PDF and its file."""
        self.pdf.close()
        self.file.close()


class DocumentCache:
    """The most recently used documents, keyed by the identity of their files."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[int, int, int, int], OpenPdfDocument] = OrderedDict()

    def open(self, file: BinaryIO) -> OpenPdfDocument:
        """Return the document in ``file``, which is cached or opened now, and owns ``file``. Raises PdfRefused."""
        self._drop_stale()
        status = _get_status(file)
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        document = self._open.get(key)
        if document is None:
            document = OpenPdfDocument(file)
        elif document.file is not file:
            file.close()
        self._open[key] = document
        self._open.move_to_end(key)
        if len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)[1].close()
        return document

    def close_damaged(self, file: BinaryIO) -> bool:
        """Return whether a part of ``file``, or of the document that was opened last, could not be decrypted; close
        such documents."""
        damaged = [key for key, document in self._open.items() if is_damaged(document.file)]
        for key in damaged:
            self._open.pop(key).close()
        return bool(damaged) or is_damaged(file)

    def close(self) -> None:
        """Close all documents."""
        while self._open:
            self._open.popitem()[1].close()

    def _drop_stale(self) -> None:
        for key, document in list(self._open.items()):
            if document.is_stale():
                del self._open[key]
                document.close()
