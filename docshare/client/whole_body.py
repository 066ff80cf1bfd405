"""A request body that is sent in one piece, with the interface of ``body.MultipartFile``."""

from collections.abc import Iterator


class WholeBody:
    """The bytes ``raw``. ``started`` and ``exhausted``: whether some of it, and all of it, was sent."""

    content_type: str

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.started = self.exhausted = False

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[bytes]:
        self.started = self.exhausted = True
        yield self._raw
