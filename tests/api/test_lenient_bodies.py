"""Unusual request bodies of real clients: accepted, ignored or rejected."""

import io
from typing import Any

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import World

CTA = {"label": "Talk to us", "url": "https://example.com/talk"}


@pytest.fixture
def settings(world: World) -> str:
    return f"/api/v1/files/{world.pia.upload()['uuid']}/settings"


def get_viewer_settings(world: World, settings: str) -> Any:
    return world.pia.get(settings.removesuffix("/settings")).get_json()["viewerSettings"]


@pytest.mark.parametrize("empty", [{}, [], None])
def test_an_empty_call_to_action_removes_it(world: World, settings: str, empty: Any) -> None:
    assert world.pia.put(settings, json={"viewerSettings": {"cta": CTA}}).status_code == 200
    assert get_viewer_settings(world, settings)["cta"]["label"] == CTA["label"]
    assert world.pia.put(settings, json={"viewerSettings": {"cta": empty}}).status_code == 200
    assert get_viewer_settings(world, settings) == {}


@pytest.mark.parametrize("block", ["logo", "background"])
@pytest.mark.parametrize("value", [1, 1.5, True, None, [], ["x"], {}, {"id": "x"}])
def test_an_asset_id_that_is_not_a_string_is_ignored(world: World, settings: str, block: str, value: Any) -> None:
    assert world.pia.put(settings, json={"viewerSettings": {block: {"assetId": value}}}).status_code == 200
    assert get_viewer_settings(world, settings) == {}


@pytest.mark.parametrize("block", ["logo", "background"])
@pytest.mark.parametrize("value", ["", "x", "00000000-0000-4000-8000-000000000000", "x" * 5_000])
def test_an_unknown_asset_id_is_400(world: World, settings: str, block: str, value: str) -> None:
    answer = world.pia.put(settings, json={"viewerSettings": {block: {"assetId": value}}})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert get_viewer_settings(world, settings) == {}


@pytest.mark.parametrize("value", ["2040-01-01T00:00:00", "2040-01-01T00:00:00.000", "2040-01-01", "2040-01-01T00:00"])
def test_an_expiry_without_a_time_zone_is_400(world: World, settings: str, value: str) -> None:
    answer = world.pia.put(settings, json={"deleteAt": value})
    assert answer.status_code == 400
    assert "time zone" in answer.get_json()["detail"]
    for zone in ("Z", "+02:00", "-11:30"):
        assert world.pia.put(settings, json={"deleteAt": f"2040-01-01T00:00:00{zone}"}).status_code == 200


def test_overrides_accept_an_empty_array_as_an_empty_object(world: World, settings: str) -> None:
    variants = settings.replace("/settings", "/variants")
    made = world.pia.post(variants, json={"overrides": []})
    assert (made.status_code, made.get_json()["overrides"]) == (201, {})
    one = f"{variants}/{made.get_json()['uuid']}"
    assert world.pia.put(one, json={"overrides": {"allowDownload": False}}).get_json()["overrides"]
    assert world.pia.put(one, json={"overrides": []}).get_json()["overrides"] == {}


@pytest.mark.parametrize(("more", "status"), [(9, 200), (10, 400)])
def test_a_form_has_at_most_ten_parts(world: World, more: int, status: int) -> None:
    parts = {f"extra{number}": "x" for number in range(more)}
    form = {**parts, "file": (io.BytesIO(simple_pdf(pages=1)), "a.pdf")}
    answer = world.pia.post("/api/v1/files", data=form)
    assert answer.status_code == status
    assert len(world.pia.get("/api/v1/files").get_json()) == (status == 200)
