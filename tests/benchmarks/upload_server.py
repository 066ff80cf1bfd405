"""Compare a 2 GB upload to the bundled listener with a bare socket sink.

    python -m tests.benchmarks.upload_server [BYTES [DIRECTORY]]

The sink reads, hashes, writes and fsyncs in one thread; the listener does the same behind HTTP, multipart and a worker,
while another client sends a small request every 10 ms. Both run in separate processes and receive the same bytes. The
listener also encrypts them; what the sink does with encryption is printed beside it.
"""

import hashlib
import http.client
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from docshare.server.http.listener import Server, bind_sockets, make_server
from docshare.server.http.verdicts import Acceptance, Refusal, RequestHead
from docshare.server.store.blobs import FolderStore
from docshare.server.store.segments import SegmentWriter
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount

GB = 1024**3
RECEIVE = 256 * 1024
BOUNDARY = "benchmark-7f3a9c"
BEFORE = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.pdf"\r\n'
    "Content-Type: application/pdf\r\n\r\n"
).encode()
AFTER = f"\r\n--{BOUNDARY}--\r\n".encode()


def serve_product(folder: Path, pipe: Connection) -> None:
    """Run the listener with an application that stores the blob, returns its hash and deletes it."""
    blobs = FolderStore(folder / "blobs", folder / "tmp", lambda: os.urandom(16).hex(), encrypt=os.urandom)

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = b"pong"
        if "docshare.form" in environ:
            part = environ["docshare.form"].files["file"].part
            blobs.delete(blobs.store(part))
            body = part.sha256().encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def judge(head: RequestHead) -> Acceptance:
        return Acceptance(max_body=2 * GB + RECEIVE, stores_files=head.path == "/files")

    def render_error(status: int, path: str | None, detail: str) -> Refusal:
        return Refusal(status, body=detail.encode())

    server: Server = make_server(
        app,
        bind_sockets("127.0.0.1", 0),
        judge=judge,
        create_partial=blobs.create_partial,
        render_error=render_error,
        threads=8,
    )
    pipe.send(server.port)
    server.run()


def serve_encrypting_limit(folder: Path, pipe: Connection) -> None:
    """Run the minimal durable upload that also encrypts."""
    serve_limit(folder, pipe, encrypt=True)


def serve_limit(folder: Path, pipe: Connection, *, encrypt: bool = False) -> None:
    """Run the minimal durable upload: read 8 bytes of length, then hash, write and fsync that many bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pipe.send(listener.getsockname()[1])
        block = memoryview(bytearray(RECEIVE))
        while True:
            connection, _ = listener.accept()
            with connection, (folder / "sink").open("wb", buffering=0) as file:
                left = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
                digest = hashlib.sha256()
                writer = SegmentWriter(file, bytes(32), bytes(32)) if encrypt else file
                while left:
                    count = connection.recv_into(block)
                    digest.update(block[:count])
                    writer.write(block[:count])
                    left -= count
                if isinstance(writer, SegmentWriter):
                    writer.finish()
                os.fsync(file.fileno())
                connection.sendall(digest.hexdigest().encode())
            (folder / "sink").unlink()


@contextmanager
def start_target_process(target: Any, folder: Path) -> Iterator[tuple[int, int]]:
    """Run ``target`` in a new process; yield its port and its process id."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=target, args=(folder, theirs), daemon=True)
    child.start()
    theirs.close()  # so that recv fails if the child does
    try:
        yield ours.recv(), child.pid or 0
    finally:
        child.terminate()
        child.join()


def send_upload(port: int, head: bytes, source: Path, tail: bytes) -> bytes:
    """Send head, file and tail; return the last 64 bytes of the response, which are the hash."""
    with socket.create_connection(("127.0.0.1", port)) as connection, source.open("rb") as file:
        connection.sendall(head)
        connection.sendfile(file)
        connection.sendall(tail)
        answer = b""
        while block := connection.recv(65536):
            answer += block
    return answer[-64:]


class Pinger(threading.Thread):
    """A thread that sends a small request every 10 ms on one connection while times are recorded."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._running = threading.Event()
        self._times: list[float] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def run(self) -> None:
        while self._running.wait():
            begun = time.perf_counter()
            self._connection.request("GET", "/ping")
            self._connection.getresponse().read()
            self._times.append((time.perf_counter() - begun) * 1000)
            time.sleep(0.01)

    @contextmanager
    def record_into(self, times: list[float]) -> Iterator[None]:
        """Append the milliseconds of each response to ``times`` during the block."""
        self._times = times
        self._running.set()
        yield
        self._running.clear()


def compute_percentile_99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def read_peak_megabytes(pid: int) -> float:
    """Return the peak memory of the process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def read_written_bytes(pid: int) -> int:
    """Return the number of bytes that the process has passed to write calls."""
    return int(Path(f"/proc/{pid}/io").read_text().split("wchar:")[1].split()[0])


def make_source(source: Path, size: int) -> bytes:
    """Fill ``source`` with ``size`` random bytes; return their hash in the format of the servers."""
    digest = hashlib.sha256()
    with source.open("wb") as file:
        for left in range(size, 0, -RECEIVE):
            file.write(block := os.urandom(min(left, RECEIVE)))
            digest.update(block)
    return digest.hexdigest().encode()


def measure(folder: Path, size: int) -> bool:
    source = folder / "source"
    expected = make_source(source, size)
    head = (
        f"POST /files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(BEFORE) + size + len(AFTER)}\r\n\r\n"
    ).encode() + BEFORE

    def measure_speed(port: int, before: bytes, after: bytes) -> float:
        begun = time.perf_counter()
        assert send_upload(port, before, source, after) == expected
        return size / (time.perf_counter() - begun) / 1e6

    with (
        start_target_process(serve_product, folder) as (port, pid),
        start_target_process(serve_limit, folder) as (sink_port, _),
        start_target_process(serve_encrypting_limit, folder) as (encrypting_port, _),
    ):
        pinger = Pinger(port)
        pinger.start()
        copies: list[float] = []
        during_product: list[float] = []
        during_limit: list[float] = []

        def measure_product() -> float:
            written = read_written_bytes(pid)
            with pinger.record_into(during_product):
                rate = measure_speed(port, head, AFTER)
            copies.append((read_written_bytes(pid) - written) / size)
            return rate

        def measure_limit() -> float:
            with pinger.record_into(during_limit):
                return measure_speed(sink_port, size.to_bytes(8, "big"), b"")

        outcome = compare_in_turns("upload", measure_product, measure_limit, target=0.60, better="more", unit="MB/s")
        encrypting = measure_speed(encrypting_port, size.to_bytes(8, "big"), b"")
        print(f"(a sink that encrypts as well: {encrypting:.3g} MB/s)")
        print(f"(requests to the idle server while the sink works, p99: {compute_percentile_99(during_limit):.3g} ms)")
        return all(
            [
                outcome.reached,
                check_bound("disk copies", max(copies), 1.01, "x"),
                check_bound("server memory, peak", read_peak_megabytes(pid), 150, "MB"),
                check_bound(
                    f"other requests, p99 of {len(during_product)}", compute_percentile_99(during_product), 30, "ms"
                ),
            ]
        )


def main() -> int:
    size = read_amount(2 * GB, 10 << 20)
    # If /tmp is in memory, pass a directory on a disk to measure the disk.
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        return 0 if measure(Path(folder), size) else 1


if __name__ == "__main__":
    sys.exit(main())
