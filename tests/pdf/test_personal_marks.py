"""Images and copies with the watermark of one reader: created from shared files, and never cached."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pypdfium2
import pytest
from PIL import Image, ImageChops

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import Derivation, PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.pages import PageStore
from tests.support.documents import pdfs

Put = Callable[..., Path]
FILE = "5e1f6a52-5d55-4f0f-9c8f-0d2f7f0c1a11"
ANN, BOB = (
    WatermarkText(f"{reader}@acme.test - docs.example.com - copy 7F3A-91C2", 0.3, "normal") for reader in ("ann", "bob")
)


class FailingDeriveEngine(PdfEngine):
    """A real engine that fails to derive documents. ``attempts`` counts the calls."""

    attempts = 0

    def derive(self, path: Path, wanted: Derivation, sink: IO[bytes], tenant: Tenant | None = None) -> None:
        self.attempts += 1
        raise UnrenderableError("the page crashes the engine", is_permanent=True)


@pytest.fixture
def store(engine: PdfEngine, tmp_path: Path) -> Iterator[PageStore]:
    with closing(PageStore(engine, tmp_path / "cache")) as pages:
        yield pages


def list_files(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


def test_two_readers_get_their_own_watermarks_on_one_cached_page(
    store: PageStore, write_file: Put, tmp_path: Path
) -> None:
    blob = write_file(pdfs.simple_pdf(texts=["Only page"]))
    plain = Image.open(store.image(FILE, 1, blob, 1, 800)).convert("L")
    images = [store.stamp_image(FILE, 1, blob, 1, 800, mark) for mark in (ANN, BOB)]
    assert images[0] != images[1]
    for image in images:
        apart = ImageChops.difference(plain, Image.open(io.BytesIO(image)).convert("L"))
        assert sum(value > 20 for value in apart.tobytes()) > 1000
    assert len(list_files(tmp_path / "cache")) == 1


@pytest.mark.parametrize("content", [None, b"", b"GIF89a", b"\xff\xd8\xff\xe0 and no more"])
def test_a_page_that_cannot_be_rendered_has_no_watermarked_image(
    engine: PdfEngine, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "page.jpg"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnrenderableError):
        engine.stamp(path, ANN)


def test_stamping_an_evicted_page_raises(store: PageStore, write_file: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = write_file(pdfs.simple_pdf(texts=["Only page"]))
    evicted = store.image(FILE, 1, blob, 1, 800)
    monkeypatch.setattr(store, "image", lambda *_: evicted)
    Path(evicted).unlink()
    with pytest.raises(FileNotFoundError):
        store.stamp_image(FILE, 1, blob, 1, 800, ANN)


def test_a_copy_contains_its_reader_and_is_not_cached(store: PageStore, write_file: Put, tmp_path: Path) -> None:
    blob = write_file(pdfs.simple_pdf(pages=3))
    with store.build_copy(FILE, 1, blob, Derivation(3, 2, 3, ANN)) as copy, pypdfium2.PdfDocument(copy) as pdf:
        assert len(pdf) == 2
        assert "ann@acme.test" in pdf[0].get_textpage().get_text_range()
    assert list_files(tmp_path / "cache") == []


def test_a_copy_that_cannot_be_derived_is_not_retried_for_every_reader(write_file: Put, tmp_path: Path) -> None:
    blob = write_file(pdfs.simple_pdf(pages=1))
    with closing(FailingDeriveEngine(workers=1)) as weak, closing(PageStore(weak, tmp_path / "cache")) as pages:
        for mark in (ANN, BOB, ANN):
            with pytest.raises(UnrenderableError):
                pages.build_copy(FILE, 1, blob, Derivation(1, 1, 1, mark))
        assert weak.attempts == 1
    assert list_files(tmp_path / "cache") == []
