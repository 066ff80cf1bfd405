"""The pictures of the README are there, small, whole, and show commands that still exist."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.support.make_pictures import RECORDED
from tests.test_docs import README, ROOT, typed_commands
from tests.test_docs import test_a_command_of_the_documents_is_understood as understood

README_PICTURES = re.findall(r"!\[([^\]]+)\]\((\.pictures/[^)]+)\)", README)
LARGEST = 200_000  # bytes


def test_every_picture_is_shown_and_every_one_shown_is_there() -> None:
    assert {path for _, path in README_PICTURES} == {
        f".pictures/{path.name}" for path in (ROOT / ".pictures").iterdir()
    }
    assert all(len(words) > 20 for words, _ in README_PICTURES), "who cannot see a picture reads what it shows"


@pytest.mark.parametrize("path", [ROOT / path for _, path in README_PICTURES], ids=lambda path: path.name)
def test_a_picture_is_small_and_not_empty(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) < LARGEST
    if path.suffix == ".png":
        image = Image.open(io.BytesIO(data))
        image.load()
        assert image.width == 1280
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 100
    else:
        assert "docshare" in "".join(ElementTree.fromstring(data).itertext())


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_shows_its_commands_and_loads_nothing(name: str) -> None:
    svg = (ROOT / ".pictures" / name).read_text(encoding="utf-8")
    shown = "".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ")
    for command in RECORDED[name]:
        assert command in shown
        understood(command)
    assert not re.search(r"url\((?!#)|href|@import|<image", svg)


def test_the_first_recording_is_of_the_two_commands_that_the_readme_says_to_type() -> None:
    assert {*RECORDED["terminal.svg"]} <= {*typed_commands()}
