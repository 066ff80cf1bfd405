"""A document with an appearance that a test changes, on a real server, and measurements of its page in a browser."""

import io
from typing import Any

import requests
from PIL import Image, ImageDraw
from playwright.sync_api import Page

from docshare.server.rules import colors
from docshare.server.rules.colors import Color
from tests.support.servers.server_process import ServerProcess


class StyledDocument:
    """One shared document with a logo and a background picture; ``url`` is its share page."""

    def __init__(self, server: ServerProcess, url: str) -> None:
        self.url = url
        self._server = server
        self.name = url.rsplit("/", 1)[1]
        self._path = f"{server.url}/api/v1/files/{self.name}"
        self.logo = self._upload_asset("logo", _make_picture("PNG", (300, 100)))
        self.picture = self._upload_asset("background", _make_picture("JPEG", (800, 500)))

    @property
    def embed_url(self) -> str:
        """Return the URL of its page for frames."""
        return f"{self._server.url}/embed/{self.name}"

    def apply_looks(self, settings: dict[str, Any] | None = None, **blocks: Any) -> None:
        """Set viewerSettings to ``blocks``, and other ``settings`` of the file (by default, it never expires)."""
        body = {"viewerSettings": blocks} | (settings or {"neverExpire": True})
        answer = requests.put(f"{self._path}/settings", headers=self._server.headers, json=body, timeout=30)
        assert answer.status_code == 200, answer.text

    def _upload_asset(self, kind: str, content: bytes) -> str:
        answer = requests.post(
            f"{self._path}/assets",
            headers=self._server.headers,
            files={"file": (kind, content)},
            data={"kind": kind},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["assetId"])


def computed_style(page: Page, selector: str, name: str, pseudo: str | None = None) -> str:
    """Return the computed value of the property ``name`` of the first element that matches ``selector``."""
    found = page.evaluate(
        "([selector, name, pseudo]) => "
        "getComputedStyle(document.querySelector(selector), pseudo).getPropertyValue(name)",
        [selector, name, pseudo],
    )
    return str(found)


def parse_color(text: str) -> Color:
    """Parse ``rgb(r, g, b)`` as browsers format it."""
    red, green, blue = (int(part) for part in text.removeprefix("rgb(").rstrip(")").split(","))
    return Color(red, green, blue)


def contrast_ratio(page: Page, text: str, ground: str) -> float:
    """Return the contrast of the text of one element with the background of another."""
    return colors.contrast_ratio(
        parse_color(computed_style(page, text, "color")),
        parse_color(computed_style(page, ground, "background-color")),
    )


def element_box(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the element in the window, in pixels."""
    found = page.locator(selector).bounding_box()
    assert found is not None, selector
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def has_overlap(one: tuple[float, ...], two: tuple[float, ...]) -> bool:
    """Return whether two boxes overlap."""
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _make_picture(form: str, size: tuple[int, int]) -> bytes:
    image = Image.new("RGB", size, (214, 64, 42))
    ImageDraw.Draw(image).ellipse((size[0] // 4, 0, size[0] // 2, size[1]), fill=(250, 220, 90))
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()
