"""Find and remove metadata that cameras write into photos. Runs only inside the worker."""

import io
from collections.abc import Iterator
from typing import Any

import pikepdf
import PIL.Image
import PIL.JpegImagePlugin
from pikepdf import Array, Name, PdfError, Stream

_GPS_TAG = 0x8825
# Artist, copyright, camera owner, serial numbers of the camera and the lens.
_OWNER_TAGS = (0x013B, 0x8298, 0xA430, 0xA431, 0xA435)
_EXIF_TAG = 0x8769
_KEPT_MARKERS = frozenset(
    {0xE0, 0xE2, 0xEE}
)  # JFIF, ICC profile and Adobe color transform, which affect how the photo looks
_COMMENT_MARKER = 0xFE
_SCAN_MARKER, _END_MARKER = 0xDA, 0xD9


def is_photo(stream: Any) -> bool:
    """Return whether the stream is a JPEG, possibly with further filters."""
    return bool(stream.get("/Subtype") == Name.Image and _as_list(stream.get("/Filter"))[-1:] == [Name.DCTDecode])


def find_personal_data(stream: Any) -> list[str]:
    """Return the kinds of personal data in the EXIF metadata of the photo, as words for a message."""
    try:
        with PIL.Image.open(io.BytesIO(_read_jpeg(stream)), formats=("JPEG",)) as image:
            exif = image.getexif()
            tags = {**exif, **exif.get_ifd(_EXIF_TAG)}
            details = ["the location where it was taken"] if exif.get_ifd(_GPS_TAG) else []
    except (OSError, PdfError, ValueError, SyntaxError, KeyError, TypeError, PIL.Image.DecompressionBombError):
        return []
    return [*details, "the owner of the camera"] if any(tags.get(tag) for tag in _OWNER_TAGS) else details


def strip_metadata(stream: Any) -> bool:
    """Remove all metadata from a photo without recompressing it; return whether there was any. Raises PdfError if the
    stream cannot be decoded."""
    raw = _read_jpeg(stream)
    kept = b"".join(_iterate_picture_parts(raw))
    if len(kept) == len(raw):
        return False
    stream.write(kept, filter=Name.DCTDecode, decode_parms=_filter_parameters(stream)[-1])
    return True


def _read_jpeg(stream: Any) -> bytes:
    """Return the JPEG without outer filters: ReportLab encodes it as ASCII85, other programs compress all streams."""
    raw: bytes = stream.read_raw_bytes()
    packing = _as_list(stream.get("/Filter"))[:-1]
    if not packing:
        return raw
    with pikepdf.new() as scratch:
        return Stream(
            scratch, raw, Filter=Array(packing), DecodeParms=Array(_filter_parameters(stream)[:-1])
        ).read_bytes()


def _filter_parameters(stream: Any) -> list[Any]:
    """Return the parameters of each filter, or None."""
    count = len(_as_list(stream.get("/Filter")))
    return [*_as_list(stream.get("/DecodeParms")), *[None] * count][:count]


def _as_list(value: Any) -> list[Any]:
    """Return ``value`` as a list; a PDF can store a single filter without an array."""
    return [] if value is None else list(value) if isinstance(value, Array) else [value]


def _iterate_picture_parts(raw: bytes) -> Iterator[bytes]:
    """Yield the segments of a JPEG that the image needs. After a malformed segment, yield the rest unchanged."""
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
