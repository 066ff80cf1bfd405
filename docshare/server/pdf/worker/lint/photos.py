"""What cameras write into photos: where, when, with whose camera. Runs inside the worker only."""

import io
from collections.abc import Iterator
from typing import Any

import pikepdf
import PIL.Image
import PIL.JpegImagePlugin
from pikepdf import Array, Name, PdfError, Stream

_GPS_TAG = 0x8825
# Artist, copyright, camera owner, serial numbers of camera and lens.
_OWNER_TAGS = (0x013B, 0x8298, 0xA430, 0xA431, 0xA435)
_EXIF_TAG = 0x8769
_KEPT_MARKERS = frozenset({0xE0, 0xE2, 0xEE})  # JFIF, colour profile and Adobe's transform, which change how it looks
_COMMENT_MARKER = 0xFE
_SCAN_MARKER, _END_MARKER = 0xDA, 0xD9


def is_photo(stream: Any) -> bool:
    """Whether the stream is a JPEG as a camera made it, packed once more or not."""
    return bool(stream.get("/Subtype") == Name.Image and _as_list(stream.get("/Filter"))[-1:] == [Name.DCTDecode])


def find_personal_data(stream: Any) -> list[str]:
    """What the photo tells besides its picture: ``the place``, ``the owner of the camera``."""
    try:
        with PIL.Image.open(io.BytesIO(_read_jpeg(stream)), formats=("JPEG",)) as image:
            exif = image.getexif()
            tags = {**exif, **exif.get_ifd(_EXIF_TAG)}
            told = ["the place where it was taken"] if exif.get_ifd(_GPS_TAG) else []
    except (OSError, PdfError, ValueError, SyntaxError, KeyError, TypeError, PIL.Image.DecompressionBombError):
        return []
    return [*told, "whose camera it was"] if any(tags.get(tag) for tag in _OWNER_TAGS) else told


def strip_metadata(stream: Any) -> bool:
    """Take everything out of a photo that is not its picture, which stays as it is to the bit; says if there was
    anything. Raises PdfError for one that cannot be unpacked."""
    raw = _read_jpeg(stream)
    kept = b"".join(_iterate_picture_parts(raw))
    if len(kept) == len(raw):
        return False
    stream.write(kept, filter=Name.DCTDecode, decode_parms=_filter_parameters(stream)[-1])
    return True


def _read_jpeg(stream: Any) -> bytes:
    """The photo as the camera made it: ReportLab writes it as text, other programs pack all streams."""
    raw: bytes = stream.read_raw_bytes()
    packing = _as_list(stream.get("/Filter"))[:-1]
    if not packing:
        return raw
    with pikepdf.new() as scratch:
        return Stream(
            scratch, raw, Filter=Array(packing), DecodeParms=Array(_filter_parameters(stream)[:-1])
        ).read_bytes()


def _filter_parameters(stream: Any) -> list[Any]:
    """What is told to each of the filters."""
    count = len(_as_list(stream.get("/Filter")))
    return [*_as_list(stream.get("/DecodeParms")), *[None] * count][:count]


def _as_list(value: Any) -> list[Any]:
    """One filter may stand without a list."""
    return [] if value is None else list(value) if isinstance(value, Array) else [value]


def _iterate_picture_parts(raw: bytes) -> Iterator[bytes]:
    """The parts of a JPEG that are its picture. From the first that is not as it should be, all of the rest."""
    if not raw.startswith(b"\xff\xd8"):
        yield raw
        return
    yield raw[:2]
    at = 2
    while raw[at : at + 1] == b"\xff" and at + 4 <= len(raw) and raw[at + 1] not in (_SCAN_MARKER, _END_MARKER):
        marker = raw[at + 1]
        size = 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
        if marker != _COMMENT_MARKER and (not 0xE0 <= marker <= 0xEF or marker in _KEPT_MARKERS):
            yield raw[at : at + size]
        at += size
    yield raw[at:]
