"""The pictures of the README exist, are small and complete, and show valid commands."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.docs.test_docs import README, ROOT, list_typed_commands
from tests.docs.test_docs import test_a_command_of_the_documentation_is_valid as check_command
from tests.support.make_pictures import RECORDED

README_PICTURES = re.findall(r"!\[([^\]]+)\]\((\.pictures/[^)]+)\)", README)
MAX_BYTES = 200_000  # bytes


def test_the_readme_shows_exactly_the_existing_pictures() -> None:
    assert {path for _, path in README_PICTURES} == {
        f".pictures/{path.name}" for path in (ROOT / ".pictures").iterdir()
    }
    assert all(len(words) > 20 for words, _ in README_PICTURES), "a picture needs a descriptive alternative text"


@pytest.mark.parametrize("path", [ROOT / path for _, path in README_PICTURES], ids=lambda path: path.name)
def test_a_picture_is_small_and_not_empty(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) < MAX_BYTES
    if path.suffix == ".png":
        image = Image.open(io.BytesIO(data))
        image.load()
        assert image.width == 1280
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 100
    else:
        assert "docshare" in "".join(ElementTree.fromstring(data).itertext())


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_shows_its_commands_and_has_no_external_references(name: str) -> None:
    svg = (ROOT / ".pictures" / name).read_text(encoding="utf-8")
    shown = "".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ")
    for command in RECORDED[name]:
        assert command in shown
        check_command(command)
    assert "warning" not in shown
    assert not re.search(r"url\((?!#)|href|@import|<image", svg)


def test_the_first_recording_shows_commands_of_the_readme() -> None:
    assert {*RECORDED["terminal.svg"]} <= {*list_typed_commands()}
