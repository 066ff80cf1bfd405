"""Compare the upload of the client with ``socket.sendfile`` of the same bytes to the same sink.

python -m tests.benchmarks.upload_client [BYTES]
"""

import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from docshare.client import Client
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount
from tests.support.memory import measure_peak_megabytes
from tests.support.servers.upload_sink import upload_sink

SIZE = 500 * 1024 * 1024
TOKEN = "ds_live_" + "b" * 32


def serve_sink(pipe: Connection) -> None:
    """Run the sink in a separate process, so that it does not slow down the sender."""
    with upload_sink() as port:
        pipe.send(port)
        pipe.recv()


@contextmanager
def start_sink_process() -> Iterator[int]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=serve_sink, args=(theirs,), daemon=True)
    child.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        child.join()


def measure_speed(send: Callable[[], None], size: int) -> float:
    begun = time.perf_counter()
    send()
    return size / (time.perf_counter() - begun) / 1e6


def upload_by_client(port: int, source: Path, *, digest: bool) -> None:
    with Client(f"http://127.0.0.1:{port}", TOKEN) as client, source.open("rb", buffering=0) as file:
        client.files.upload(file, "big.pdf", digest=digest, progress=lambda sent: None)


def upload_by_sendfile(port: int, source: Path) -> None:
    head = f"POST /files HTTP/1.1\r\nHost: localhost\r\nContent-Length: {source.stat().st_size}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port)) as connection, source.open("rb") as file:
        connection.sendall(head)
        connection.sendfile(file)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def measure(folder: Path, size: int) -> bool:
    source = folder / "big.pdf"
    with source.open("wb") as file:
        for _ in range(0, size, 1 << 20):
            file.write(os.urandom(1 << 20))
    size = source.stat().st_size
    with start_sink_process() as port:
        upload_by_client(port, source, digest=False)  # loads requests
        outcome = compare_in_turns(
            "upload by the client",
            lambda: measure_speed(lambda: upload_by_client(port, source, digest=False), size),
            lambda: measure_speed(lambda: upload_by_sendfile(port, source), size),
            target=0.90, better="more", unit="MB/s", rounds=9,
        )  # fmt: skip
        hashed = measure_speed(lambda: upload_by_client(port, source, digest=True), size)
        print(f"with SHA-256: {hashed:.4g} MB/s")
        home = {f"DOCSHARE_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
        env = {**os.environ, **home, "DOCSHARE_URL": f"http://127.0.0.1:{port}", "DOCSHARE_TOKEN": TOKEN}
        _, peak = measure_peak_megabytes(
            ["upload", str(source), "--no-check", "--manifest", str(folder / "ledger")], env
        )
    return outcome.reached & check_bound("memory of docshare upload, peak", peak, 60, "MB")


def main() -> int:
    size = read_amount(SIZE, 1 << 20)
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Path(folder), size) else 1


if __name__ == "__main__":
    sys.exit(main())
