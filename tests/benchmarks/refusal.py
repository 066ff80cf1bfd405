"""Measure how much of a 200 MB upload with an invalid key is sent before it is rejected.

``python -m tests.benchmarks.refusal``: the sender writes small blocks through a small buffer as fast as possible,
and checks for a response before each block.
"""

import select
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from docshare.contract.plans import MB
from tests.benchmarks.comparison import check_bound, read_amount
from tests.benchmarks.servers import serve_product, start_process

BODY = 200 * MB
BLOCK = bytes(16 * 1024)
BUFFER = 64 * 1024
ROUNDS = 20


def measure_rejection(port: int) -> tuple[int, float]:
    """Return the number of body bytes sent before the response, and its delay in milliseconds."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        sock.connect(("127.0.0.1", port))
        head = (
            "POST /api/v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ds_live_nobody\r\n"
            f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {BODY}\r\n\r\n"
        )
        begun = time.perf_counter()
        sock.sendall(head.encode())
        sent = 0
        while sent < BODY and not select.select([sock], [], [], 0)[0]:
            sent += sock.send(BLOCK)
        answer = sock.recv(65536)
        duration_ms = (time.perf_counter() - begun) * 1000
    assert answer.startswith(b"HTTP/1.1 401"), answer[:100]
    return sent, duration_ms


def main() -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port, _ = stack.enter_context(start_process(serve_product, Path(folder)))
        results = [measure_rejection(port) for _ in range(read_amount(ROUNDS, 1))]
    print(f"slowest rejection: {max(duration_ms for _, duration_ms in results):.1f} ms")
    reached = check_bound("body sent before the rejection, most", max(sent for sent, _ in results) / MB, 1, "MB")
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
