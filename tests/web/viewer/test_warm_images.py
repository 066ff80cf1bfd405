"""A cached page image is sent with few system calls, because a thread under load waits after each of them."""

import io
import os
from collections.abc import Callable

import pytest

from docshare.server.store import stored_bytes
from tests.support.people.cast import World


class RecordedFile(io.FileIO):
    """A file that records the sizes of its reads."""

    sizes: list[int]

    def read(self, size: int | None = -1, /) -> bytes:
        self.sizes.append(-1 if size is None else size)
        return super().read(size) or b""


def test_a_cached_page_image_in_clear_is_read_at_once(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(encryption=False)
    path = f"/{world.pia.upload()['shortId']}/pages/1-800.jpg?v=1"
    image = world.http.get(path)
    assert image.status_code == 200
    peeks: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, *where: peeks.append(file) or pread(file, *where))
    monkeypatch.setattr(RecordedFile, "sizes", [], raising=False)
    monkeypatch.setattr(stored_bytes, "open", lambda name, mode, buffering: RecordedFile(name, mode), raising=False)
    assert world.http.get(path).data == image.data
    assert RecordedFile.sizes == [len(image.data)]
    assert peeks == []
