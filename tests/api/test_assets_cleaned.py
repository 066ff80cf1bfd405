"""Sanitizing of uploaded assets: only the pixels of an image and the frames of a sound are stored."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo
from werkzeug.test import TestResponse

from docshare.server.pdf.engine import PdfEngine
from tests.api.test_assets import upload_asset
from tests.support.documents.images import (
    encode_image,
    make_animation,
    make_id3_tag,
    make_mp3_frame,
    make_picture,
    make_png,
    make_rotated_picture,
    pixel_bomb,
)
from tests.support.people.cast import World

RED, BLUE = (220, 20, 30), (20, 30, 220)
CANARY = b"EXIF-CANARY"
FORMATS = ("PNG", "JPEG", "WEBP")


@pytest.fixture
def upload_and_read_asset(world: World, uploaded_file: dict[str, Any]) -> Callable[..., bytes]:
    """Return a function that uploads an asset and returns the bytes that are served to readers."""

    def upload_and_read(content: bytes, kind: str = "logo") -> bytes:
        answer = upload_asset(world.pia, uploaded_file, kind, content)
        assert answer.status_code == 200, answer.text
        found = answer.get_json()
        served = world.http.get(f"/{uploaded_file['shortId']}/assets/{found['assetId']}", buffered=True)
        assert (served.status_code, served.mimetype) == (200, found["mimeType"])
        assert len(served.data) == found["size"]
        return served.data

    return upload_and_read


def assert_refused(answer: TestResponse, words: str) -> None:
    assert (answer.status_code, answer.get_json()["code"]) == (422, "unprocessable")
    assert words in answer.get_json()["detail"]


def is_near(one: Any, two: tuple[int, ...], allowed: int = 40) -> bool:
    return all(abs(a - b) <= allowed for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("form", FORMATS)
def test_an_image_keeps_its_format_size_and_colors(upload_and_read_asset: Callable[..., bytes], form: str) -> None:
    image = Image.open(io.BytesIO(upload_and_read_asset(make_picture(form))))
    assert (image.format, image.size) == (form, (60, 40))
    shown = image.convert("RGB")
    assert is_near(shown.getpixel((5, 20)), RED)
    assert is_near(shown.getpixel((55, 20)), BLUE)


@pytest.mark.parametrize("form", FORMATS)
def test_a_rotated_image_is_stored_upright_and_without_metadata(
    upload_and_read_asset: Callable[..., bytes], form: str
) -> None:
    """The EXIF rotation is applied before the metadata is removed."""
    sent = make_rotated_picture(form)
    assert CANARY in sent
    data = upload_and_read_asset(sent)
    image = Image.open(io.BytesIO(data))
    assert image.size == (40, 60)
    assert is_near(image.convert("RGB").getpixel((20, 5)), RED)
    assert is_near(image.convert("RGB").getpixel((20, 55)), BLUE)
    assert not image.getexif()
    assert CANARY not in data


def make_png_with_text() -> bytes:
    words = PngInfo()
    words.add_text("Comment", CANARY.decode())
    words.add_itxt("XML:com.adobe.xmp", f"<x>{CANARY.decode()}</x>", zip=False)
    return make_picture("PNG", pnginfo=words)


METADATA_CARRIERS = {
    "png text": make_png_with_text(),
    "png unknown chunk": make_png(1, 1, (b"caNa", CANARY), (b"IDAT", b"x\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0")),
    "png trailer": make_picture("PNG") + b"<script>" + CANARY,
    "jpeg comment": make_picture("JPEG", comment=CANARY),
    "jpeg trailer": make_picture("JPEG") + b"PK\x03\x04" + CANARY,
    "jpeg xmp": make_picture("JPEG", xmp=b"<x>" + CANARY + b"</x>"),
    "webp xmp": make_picture("WEBP", xmp=b"<x>" + CANARY + b"</x>"),
    "webp trailer": make_picture("WEBP") + CANARY,
}


@pytest.mark.parametrize("name", METADATA_CARRIERS)
def test_metadata_of_an_image_is_removed(upload_and_read_asset: Callable[..., bytes], name: str) -> None:
    assert CANARY in METADATA_CARRIERS[name]
    assert CANARY not in upload_and_read_asset(METADATA_CARRIERS[name])


def test_a_cmyk_image_is_converted_to_rgb(upload_and_read_asset: Callable[..., bytes]) -> None:
    image = Image.open(io.BytesIO(upload_and_read_asset(make_picture("JPEG", mode="CMYK"))))
    assert image.mode == "RGB"
    assert is_near(image.getpixel((5, 20)), RED)
    assert is_near(image.getpixel((55, 20)), BLUE)


@pytest.mark.parametrize(("value", "shown"), [(0, 0), (40_000, 156), (65_535, 255)])
def test_a_16_bit_gray_image_keeps_its_shade(
    upload_and_read_asset: Callable[..., bytes], value: int, shown: int
) -> None:
    image = Image.open(io.BytesIO(upload_and_read_asset(encode_image(Image.new("I;16", (20, 20), value), "PNG"))))
    assert (image.mode, image.getpixel((3, 3))) == ("L", shown)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_every_png_mode_is_accepted(upload_and_read_asset: Callable[..., bytes], mode: str) -> None:
    image = Image.open(io.BytesIO(upload_and_read_asset(make_picture("PNG", mode=mode))))
    assert image.size == (60, 40)


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_transparency_is_preserved(upload_and_read_asset: Callable[..., bytes], form: str) -> None:
    clear = Image.new("RGBA", (20, 20), (220, 20, 30, 0))
    image = Image.open(io.BytesIO(upload_and_read_asset(encode_image(clear, form))))
    assert image.convert("RGBA").getpixel((3, 3))[3] == 0


def test_a_transparent_palette_color_is_preserved(upload_and_read_asset: Callable[..., bytes]) -> None:
    image = Image.new("P", (20, 20), 1)
    image.putpalette([0, 0, 0, 220, 20, 30])
    shown = Image.open(io.BytesIO(upload_and_read_asset(encode_image(image, "PNG", transparency=1)))).convert("RGBA")
    assert shown.getpixel((3, 3))[3] == 0


def test_a_color_profile_is_applied_and_removed(upload_and_read_asset: Callable[..., bytes]) -> None:
    """Colors are converted to sRGB; this profile swaps red and blue."""
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    swapped = lab.replace(b"rXYZ", b"tmpX").replace(b"bXYZ", b"rXYZ").replace(b"tmpX", b"bXYZ")
    image = Image.open(io.BytesIO(upload_and_read_asset(make_picture("PNG", icc_profile=swapped))))
    assert "icc_profile" not in image.info
    assert is_near(image.getpixel((5, 20)), (30, 20, 220), 60)


def test_a_broken_color_profile_is_ignored(upload_and_read_asset: Callable[..., bytes]) -> None:
    data = upload_and_read_asset(make_picture("PNG", icc_profile=b"no profile at all"))
    assert is_near(Image.open(io.BytesIO(data)).getpixel((5, 20)), RED)


def test_a_second_picture_in_a_photo_is_removed(upload_and_read_asset: Callable[..., bytes]) -> None:
    """Phones append a preview to the picture."""
    one, two = (Image.open(io.BytesIO(make_picture("JPEG", size=size))) for size in ((60, 40), (6, 4)))
    out = io.BytesIO()
    one.save(out, "MPO", save_all=True, append_images=[two])
    image = Image.open(io.BytesIO(upload_and_read_asset(out.getvalue())))
    assert (image.format, image.size) == ("JPEG", (60, 40))


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_an_animation_is_rejected(world: World, uploaded_file: dict[str, Any], form: str) -> None:
    assert_refused(upload_asset(world.pia, uploaded_file, "logo", make_animation(form)), "animated")


@pytest.mark.parametrize("form", FORMATS)
def test_a_truncated_image_is_rejected(world: World, uploaded_file: dict[str, Any], form: str) -> None:
    whole = make_picture(form, size=(200, 200))
    for length in (20, len(whole) // 2, len(whole) - len(whole) // 8):
        assert_refused(upload_asset(world.pia, uploaded_file, "logo", whole[:length]), "image")


def test_an_image_of_40_megapixels_is_scaled_down_to_4096_pixels(
    upload_and_read_asset: Callable[..., bytes],
) -> None:
    image = Image.open(io.BytesIO(upload_and_read_asset(pixel_bomb(8000, 5000))))
    assert image.size == (4096, 2560)


@pytest.mark.parametrize(("width", "height"), [(8000, 5001), (60_000, 60_000), (2**31 - 1, 1)])
def test_an_image_above_40_megapixels_is_rejected_before_it_is_decoded(
    world: World, uploaded_file: dict[str, Any], engine: PdfEngine, width: int, height: int
) -> None:
    """The size in the header is checked, so that a decompression bomb does not crash the worker."""
    world.pia.upload()
    workers = engine.pool.list_pids()
    bomb = pixel_bomb(width, height) if height < 10_000 and width < 10_000 else make_png(width, height, (b"IDAT", b""))
    assert_refused(upload_asset(world.pia, uploaded_file, "background", bomb), "40 million")
    assert engine.pool.list_pids() == workers


MALFORMED_IMAGES = {
    "no pixels": make_png(0, 0, (b"IDAT", b"")),
    "no data": make_png(10, 10),
    "bad depth": make_png(10, 10, (b"IDAT", b""), depth=3),
    "bad color": make_png(10, 10, (b"IDAT", b""), color=5),
    "text bomb": make_png(1, 1, (b"zTXt", b"a\0\0" + b"x\x9c" + b"\0" * 100)),
    "broken exif": make_png(1, 1, (b"eXIf", b"MM\0*\xff\xff\xff\xff"), (b"IDAT", b"x")),
    "chunk too long": make_picture("PNG")[:33] + b"\xff\xff\xff\xffIDAT",
    "jpeg head": b"\xff\xd8\xff",
    "jpeg frames": b"\xff\xd8\xff" + b"\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03" * 50,
    "webp head": b"RIFF\xff\xff\xff\xffWEBPVP8 ",
    "webp canvas": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff",
    "a png that is a gif": b"\x89PNG\r\n\x1a\nGIF89a" + b"\0" * 50,
    "png head and jpeg": b"\x89PNG\r\n\x1a\n" + make_picture("JPEG"),
    "eps in jpeg": b"\xff\xd8\xff%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
}


@pytest.mark.parametrize("name", MALFORMED_IMAGES)
def test_a_malformed_image_is_rejected(world: World, uploaded_file: dict[str, Any], name: str) -> None:
    answer = upload_asset(world.pia, uploaded_file, "logo", MALFORMED_IMAGES[name])
    assert answer.status_code == 422, answer.text
    assert world.rt.db.fetch_one("SELECT COUNT(*) FROM assets") == (0,)


def test_only_the_frames_of_a_sound_are_stored(upload_and_read_asset: Callable[..., bytes]) -> None:
    """Tags before, between and after the frames are removed, with the pictures and scripts in them."""
    frames = [make_mp3_frame(fill) for fill in range(5)]
    tags = make_id3_tag(b"APIC" + CANARY * 50) + make_id3_tag(b"COMM" + CANARY)
    sent = tags + b"".join(frames[:3]) + b"junk" + CANARY + b"".join(frames[3:]) + b"TAG" + CANARY.ljust(125, b"\0")
    assert upload_and_read_asset(sent, "hotspot-audio") == b"".join(frames)


FILES_WITHOUT_SOUND = {
    "a tag alone": make_id3_tag(b"COMM" + b"\0" * 100),
    "a tag without an end": b"ID3\x04\0\0\x7f\x7f\x7f\x7f" + make_mp3_frame() * 3,
    "half a tag": b"ID3",
    "one frame": make_mp3_frame(),
    "a head": b"\xff\xfb\x90\x00",
    "a head and nothing": b"\xff\xfb\x90\x00" + b"\0" * 1000,
    "heads only": b"\xff\xfb\x90\x00" * 1000,
    "frames behind too much": make_id3_tag(b"x") + b"\0" * 70_000 + make_mp3_frame() * 10,
    "ones only": b"\xff\xfb\x90" + b"\xff" * 1_000_000,
}


@pytest.mark.parametrize("name", FILES_WITHOUT_SOUND)
def test_a_file_without_sound_is_rejected(world: World, uploaded_file: dict[str, Any], name: str) -> None:
    assert_refused(upload_asset(world.pia, uploaded_file, "hotspot-audio", FILES_WITHOUT_SOUND[name]), "MP3")


@pytest.mark.parametrize(
    ("header", "length"),
    [
        (b"\xff\xfb\x90\x00", 417),  # MPEG 1, 128 kbit/s, 44,100 Hz
        (b"\xff\xfb\x92\x00", 418),  # the same, padded
        (b"\xff\xfa\xe4\x00", 960),  # MPEG 1, 320 kbit/s, 48,000 Hz, with a checksum
        (b"\xff\xf3\x80\x00", 208),  # MPEG 2, 64 kbit/s, 22,050 Hz
        (b"\xff\xe3\x48\x00", 288),  # MPEG 2.5, 32 kbit/s, 8,000 Hz
    ],
)
def test_the_frame_length_of_every_mpeg_version_is_recognized(
    upload_and_read_asset: Callable[..., bytes], header: bytes, length: int
) -> None:
    sound = (header + b"\x11" * (length - 4)) * 3
    assert upload_and_read_asset(sound + b"\x11" * 50, "hotspot-audio") == sound


def test_an_asset_is_served_with_headers_that_prevent_scripts(world: World, uploaded_file: dict[str, Any]) -> None:
    """Assets are served with a fixed media type, ``nosniff`` and a content security policy."""
    found = upload_asset(world.pia, uploaded_file, "logo").get_json()
    answer = world.http.get(f"/{uploaded_file['shortId']}/assets/{found['assetId']}", buffered=True)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
    assert answer.headers["Cache-Control"] == "private, max-age=600"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Content-Disposition" not in answer.headers


def test_an_asset_is_served_only_through_links_that_can_be_opened(world: World, uploaded_file: dict[str, Any]) -> None:
    asset_id = upload_asset(world.pia, uploaded_file, "logo").get_json()["assetId"]
    other = world.pia.upload()
    variants = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(variants).get_json()

    def get_status(name: str, asset: str = asset_id) -> int:
        return world.http.get(f"/{name}/assets/{asset}", buffered=True).status_code

    opens = (uploaded_file["shortId"], uploaded_file["uuid"], variant["shortId"], variant["uuid"])
    assert [get_status(name) for name in opens] == [200] * 4
    assert get_status(uploaded_file["shortId"], asset_id.upper()) == 200
    for name in (other["shortId"], "abcdefghijkl", "nope"):
        assert get_status(name) == 404
    for asset in (uploaded_file["uuid"], "1", "..", "%00", asset_id + "0", "logo"):
        assert get_status(uploaded_file["shortId"], asset) == 404
    world.pia.put(f"{variants}/{variant['uuid']}", json={"revoked": True})
    assert [get_status(name) for name in opens] == [200, 200, 404, 404]
    settings = f"/api/v1/files/{uploaded_file['uuid']}/settings"
    assert world.pia.put(settings, data=json.dumps({"password": "secret"}), content_type="application/json").status_code
    assert get_status(uploaded_file["shortId"]) not in (200, 404)
    world.pia.put(settings, json={"password": "", "deleteAt": "2020-01-01T00:00:00Z"})
    assert get_status(uploaded_file["shortId"]) == 410
