"""The table of contents of a share page: which entries readers get."""

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.files import trash
from tests.support.documents.hostile_pdfs import memory_bomb_on_page_2
from tests.support.documents.outlines import add_outline
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

ROWS = [(0, 1, "Preface"), (0, None, "Secret part"), (1, 2, "Methods"), (1, 4, "Results"), (0, 5, "Index")]
pytestmark = pytest.mark.file_document(add_outline(simple_pdf(5), ROWS), "Study.pdf")


def get_outline(http: FlaskClient, name: str, version: str = "1") -> TestResponse:
    return http.get(f"/{name}/outline.json?v={version}", buffered=True)


def test_a_reader_of_the_whole_document_gets_all_entries(world: World, uploaded_file: dict[str, Any]) -> None:
    answer = get_outline(world.http, uploaded_file["shortId"])
    assert (answer.status_code, answer.get_json()) == (200, [list(row) for row in ROWS])
    assert get_outline(world.http, uploaded_file["shortId"]).get_json() == answer.get_json()


def test_a_document_without_an_outline_has_an_empty_one(world: World) -> None:
    name = world.pia.upload(simple_pdf(2))["shortId"]
    assert get_outline(world.http, name).get_json() == []


def test_a_reader_of_a_range_gets_only_its_entries(world: World, uploaded_file: dict[str, Any]) -> None:
    """The owner asks first, so the outline of the whole document is cached."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 4})
    name = uploaded_file["shortId"]
    assert len(get_outline(sign_in_browser(world, world.pia), name).get_json()) == 5
    answer = get_outline(world.http, name, FakeReader(world, name).facts["version"])
    assert answer.get_json() == [[0, 1, "Methods"], [0, 3, "Results"]]
    assert "Secret" not in answer.text
    assert get_outline(world.http, name).status_code == 404


@pytest.mark.parametrize("version", ["", "2", "01", "x"])
def test_an_outline_of_another_version_is_404(world: World, uploaded_file: dict[str, Any], version: str) -> None:
    assert get_outline(world.http, uploaded_file["shortId"], version).status_code == 404


def test_an_outline_is_served_of_a_document_with_a_broken_page(world: World) -> None:
    name = world.pia.upload(add_outline(memory_bomb_on_page_2(), [(0, 1, "One"), (0, 2, "Two")]))["shortId"]
    assert get_outline(world.http, name).get_json() == [[0, 1, "One"], [0, 2, "Two"]]


def purge_file(world: World, made: dict[str, Any]) -> None:
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
    trash.purge_any(world.rt, made["uuid"])


def replace_content(world: World, made: dict[str, Any]) -> None:
    world.pia.replace(made["uuid"], simple_pdf(1), "new.pdf")


def list_cached_outlines(world: World) -> list[str]:
    return [str(path) for path in world.rt.config.data_dir.rglob("*-outline.json*")]


@pytest.mark.parametrize("destroy", [purge_file, replace_content])
def test_the_stored_outline_is_encrypted_and_deleted_with_its_version(
    world: World, uploaded_file: dict[str, Any], destroy: Callable[..., None]
) -> None:
    get_outline(world.http, uploaded_file["shortId"])
    (path,) = list_cached_outlines(world)
    with open(path, "rb") as file:
        assert b"Preface" not in file.read()
    destroy(world, uploaded_file)
    assert list_cached_outlines(world) == []


@pytest.mark.parametrize("width", [160, 240])
def test_small_pictures_of_pages_are_served(world: World, uploaded_file: dict[str, Any], width: int) -> None:
    name = uploaded_file["shortId"]
    small = world.http.get(f"/{name}/pages/5-{width}.jpg?v=1", buffered=True)
    assert (small.status_code, small.content_type) == (200, "image/jpeg")
    assert len(small.data) < 20_000
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 4})
    version = FakeReader(world, name).facts["version"]
    assert world.http.get(f"/{name}/pages/3-{width}.jpg?v={version}", buffered=True).status_code == 200
    assert world.http.get(f"/{name}/pages/4-{width}.jpg?v={version}", buffered=True).status_code == 404
