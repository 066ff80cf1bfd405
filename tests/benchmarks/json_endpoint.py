"""An authenticated JSON endpoint against an empty Flask route: python -m tests.benchmarks.json_endpoint [SECONDS]

Both are served by the same waitress with the same threads, each in a process of its own, and asked by the same client:
16 connections kept alive, each with one request under way. ``GET /api/v1/user`` finds its key, checks its scope, counts
the account's files, keeps its rate limit and logs its line; the empty route does nothing.
"""

import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

from flask import Flask

from tests.benchmarks.comparison import compare_in_turns, read_amount
from tests.benchmarks.servers import measure_rate, serve_app, serve_product, start_process

TARGET = 0.45
ROUNDS = 15  # many short ones, so that both meet the same machine


def serve_limit(folder: Path, pipe: Connection) -> None:
    """An empty route."""
    app = Flask("limit", root_path=str(folder))
    app.add_url_rule("/", view_func=lambda: "")
    serve_app(app, pipe)


def main(seconds: float) -> int:
    """Measure, print, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, key = stack.enter_context(start_process(serve_product, Path(folder)))
        empty, _ = stack.enter_context(start_process(serve_limit, Path(folder)))
        ours = f"GET /api/v1/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        theirs = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        outcome = compare_in_turns(
            "authed JSON endpoint",
            lambda: measure_rate(port, ours, seconds),
            lambda: measure_rate(empty, theirs, seconds),
            target=TARGET,
            better="more",
            unit="requests/s",
            rounds=ROUNDS,
        )
    return 0 if outcome.reached else 1


if __name__ == "__main__":
    raise SystemExit(main(read_amount(1.0, 0.1)))
