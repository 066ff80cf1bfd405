"""A file as the body of a response: it is read once, and no buffer is kept for a slow reader."""

import gc
import io
import os
from collections.abc import Callable
from typing import Any

import pytest

from docshare.server.http.file_body import FileBody
from tests.http.harness import MB, ListenerHarness, RawConnection, build_request, wait_until

BLOCK_BYTES = 256 * 1024
CONTENT = os.urandom(12 * MB + 12_345)


class CountedFile(io.BytesIO):
    """A file that counts the bytes read from it."""

    read_bytes = 0

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer)
        self.read_bytes += count
        return count


@pytest.fixture
def sent_file() -> CountedFile:
    return CountedFile(CONTENT)


@pytest.fixture
def sender(start_listener: Callable[..., ListenerHarness], sent_file: CountedFile) -> ListenerHarness:
    """Return a listener that sends ``sent_file``."""
    rig = start_listener()
    rig.file = sent_file
    return rig


def count_held_bytes() -> int:
    return sum(len(body._buffer or b"") for body in gc.get_objects() if isinstance(body, FileBody))


def test_a_file_arrives_whole_and_is_closed(sender: ListenerHarness, sent_file: CountedFile) -> None:
    with RawConnection(sender.port) as wire:
        wire.send(build_request("GET", "/file"))
        assert wire.read_response().body == CONTENT
        assert wait_until(lambda: sent_file.closed)
        assert count_held_bytes() == 0


def test_a_slow_reader_holds_no_buffer_and_receives_everything(sender: ListenerHarness, sent_file: CountedFile) -> None:
    with RawConnection(sender.port, receive=4096) as wire:
        wire.send(build_request("GET", "/file"))
        assert wait_until(lambda: 0 < sent_file.read_bytes < len(CONTENT) and count_held_bytes() == 0)
        assert wire.read_response().body == CONTENT


def test_what_was_not_sent_is_not_read_again(sent_file: CountedFile) -> None:
    body = FileBody(sent_file)
    assert body.prepare(len(CONTENT)) == len(CONTENT)
    received = bytearray()
    while body.remain:
        block = body.get(100_000)
        assert 0 < len(block) <= 100_000
        received += block[:70_001]
        body.skip(len(block[:70_001]), True)
    assert bytes(received) == CONTENT
    assert sent_file.read_bytes == len(CONTENT)


def test_a_released_buffer_is_read_again_from_the_right_place(sent_file: CountedFile) -> None:
    body = FileBody(sent_file)
    body.prepare(300_000)  # less than the file has
    received = bytearray()
    while body.remain:
        block = body.get(BLOCK_BYTES)
        received += block[:99_999]
        body.skip(len(block[:99_999]), True)
        body.release()
        assert count_held_bytes() == 0
    assert bytes(received) == CONTENT[:300_000]
