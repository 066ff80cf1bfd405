"""The documents a worker keeps open between jobs. Runs inside the worker only."""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

_KEPT = 4
_REASONS = {pdfium.FPDF_ERR_PASSWORD: "password", pdfium.FPDF_ERR_SECURITY: "protection"}


class Refused(Exception):
    """The job cannot be done. ``reason``: password, protection, pages, page, missing or broken."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Document:
    """One open PDF. The file stays open and is read where needed; it is never loaded whole (it may have 2 GB)."""

    def __init__(self, path: Path) -> None:
        """Open the PDF at ``path``. Raises Refused, OSError."""
        self.file = path.open("rb", buffering=0)
        try:
            self.pdf = pypdfium2.PdfDocument(self.file, autoclose=True)
        except pypdfium2.PdfiumError as error:
            self.file.close()
            raise Refused(_REASONS.get(error.err_code, "broken")) from error
        with suppress(pypdfium2.PdfiumError):
            self.pdf.init_forms()  # without it the values of form fields are not drawn
        self.count: int = len(self.pdf)

    @contextmanager
    def page(self, number: int) -> Iterator[pypdfium2.PdfPage]:
        """Page ``number`` (1-based), closed afterwards. What pdfium cannot do inside becomes Refused ``page``."""
        if not 1 <= number <= self.count:
            raise Refused("page")
        try:
            page = self.pdf[number - 1]
            try:
                yield page
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise Refused("page") from error

    def stale(self) -> bool:
        """Whether the file was deleted meanwhile: keeping it open would keep its bytes on the disk."""
        return os.fstat(self.file.fileno()).st_nlink == 0

    def close(self) -> None:
        """Close the PDF and its file."""
        self.pdf.close()


class Documents:
    """The documents used last, by path and file identity."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, int, int, int, int], Document] = OrderedDict()

    def open(self, path: str) -> Document:
        """The document at ``path``, from memory or opened now. Raises Refused."""
        self._drop_stale()
        try:
            status = os.stat(path)
            key = (path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            document = self._open.get(key) or Document(Path(path))
        except OSError as error:
            raise Refused("missing") from error
        self._open[key] = document
        self._open.move_to_end(key)
        if len(self._open) > _KEPT:
            self._open.popitem(last=False)[1].close()
        return document

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].close()

    def _drop_stale(self) -> None:
        for key, document in list(self._open.items()):
            if document.stale():
                del self._open[key]
                document.close()
