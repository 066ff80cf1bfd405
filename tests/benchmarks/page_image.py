"""Compare uncached page images with direct calls of pypdfium2 and Pillow: ``python tests/benchmarks/page_image.py``.

The product is ``PageStore.image`` for an uncached page of an encrypted document: worker process, pipe, encrypted file
on disk. The limit renders and encodes the same page of the clear file in this process, without writing it. Both use the
same malloc settings.
"""

import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import pypdfium2
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine
from docshare.server.pdf.pages import PageStore
from docshare.server.store.segments import encrypt_bytes
from docshare.server.store.stored_bytes import StoredBytes
from tests.benchmarks.comparison import check_bound, compare_in_turns
from tests.support.documents import pdfs
from tests.support.polling import wait_until

MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(256 << 20)}
WIDTH = 1600
PAGES = 60
CHANGES = 100


def make_text_document() -> bytes:
    """Return a document with dense pages of text."""
    words = ["page", "reader", "document", "while", "office", "efficient", "share", "measure"]
    chance = random.Random(1)
    pages = ["\n".join(" ".join(chance.choice(words) for _ in range(15)) for _ in range(60)) for _ in range(PAGES)]
    return pdfs.sheets_pdf([pdfs.Sheet(pdfs.lines_content(page, size=9, left=40, top=760)) for page in pages])


def make_vector_document() -> bytes:
    """Return a document whose pages have 400 colored curves each."""
    chance = random.Random(2)

    def make_curve() -> str:
        color = " ".join(f"{chance.random():.2f}" for _ in range(3))
        points = [f"{chance.random() * 600:.0f}" for _ in range(8)]
        return f"{color} RG {points[0]} {points[1]} m {' '.join(points[2:])} c S"

    return pdfs.sheets_pdf([pdfs.Sheet(" ".join(make_curve() for _ in range(400))) for _ in range(PAGES)])


def make_scan_document() -> bytes:
    """Return a document with a photograph of 300 dpi on each page."""
    writer = pdfs.PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    numbers = []
    for page in range(PAGES):
        noise = Image.frombytes("L", (160, 200), random.Random(page).randbytes(32_000)).resize((2550, 3300))
        data = io.BytesIO()
        noise.convert("RGB").save(data, "JPEG", quality=75)
        picture = writer.stream(
            data.getvalue(),
            "/Type /XObject /Subtype /Image /Width 2550 /Height 3300 /BitsPerComponent 8 /ColorSpace /DeviceRGB "
            "/Filter /DCTDecode",
        )
        content = writer.stream("612 0 0 792 0 0 cm /I Do")
        entries = f"/MediaBox [0 0 612 792] /Resources << /XObject << /I {picture} 0 R >> >> /Contents {content} 0 R"
        numbers.append(writer.add(f"<< /Type /Page /Parent {tree} 0 R {entries} >>"))
    writer.put(tree, f"<< /Type /Pages /Count {PAGES} /Kids [{' '.join(f'{number} 0 R' for number in numbers)}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def render_directly(document: pypdfium2.PdfDocument, page: int) -> None:
    """Render and encode the page in this process, in the simplest way that pypdfium2 offers."""
    opened = document[page - 1]
    bitmap = opened.render(scale=WIDTH / opened.get_width())
    bitmap.to_pil().save(io.BytesIO(), "JPEG", quality=80)
    bitmap.close()
    opened.close()


def measure_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def encrypt_document(path: Path) -> StoredBytes:
    """Return an encrypted copy of the document at ``path``."""
    key, copy = os.urandom(32), path.with_suffix(".sealed")
    copy.write_bytes(encrypt_bytes(path.read_bytes(), key, os.urandom(32)))
    return StoredBytes(copy, key)


def compare_cold_pages(name: str, blob: Path, root: Path) -> bool:
    """Compare on thirteen pages of one document; every fourth, so that none was rendered ahead."""
    encrypted = encrypt_document(blob)
    with (
        closing(PdfEngine()) as engine,
        closing(PageStore(engine, root)) as store,
        closing(pypdfium2.PdfDocument(blob)) as document,
    ):
        ours, theirs = iter(range(1, PAGES, 4)), iter(range(1, PAGES, 4))

        def measure_product() -> float:
            page = next(ours)
            duration = measure_ms(lambda: store.image("bench", 1, encrypted, page, WIDTH))
            wait_until((root / f"bench/1/{page + 1}-{WIDTH}.jpg.sealed").exists)  # do not slow down the limit
            return duration

        return compare_in_turns(
            f"page image, cold, {name}",
            measure_product,
            lambda: measure_ms(lambda: render_directly(document, next(theirs))),
            target=1.25,
            better="less",
            unit="ms",
            rounds=12,
        ).reached


def measure_first_page(blob: Path, root: Path) -> bool:
    """Measure the first page right after the start: start of the worker, opening and rendering."""
    durations, encrypted = [], encrypt_document(blob)
    for turn in range(7):
        with closing(PdfEngine()) as engine, closing(PageStore(engine, root / str(turn))) as store:
            durations.append(measure_ms(lambda store=store: store.image("bench", 1, encrypted, 1, WIDTH)))  # type: ignore[misc]
    return check_bound("first page of 2,000, worker not started, median of 7", median(durations), 300, "ms")


def measure_owner_changes(blob: Path) -> bool:
    """Measure the processor time of all processes for a page of another owner, beyond that for a page of the same."""
    another = _measure_processor_s(blob, [f"owner {number}" for number in range(CHANGES)])
    same = _measure_processor_s(blob, ["owner"] * CHANGES)
    return check_bound(
        f"change of the owner, processor time, mean of {CHANGES}", (another - same) / (CHANGES - 1) * 1000, 15, "ms"
    )


def _measure_processor_s(blob: Path, owners: list[str]) -> float:
    """Return the processor time of rendering a page for each of ``owners``, by this process and those that it starts,
    in seconds."""
    before = sum(os.times()[:4])
    with closing(PdfEngine()) as engine:
        for owner in owners:
            engine.render(blob, 1, 80, None, Tenant(owner, "bench"))
    return sum(os.times()[:4]) - before


def main() -> int:
    if not MALLOC.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})
    documents = {"text": make_text_document, "vector": make_vector_document, "scan": make_scan_document}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        reached = []
        for name, make in documents.items():
            blob = root / f"{name}.pdf"
            blob.write_bytes(make())
            reached.append(compare_cold_pages(name, blob, root / f"cache-{name}"))
        long = root / "long.pdf"
        long.write_bytes(pdfs.many_pages_pdf(2000, lines=40))
        reached.append(measure_first_page(long, root / "first"))
        reached.append(measure_owner_changes(root / "text.pdf"))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main())
