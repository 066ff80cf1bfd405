"""Re-encode an uploaded image from its pixels. Runs only inside the worker.

The server never serves the bytes of the upload, so metadata, scripts or a second file inside them are lost.
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
MAX_SIDE = 4096  # larger images are scaled down; no page shows more
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
# The exceptions of Pillow's decoders for broken files; any other exception ends the worker.
_DECODE_ERRORS = (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, struct.error)
_HEAD_BYTES = 1024  # the part of a WebP file that names its compression


def reencode_image(file: BinaryIO, media_type: str) -> bytes:
    """Return the image in ``file`` as a new file of ``media_type``: upright, in sRGB, at most ``MAX_SIDE`` pixels a
    side, without metadata.

    Raises PdfRefused: ``broken`` (also if truncated), ``pixels`` for more than ``MAX_PIXELS`` (checked before
    decoding), or ``animated``.
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
    # Phones store a preview as the second image of a JPEG. Only the first image is used.
    if image.format != "MPO" and getattr(image, "is_animated", False):
        raise PdfRefused("animated")


def _choose_encoding(image: PIL.Image.Image, file: BinaryIO) -> dict[str, Any]:
    """Return arguments for ``Image.save`` that stay close to the encoding of the upload."""
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
    """Return ``image`` in a mode that can be scaled with interpolation."""
    if image.mode.startswith("I"):  # 16-bit grayscale
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if "transparency" in image.info or image.mode in ("LA", "PA", "La", "RGBa"):
        return image.convert("RGBA")
    plain = {"1": "L", "P": "RGB"}.get(image.mode)
    return image.convert(plain) if plain else image


def _convert_to_srgb(image: PIL.Image.Image) -> PIL.Image.Image:
    """Return ``image`` as grayscale, RGB or RGBA, with its color profile applied."""
    profile = image.info.get("icc_profile")
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        target = "RGBA" if image.mode == "RGBA" else "RGB"
        try:
            source = PIL.ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = PIL.ImageCms.createProfile("sRGB")
            return PIL.ImageCms.profileToProfile(image, source, srgb, outputMode=target) or image
        except (PIL.ImageCms.PyCMSError, *_DECODE_ERRORS):
            pass  # ignore an invalid profile
    return image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB")


def _encode(image: PIL.Image.Image, encoding: dict[str, Any]) -> bytes:
    bare = PIL.Image.frombytes(image.mode, image.size, image.tobytes())  # drops ``info``, which holds the metadata
    out = io.BytesIO()
    bare.save(out, **encoding)
    return out.getvalue()
