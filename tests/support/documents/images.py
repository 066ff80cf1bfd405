"""Images and sounds for uploads: valid ones, and hostile ones."""

import io
import struct
import zlib
from typing import Any

from PIL import Image, ImageDraw

EXIF_ORIENTATION = 0x0112  # EXIF: the rotation that displays the picture upright


def make_picture(form: str = "PNG", size: tuple[int, int] = (60, 40), mode: str = "RGB", **how: Any) -> bytes:
    """Return a picture whose left half is red and whose right half is blue; ``how`` goes to the encoder."""
    image = Image.new("RGB", size, (220, 20, 30))
    ImageDraw.Draw(image).rectangle((size[0] // 2, 0, size[0], size[1]), fill=(20, 30, 220))
    return encode_image(image.convert(mode), form, **how)


def encode_image(image: Image.Image, form: str, **how: Any) -> bytes:
    """Return ``image`` as a file."""
    out = io.BytesIO()
    image.save(out, form, **how)
    return out.getvalue()


def make_rotated_picture(form: str) -> bytes:
    """Return a picture that is rotated by its EXIF orientation: displayed upright, red is above blue."""
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = 6
    exif[0x010E] = "EXIF-CANARY"
    return make_picture(form, exif=exif)


def make_animation(form: str) -> bytes:
    """Return an animation of two different pictures."""
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    return encode_image(frames[0], form, save_all=True, append_images=frames[1:], duration=100)


def make_png(width: int, height: int, *chunks: tuple[bytes, bytes], depth: int = 8, color: int = 2) -> bytes:
    """Return a PNG with exactly these chunks after the header, valid or not."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _make_png_chunk(*each) for each in ((b"IHDR", header), *chunks, (b"IEND", b""))
    )


def pixel_bomb(width: int, height: int) -> bytes:
    """Return a white PNG of that size in a few kilobytes: each line compresses to almost nothing."""
    line = b"\0" + b"\xff" * ((width + 7) // 8)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    return make_png(width, height, (b"IDAT", rows), depth=1, color=0)


def make_mp3_frame(fill: int = 0) -> bytes:
    """Return one frame of MPEG 1 layer III: 128 kbit/s at 44,100 Hz."""
    return b"\xff\xfb\x90\x00" + bytes([fill]) * 413


def make_id3_tag(content: bytes) -> bytes:
    """Return an ID3v2 tag around ``content``."""
    size = len(content)
    return b"ID3\x04\x00\x00" + bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0)) + content


def _make_png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
