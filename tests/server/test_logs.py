"""Log lines: whole, in order, errors at once, and requests a moment later."""

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
    made = logging.Logger("test", logging.INFO)
    yield made
    for handler in made.handlers:
        handler.close()


def read_available(source: int) -> str:
    try:
        return os.read(source, 1 << 20).decode()
    except BlockingIOError:
        return ""


def test_a_line_of_a_request_is_written_a_moment_later(pipe: tuple[int, int], logger: logging.Logger) -> None:
    logger.addHandler(BufferedHandler(pipe[1]))
    logger.info("request")
    seen: list[str] = []
    assert wait_until(lambda: seen.append(read_available(pipe[0])) or "".join(seen) == "request\n")


def test_an_error_is_written_at_once_after_what_waits(pipe: tuple[int, int], logger: logging.Logger) -> None:
    logger.addHandler(BufferedHandler(pipe[1]))
    logger.info("first")
    logger.error("second")
    assert read_available(pipe[0]) == "first\nsecond\n"


def test_lines_of_many_threads_are_whole(pipe: tuple[int, int], logger: logging.Logger) -> None:
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


def test_a_log_that_nobody_reads_stops_nothing(logger: logging.Logger) -> None:
    source, sink = os.pipe()
    os.close(source)
    logger.addHandler(BufferedHandler(sink))
    logger.error("into the void")
    os.close(sink)


def test_the_last_lines_are_written_when_the_process_ends() -> None:
    program = "from docshare.server import logs; logs.configure_logging('text'); logs.LOGGER.info('the end')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.endswith(" info    the end\n")
