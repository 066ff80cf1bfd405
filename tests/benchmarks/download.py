"""Compare the download of an encrypted 500 MB document to ``sendfile`` of the same bytes in clear.

    python -m tests.benchmarks.download [BYTES [DIRECTORY]]

The product and a bare socket server, which only calls ``os.sendfile``, run in separate processes and send the same
document to the same client in turns. A document of four times the size is then uploaded and downloaded, and the peak
memory of the product is checked.
"""

import hashlib
import os
import socket
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from docshare.contract.plans import MB
from tests.benchmarks.comparison import check_bound, compare_in_turns, read_amount
from tests.benchmarks.upload_server import read_peak_megabytes, start_target_process
from tests.support.servers.server_process import ServerProcess, run_server
from tests.torture.largest_upload import send_file
from tests.torture.proxies import write_document

_RECEIVE_BYTES = 1 << 20
_HEADER_END = b"\r\n\r\n"
_SOURCE = "source.pdf"


def serve_limit(folder: Path, pipe: Connection) -> None:
    """Send the document for any request with ``os.sendfile``, one connection at a time."""
    with socket.create_server(("127.0.0.1", 0)) as listener, (folder / _SOURCE).open("rb") as source:
        pipe.send(listener.getsockname()[1])
        size = os.fstat(source.fileno()).st_size
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(_RECEIVE_BYTES)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
                done = 0
                while done < size:
                    done += os.sendfile(connection.fileno(), source.fileno(), done, size - done)


def download(port: int, request: bytes, size: int, sha256: str | None = None) -> float:
    """Send ``request`` and receive a body of ``size`` bytes; return the MB per second. ``sha256``: of the body."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_RECEIVE_BYTES))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        begun = time.perf_counter()
        connection.sendall(request)
        head = b""
        while _HEADER_END not in head:
            head += connection.recv(_RECEIVE_BYTES)
        assert head.startswith(b"HTTP/1.1 200"), head[:200]
        block = memoryview(head)[head.index(_HEADER_END) + len(_HEADER_END) :]
        done = 0
        while True:
            done += len(block)
            if sha256 is not None:
                digest.update(block)
            if done >= size:
                break
            count = connection.recv_into(buffer)
            assert count, f"the response ended after {done} of {size} bytes"
            block = buffer[:count]
        assert done == size
        assert sha256 in (None, digest.hexdigest())
        return size / (time.perf_counter() - begun) / 1e6


def build_request(server: ServerProcess, uuid: object) -> bytes:
    """Return a request for the stored bytes of a document."""
    return (
        f"GET /api/v1/files/{uuid}/content HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    ).encode()


def measure(folder: Path, size: int) -> bool:
    """Print all measurements; return whether the targets are reached."""
    source = folder / _SOURCE
    sha256 = write_document(source, size)
    with (
        run_server(folder / "product", DOCSHARE_RATE_LIMIT="1000000") as server,
        start_target_process(serve_limit, folder) as (limit_port, _),
    ):
        port = urlsplit(server.url).port or 0
        status, made = send_file(server, source, server.token)
        assert status == 200, made
        request = build_request(server, made["uuid"])
        download(port, request, size, sha256)
        reached = compare_in_turns(
            "download", lambda: download(port, request, size), lambda: download(limit_port, b"GET", size),
            target=0.6, better="more", unit="MB/s",
        ).reached  # fmt: skip
        largest = folder / "largest.pdf"
        sha256 = write_document(largest, 4 * size)
        status, made = send_file(server, largest, server.token)
        assert status == 200, made
        download(port, build_request(server, made["uuid"]), 4 * size, sha256)
        peak = read_peak_megabytes(server.process.pid)
        return check_bound(f"memory of the server, peak, with {4 * size / 1e6:.0f} MB", peak, 150, "MB") and reached


def main() -> int:
    """Measure, and return the exit code."""
    size = read_amount(500 * MB, MB)
    # If /tmp is in memory, pass a directory on a disk to measure the disk.
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        return 0 if measure(Path(folder), size) else 1


if __name__ == "__main__":
    sys.exit(main())
