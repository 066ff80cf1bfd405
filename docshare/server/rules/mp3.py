"""Find the audio frames of an MP3 file, the only part of an upload that is kept.

Tags (ID3, APE, Lyrics3), their pictures, and all other bytes between frames are dropped.
"""

import mmap
from collections.abc import Iterator

_BITRATES = {  # kbit/s of layer III in MPEG 1, and in MPEG 2 and 2.5; fields 0 (free) and 15 are not supported
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0),
}
_SAMPLE_RATES = (44_100, 48_000, 32_000, 0)  # Hz of MPEG 1
_RATE_DIVISORS = {3: 1, 2: 2, 0: 4}  # version field -> divisor of the rate; 1 is not a version
_LAYER_III = 1
_HEADER_BYTES = 4
_TAG_BYTES = 10  # of the header of an ID3v2 tag
_FOOTER_FLAG = 0x10  # flag of an ID3v2 tag that ends with a copy of its header
_MAX_JUNK_BYTES = 64 * 1024  # bytes between two frames, so that searching a file without frames ends early

ByteSource = bytes | mmap.mmap


def find_frames(data: ByteSource) -> Iterator[tuple[int, int]]:
    """Return start and end of every frame of MPEG audio layer III in ``data``, in order.

    A frame is accepted if it begins where the frame before it ended, or if another one of its format follows it.
    """
    at = due = _skip_tags(data)
    running = False
    while at >= 0 and at - due <= _MAX_JUNK_BYTES:
        end = at + _frame_length(data, at)
        if at < end <= len(data) and (running or _is_same_format(data, at, end)):
            yield at, end
            at = due = end
            running = True
        else:
            at = data.find(b"\xff", at + 1)
            running = False


def _skip_tags(data: ByteSource) -> int:
    """Return the offset of the first byte after the leading ID3v2 tags."""
    at = 0
    while data[at : at + 3] == b"ID3" and len(data) >= at + _TAG_BYTES:
        size = 0
        for byte in data[at + 6 : at + _TAG_BYTES]:
            size = size << 7 | byte & 0x7F
        at += size + _TAG_BYTES * (2 if data[at + 5] & _FOOTER_FLAG else 1)
    return at


def _frame_length(data: ByteSource, at: int) -> int:
    """Return the length of the frame whose header is at ``at``; 0 if there is none."""
    if len(data) < at + _HEADER_BYTES or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return 0
    version, layer = data[at + 1] >> 3 & 3, data[at + 1] >> 1 & 3
    if version not in _RATE_DIVISORS or layer != _LAYER_III:
        return 0
    first = version == 3
    bits, rate = (
        1000 * _BITRATES[first][data[at + 2] >> 4],
        _SAMPLE_RATES[data[at + 2] >> 2 & 3] // _RATE_DIVISORS[version],
    )
    if not bits or not rate:
        return 0
    padding = data[at + 2] >> 1 & 1
    return (144 if first else 72) * bits // rate + padding


def _is_same_format(data: ByteSource, one: int, two: int) -> bool:
    """Return whether frames of the same version, layer and rate begin at ``one`` and ``two``."""
    same = data[one + 1 : one + 2] == data[two + 1 : two + 2]
    return same and _frame_length(data, two) > 0 and data[one + 2] & 0x0C == data[two + 2] & 0x0C
