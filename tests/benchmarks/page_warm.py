"""A page image that was drawn before against Flask's send_file: python -m tests.benchmarks.page_warm [SECONDS]

Both are served by the same listener with the same threads, each in a process of its own, and asked by the same client.
The product finds the link, its file and the image; the limit sends the very same bytes from a folder.
"""

import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import requests
from flask import Flask, Response, send_file

from tests.benchmarks.comparison import compare_in_turns, read_amount
from tests.benchmarks.servers import measure_rate, serve_app, serve_product, start_process
from tests.support.pdfs import simple_pdf

TARGET = 0.7
ROUNDS = 15


def serve_limit(folder: Path, pipe: Connection) -> None:
    """One image from a folder."""
    app = Flask("limit", root_path=str(folder))

    def image() -> Response:
        return send_file(folder / "page.jpg", mimetype="image/jpeg")

    app.add_url_rule("/page.jpg", view_func=image)
    serve_app(app, pipe)


def main(seconds: float) -> int:
    """Measure, print, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, key = stack.enter_context(start_process(serve_product, Path(folder)))
        base = f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Bearer {key}"}
        document = {"file": ("a.pdf", simple_pdf(pages=3))}
        made = requests.post(f"{base}/api/v1/files", files=document, headers=headers, timeout=60).json()
        path = f"/{made['shortId']}/pages/1-800.jpg?v=1"
        drawn = requests.get(base + path, timeout=60)
        drawn.raise_for_status()
        (Path(folder) / "page.jpg").write_bytes(drawn.content)
        plain, _ = stack.enter_context(start_process(serve_limit, Path(folder)))
        ours = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        theirs = b"GET /page.jpg HTTP/1.1\r\nHost: x\r\n\r\n"
        outcome = compare_in_turns(
            f"page image, warm ({len(drawn.content)} bytes)",
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
