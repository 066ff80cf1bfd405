"""Compare an authenticated JSON endpoint with an empty Flask route.

``python -m tests.benchmarks.json_endpoint [SECONDS]``. The same waitress with the same number of threads serves both,
each in a separate process, to the same client with 16 persistent connections. ``GET /api/v1/user`` looks up the key,
checks the scope, counts the files, applies the rate limit and writes a log line; the empty route does nothing.
"""

import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

from flask import Flask

from tests.benchmarks.comparison import compare_in_turns, read_amount
from tests.benchmarks.servers import measure_rate, serve_app, serve_product, start_process

TARGET = 0.45
ROUNDS = 15  # many short rounds, so that both run under the same conditions


def serve_limit(folder: Path, pipe: Connection) -> None:
    """Serve an empty route."""
    app = Flask("limit", root_path=str(folder))
    app.add_url_rule("/", view_func=lambda: "")
    serve_app(app, pipe)


def main(seconds: float) -> int:
    """Measure, print the results, and return the exit code."""
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
