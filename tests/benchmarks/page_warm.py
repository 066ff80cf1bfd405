"""Compare a cached page image with Flask's send_file: python -m tests.benchmarks.page_warm [SECONDS]

The same listener with the same number of threads serves both, each in a separate process, to the same client.
The product resolves the link, its file and the image; the limit sends the same bytes from a folder.
"""

import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import requests
from flask import Flask, Response, send_file

from tests.benchmarks.comparison import compare_in_turns, read_amount
from tests.benchmarks.servers import measure_rate, serve_app, serve_product, start_process
from tests.support.documents.pdfs import simple_pdf

TARGET = 0.7
ROUNDS = 15


def serve_limit(folder: Path, pipe: Connection) -> None:
    """Serve one image from a folder."""
    app = Flask("limit", root_path=str(folder))

    def send_image() -> Response:
        return send_file(folder / "page.jpg", mimetype="image/jpeg")

    app.add_url_rule("/page.jpg", view_func=send_image)
    serve_app(app, pipe)


def main(seconds: float) -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, key = stack.enter_context(start_process(serve_product, Path(folder)))
        base = f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Bearer {key}"}
        document = {"file": ("a.pdf", simple_pdf(pages=3))}
        created = requests.post(f"{base}/api/v1/files", files=document, headers=headers, timeout=60).json()
        path = f"/{created['shortId']}/pages/1-800.jpg?v=1"
        rendered = requests.get(base + path, timeout=60)
        rendered.raise_for_status()
        (Path(folder) / "page.jpg").write_bytes(rendered.content)
        plain, _ = stack.enter_context(start_process(serve_limit, Path(folder)))
        ours = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        theirs = b"GET /page.jpg HTTP/1.1\r\nHost: x\r\n\r\n"
        outcome = compare_in_turns(
            f"page image, warm ({len(rendered.content)} bytes)",
            lambda: measure_rate(port, ours, seconds),
            lambda: measure_rate(plain, theirs, seconds),
            target=TARGET,
            better="more",
            unit="requests/s",
            rounds=ROUNDS,
        )
    return 0 if outcome.reached else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(1.0, 0.1)))
