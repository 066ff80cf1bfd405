"""A body that is sent in one piece, as ``body.MultipartFile`` is sent: with its length known, and again if need be."""

from collections.abc import Iterator


class WholeBody:
    """The bytes ``raw``. ``started`` and ``exhausted``: whether any of it, and all of it, was handed over."""

    content_type: str

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.started = self.exhausted = False

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[bytes]:
        self.started = self.exhausted = True
        yield self._raw
