"""An uploaded image, decoded and encoded anew: what comes out is pixels and nothing else. Runs inside the worker only.

No byte of the upload is served, so no metadata, script or second file can hide in it.
"""

import io
import struct
from typing import Any, BinaryIO

import PIL.Image
import PIL.ImageCms
import PIL.ImageOps
import PIL.JpegImagePlugin

from docshare.server.pdf.worker.documents import PdfRefused

MAX_PIXELS = 40_000_000
MAX_SIDE = 4096  # larger ones are scaled down; no page shows more
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
# What Pillow's decoders raise on broken files; whatever else happens ends the worker.
_DECODE_ERRORS = (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, struct.error)
_HEAD_BYTES = 1024  # bytes in which a WebP file says how it is compressed


def reencode_image(file: BinaryIO, media_type: str) -> bytes:
    """The image in ``file``, which begins like one of ``media_type``, as a new file of that type: upright, in sRGB, at
    most ``LONGEST_SIDE`` pixels a side, without metadata.

    Raises Refused: ``broken`` (also truncated), ``pixels`` (more than ``MAX_PIXELS``, judged before
    anything is decoded) and ``animated``.
    """
    try:
        with PIL.Image.open(file, formats=(_FORMATS[media_type],)) as opened:
            _require_still_image(opened)
            encoding = _choose_encoding(opened, file)
            image = _convert_to_scalable(opened)
            image.thumbnail((MAX_SIDE, MAX_SIDE))
            return _encode(_convert_to_srgb(PIL.ImageOps.exif_transpose(image)), encoding)
    except PIL.Image.DecompressionBombError as error:
        raise PdfRefused("pixels") from error
    except _DECODE_ERRORS as error:
        raise PdfRefused("broken") from error


def _require_still_image(image: PIL.Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise PdfRefused("pixels")
    # A JPEG may carry a preview as its second picture, as phones write it: the first one is meant.
    if image.format != "MPO" and getattr(image, "is_animated", False):
        raise PdfRefused("animated")


def _choose_encoding(image: PIL.Image.Image, file: BinaryIO) -> dict[str, Any]:
    """How to write the image again, as near to what was sent as can be."""
    if image.format == "PNG":
        return {"format": "PNG"}
    if image.format == "WEBP":
        file.seek(0)
        lossless = b"VP8L" in file.read(_HEAD_BYTES)
        return {"format": "WEBP", "lossless": lossless, "quality": 25 if lossless else 80, "method": 1}
    assert isinstance(image, PIL.JpegImagePlugin.JpegImageFile)
    sampling = PIL.JpegImagePlugin.get_sampling(image)
    return {"format": "JPEG", "qtables": image.quantization, "subsampling": sampling, "optimize": True}


def _convert_to_scalable(image: PIL.Image.Image) -> PIL.Image.Image:
    """``image`` in a mode that can be scaled smoothly."""
    if image.mode.startswith("I"):  # grey of 16 bits
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if "transparency" in image.info or image.mode in ("LA", "PA", "La", "RGBa"):
        return image.convert("RGBA")
    plain = {"1": "L", "P": "RGB"}.get(image.mode)
    return image.convert(plain) if plain else image


def _convert_to_srgb(image: PIL.Image.Image) -> PIL.Image.Image:
    """``image`` as grey, RGB or RGBA, its colours those that its profile means."""
    profile = image.info.get("icc_profile")
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        target = "RGBA" if image.mode == "RGBA" else "RGB"
        try:
            source = PIL.ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = PIL.ImageCms.createProfile("sRGB")
            return PIL.ImageCms.profileToProfile(image, source, srgb, outputMode=target) or image
        except (PIL.ImageCms.PyCMSError, *_DECODE_ERRORS):
            pass  # a profile that cannot be read is no reason to refuse its image
    return image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB")


def _encode(image: PIL.Image.Image, encoding: dict[str, Any]) -> bytes:
    bare = PIL.Image.frombytes(image.mode, image.size, image.tobytes())  # nothing of ``info`` comes along
    out = io.BytesIO()
    bare.save(out, **encoding)
    return out.getvalue()
