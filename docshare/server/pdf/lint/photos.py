"""What cameras write into photos: where, when, with whose camera. Runs inside the worker only."""

import io
from collections.abc import Iterator
from typing import Any

import PIL.Image
import PIL.JpegImagePlugin
from pikepdf import Array, Name, PdfError

_GPS = 0x8825
# Artist, copyright, camera owner, serial numbers of camera and lens.
_PERSONAL = (0x013B, 0x8298, 0xA430, 0xA431, 0xA435)
_EXIF = 0x8769
_KEPT = frozenset({0xE0, 0xE2, 0xEE})  # JFIF, colour profile and Adobe's transform, which change how it looks
_COMMENT = 0xFE
_SCAN, _END = 0xDA, 0xD9


def is_photo(stream: Any) -> bool:
    """Whether the stream is a JPEG as a camera made it."""
    kind = stream.get("/Filter")
    if isinstance(kind, Array) and len(kind) == 1:
        kind = kind[0]
    return bool(stream.get("/Subtype") == Name.Image and kind == Name.DCTDecode)


def told_by(stream: Any) -> list[str]:
    """What the photo tells besides its picture: ``the place``, ``the owner of the camera``."""
    try:
        with PIL.Image.open(io.BytesIO(stream.read_raw_bytes()), formats=("JPEG",)) as image:
            exif = image.getexif()
            tags = {**exif, **exif.get_ifd(_EXIF)}
            told = ["the place where it was taken"] if exif.get_ifd(_GPS) else []
    except (OSError, PdfError, ValueError, SyntaxError, KeyError, TypeError, PIL.Image.DecompressionBombError):
        return []
    return [*told, "whose camera it was"] if any(tags.get(tag) for tag in _PERSONAL) else told


def strip(stream: Any) -> bool:
    """Take everything out of a photo that is not its picture, which stays as it is to the bit; says if there was
    anything."""
    raw = stream.read_raw_bytes()
    kept = b"".join(_picture(raw))
    if len(kept) == len(raw):
        return False
    stream.write(kept, filter=stream.get("/Filter"), decode_parms=stream.get("/DecodeParms"))
    return True


def _picture(raw: bytes) -> Iterator[bytes]:
    """The parts of a JPEG that are its picture. From the first that is not as it should be, all of the rest."""
    if not raw.startswith(b"\xff\xd8"):
        yield raw
        return
    yield raw[:2]
    at = 2
    while raw[at : at + 1] == b"\xff" and at + 4 <= len(raw) and raw[at + 1] not in (_SCAN, _END):
        marker = raw[at + 1]
        size = 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
        if marker != _COMMENT and (not 0xE0 <= marker <= 0xEF or marker in _KEPT):
            yield raw[at : at + size]
        at += size
    yield raw[at:]
