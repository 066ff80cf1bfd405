"""Compare finding words in a document of 1,000 pages with pdfium: python -m tests.benchmarks.search [PAGES]

The first search reads the text of the document; each later one reads what the first has stored. The limit is a search
of all pages by pdfium itself, in this process and in one open document, without a server and without confinement.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pypdfium2
import requests

from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount
from tests.benchmarks.servers import serve_product, start_process
from tests.support.documents.pdfs import many_pages_pdf

FIRST_TARGET = 300.0  # milliseconds
AGAIN_TARGET = 50.0
FIRST_DOCUMENTS = 3
ROUNDS = 15


def count_with_pdfium(document: pypdfium2.PdfDocument, words: str) -> int:
    """Return how often ``words`` occur in the document."""
    found = 0
    for page in document:
        with closing(page), closing(page.get_textpage()) as text, closing(text.search(words)) as searcher:
            while searcher.get_next() is not None:
                found += 1
    return found


def measure_ms(run: Callable[[], object]) -> float:
    """Return how many milliseconds ``run`` takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def main(pages: int) -> int:
    """Measure, print the results, and return the exit code."""
    content = many_pages_pdf(pages)
    words = f"page {pages * 987 // 1000}, line"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, key = stack.enter_context(start_process(serve_product, Path(folder)))
        base = f"http://127.0.0.1:{port}"
        session = stack.enter_context(requests.Session())

        def upload() -> str:
            headers = {"Authorization": f"Bearer {key}"}
            file = {"file": ("a.pdf", content)}
            created = session.post(f"{base}/api/v1/files", files=file, headers=headers, timeout=60).json()
            session.get(f"{base}/{created['shortId']}/pages/1-800.jpg?v=1", timeout=60).raise_for_status()
            return f"{base}/{created['shortId']}/search"

        def search(address: str) -> None:
            found = session.get(address, params={"q": words, "v": "1"}, timeout=60).json()
            assert (found["count"], found["complete"]) == (1, True), found

        addresses = [upload() for _ in range(FIRST_DOCUMENTS)]
        first = min(measure_ms(lambda address=address: search(address)) for address in addresses)  # type: ignore[misc]
        again = min(measure_ms(lambda: search(addresses[0])) for _ in range(ROUNDS))
        is_quick = check_bound(f"first search of {pages} pages, best of {FIRST_DOCUMENTS}", first, FIRST_TARGET, "ms")
        is_quick = check_bound(f"search again, best of {ROUNDS}", again, AGAIN_TARGET, "ms") and is_quick
        document = stack.enter_context(closing(pypdfium2.PdfDocument(content)))
        assert count_with_pdfium(document, words) == 1
        outcome = compare_in_turns(
            "search again against pdfium in process",
            lambda: measure_ms(lambda: search(addresses[0])),
            lambda: measure_ms(lambda: count_with_pdfium(document, words)),
            target=1.0,
            better="less",
            unit="ms",
            rounds=ROUNDS,
        )
    return 0 if outcome.reached and is_quick else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(1000, 100)))
