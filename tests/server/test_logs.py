"""Log lines: complete, in order, errors immediately, and requests with a short delay."""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from docshare.server.logs import BufferedHandler, JsonFormatter
from tests.http.harness import wait_until


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    yield source, sink
    os.close(source)
    os.close(sink)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    created = logging.Logger("test", logging.INFO)
    yield created
    for handler in created.handlers:
        handler.close()


def read_available(source: int) -> str:
    try:
        return os.read(source, 1 << 20).decode()
    except BlockingIOError:
        return ""


def test_a_request_line_is_written_after_a_short_delay(pipe: tuple[int, int], logger: logging.Logger) -> None:
    logger.addHandler(BufferedHandler(pipe[1]))
    logger.info("request")
    received: list[str] = []
    assert wait_until(lambda: received.append(read_available(pipe[0])) or "".join(received) == "request\n")


def test_an_error_is_written_immediately_after_buffered_lines(pipe: tuple[int, int], logger: logging.Logger) -> None:
    logger.addHandler(BufferedHandler(pipe[1]))
    logger.info("first")
    logger.error("second")
    assert read_available(pipe[0]) == "first\nsecond\n"


def test_lines_of_many_threads_are_complete(pipe: tuple[int, int], logger: logging.Logger) -> None:
    handler = BufferedHandler(pipe[1])
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    threads = [
        threading.Thread(target=lambda: [logger.info("a \udc80 %s", "x" * 50) for _ in range(40)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    handler.flush()
    lines = [json.loads(line) for line in read_available(pipe[0]).splitlines()]
    assert [line["level"] for line in lines] == ["info"] * 160


def test_a_closed_log_does_not_raise(logger: logging.Logger) -> None:
    source, sink = os.pipe()
    os.close(source)
    logger.addHandler(BufferedHandler(sink))
    logger.error("into the void")
    os.close(sink)


def test_buffered_lines_are_written_at_exit() -> None:
    program = "from docshare.server import logs; logs.configure_logging('text'); logs.LOGGER.info('the end')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.endswith(" info    the end\n")
