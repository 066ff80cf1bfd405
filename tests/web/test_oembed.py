"""oEmbed: the description of a share link for other sites."""

import html
import io
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from werkzeug.test import TestResponse

from docshare.server.public_address import parse_base_url
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World

pytestmark = pytest.mark.file_document(name="Report.pdf")

LINK = "http://127.0.0.1:8787"


def get_oembed(world: World, url: str, **more: Any) -> TestResponse:
    return world.http.get("/oembed", query_string={"url": url, **more})


def parse_iframe_attributes(document: dict[str, Any]) -> dict[str, str]:
    """Return the attributes of the iframe in the HTML."""
    found = re.fullmatch(r"<iframe ([^<>]*)></iframe>", document["html"])
    assert found
    return {key: html.unescape(value) for key, value in re.findall(r'([a-z]+)="([^"]*)"', found[1])}


def test_the_response_contains_an_iframe_of_the_embed_page(world: World, uploaded_file: dict[str, Any]) -> None:
    answer = get_oembed(world, uploaded_file["shareUrl"])
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    document = answer.get_json()
    assert list(document) == [
        "version", "type", "title", "provider_name", "provider_url", "html", "width", "height",
        "thumbnail_url", "thumbnail_width", "thumbnail_height",
    ]  # fmt: skip
    assert (document["version"], document["type"], document["title"]) == ("1.0", "rich", "Report.pdf")
    assert (document["provider_name"], document["provider_url"]) == ("docshare", LINK)
    shown = parse_iframe_attributes(document)
    assert shown["src"] == f"{LINK}/embed/{uploaded_file['shortId']}"
    assert (int(shown["width"]), int(shown["height"])) == (document["width"], document["height"]) == (800, 600)
    assert world.http.get(urlsplit(shown["src"]).path).status_code == 200


def test_the_thumbnail_shows_the_first_page(world: World, uploaded_file: dict[str, Any]) -> None:
    document = get_oembed(world, uploaded_file["shareUrl"]).get_json()
    image = world.http.get(document["thumbnail_url"].removeprefix(LINK), buffered=True)
    assert image.status_code == 200
    size = Image.open(io.BytesIO(image.data)).size
    assert size == (document["thumbnail_width"], document["thumbnail_height"])


def test_the_thumbnail_shows_the_first_page_of_the_page_range(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], settings='{"pageRange": {"from": 2, "to": 3}}')
    address = get_oembed(world, uploaded_file["shareUrl"]).get_json()["thumbnail_url"].removeprefix(LINK)
    shown = world.http.get(address, buffered=True)
    update_file_row(world, uploaded_file["uuid"], settings="{}")
    second = world.http.get(f"/{uploaded_file['shortId']}/pages/2-800.jpg?v=1", buffered=True)
    assert shown.data == second.data


def test_every_form_of_a_share_link_is_accepted(world: World, uploaded_file: dict[str, Any]) -> None:
    """UUID, short id and slug are accepted; the iframe URL never contains a slug."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    sources = {
        name: parse_iframe_attributes(get_oembed(world, f"{LINK}/{name}").get_json())["src"]
        for name in (
            uploaded_file["shortId"],
            uploaded_file["uuid"].upper(),
            "the-report",
            f"{uploaded_file['shortId']}?via=qr#page=2",
        )
    }
    assert sources == {
        uploaded_file["shortId"]: f"{LINK}/embed/{uploaded_file['shortId']}",
        uploaded_file["uuid"].upper(): f"{LINK}/embed/{uploaded_file['uuid']}",
        "the-report": f"{LINK}/embed/{uploaded_file['shortId']}",
        f"{uploaded_file['shortId']}?via=qr#page=2": f"{LINK}/embed/{uploaded_file['shortId']}",
    }
    assert get_oembed(world, f"HTTP://127.0.0.1:8787/{uploaded_file['shortId']}").status_code == 200


def test_a_link_may_have_the_host_in_both_of_its_forms(make: Callable[..., World]) -> None:
    world = make(base_url=parse_base_url("https://Bücher.example"))
    made = world.pia.upload()
    assert made["shareUrl"] == f"https://xn--bcher-kva.example/{made['shortId']}"
    for host in ("bücher.example", "xn--bcher-kva.example"):
        assert get_oembed(world, f"https://{host}/{made['shortId']}").status_code == 200
    for host in ("bucher.example", "straße.example", "b\u200bücher.example"):
        assert get_oembed(world, f"https://{host}/{made['shortId']}").status_code == 404
    assert world.http.get("/api/v1/files").headers["WWW-Authenticate"].isascii()


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1:8787/{}",
        "http://127.0.0.1/{}",
        "http://127.0.0.1:8788/{}",
        "http://elsewhere.example/{}",
        "http://127.0.0.1:8787@elsewhere.example/{}",
        "http://u:p@127.0.0.1:8787/{}",
        "http://127.0.0.1:99999/{}",
        "http://[127.0.0.1:8787/{}",
        "http://127.0.0.1:8787/{}/pages/1-800.jpg",
        "http://127.0.0.1:8787/x/{}",
        "http://127.0.0.1:8787/x/embed/{}",
        "http://127.0.0.1:8787/embed/x/{}",
        "http://127.0.0.1:8787//{}",
        "http://127.0.0.1:8787/{}//",
        "http://127.0.0.1:8787/embed//{}",
        "http://127.0.0.1:8787/embed/the-report",
        "http://127.0.0.1:8787/",
        "/{}",
        "{}",
        "javascript:alert(1)//{}",
    ],
)
def test_other_urls_are_404(world: World, uploaded_file: dict[str, Any], address: str) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    answer = get_oembed(world, address.format(uploaded_file["shortId"]))
    assert answer.status_code == 404
    assert "Report" not in answer.text


def test_embed_urls_and_trailing_slashes_are_accepted(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    for name in ("{shortId}/", "{uuid}/", "the-report/", "embed/{shortId}", "embed/{uuid}", "embed/{shortId}/?via=qr"):
        answer = get_oembed(world, f"{LINK}/{name.format(**uploaded_file)}")
        assert answer.status_code == 200, name
        known = uploaded_file["uuid"] if "uuid" in name else uploaded_file["shortId"]
        assert parse_iframe_attributes(answer.get_json())["src"] == f"{LINK}/embed/{known}"


def test_unknown_trashed_and_dead_links_respond_identically(world: World, uploaded_file: dict[str, Any]) -> None:
    """A dead link does not reveal its name."""
    unknown = get_oembed(world, f"{LINK}/abcdefghijkl")
    assert unknown.status_code == 404
    for columns in ({"delete_at": world.clock.now}, {"burned_at": world.clock.now}):
        update_file_row(world, uploaded_file["uuid"], **columns)
        assert get_oembed(world, uploaded_file["shareUrl"]).data == unknown.data
        update_file_row(world, uploaded_file["uuid"], delete_at=None, burned_at=None)
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert get_oembed(world, uploaded_file["shareUrl"]).data == unknown.data


@pytest.mark.parametrize("columns", [{"password_hash": "x"}, {"settings": '{"requireEmail": true}'}])
def test_a_gated_link_reveals_neither_name_nor_thumbnail(
    world: World, uploaded_file: dict[str, Any], columns: dict[str, Any]
) -> None:
    """The title of a gated file is neutral."""
    update_file_row(world, uploaded_file["uuid"], **columns)
    document = get_oembed(world, uploaded_file["shareUrl"]).get_json()
    assert document["title"] == parse_iframe_attributes(document)["title"] == "Shared document"
    assert "thumbnail_url" not in document
    assert "Report" not in json.dumps(document)


def test_a_variant_is_described_under_its_own_ids(world: World, uploaded_file: dict[str, Any]) -> None:
    """A variant does not reveal the canonical id, and a revoked one reveals no name."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(path, json={"label": "Ann"}).get_json()
    for name in (variant["shortId"], variant["uuid"]):
        document = get_oembed(world, f"{LINK}/{name}").get_json()
        assert parse_iframe_attributes(document)["src"] == f"{LINK}/embed/{name}"
        assert world.http.get(document["thumbnail_url"].removeprefix(LINK), buffered=True).status_code == 200
        shown = json.dumps(document) + world.http.get(f"/{name}").text
        assert not [
            word for word in (uploaded_file["uuid"], uploaded_file["shortId"], "the-report", "Ann") if word in shown
        ]
    world.pia.put(f"{path}/{variant['uuid']}", json={"revoked": True})
    assert get_oembed(world, variant["url"]).data == get_oembed(world, f"{LINK}/abcdefghijkl").data


def test_a_link_with_a_view_limit_has_no_thumbnail(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], view_limit=1)
    document = get_oembed(world, uploaded_file["shareUrl"]).get_json()
    assert document["title"] == "Report.pdf"
    assert not {"thumbnail_url", "thumbnail_width", "thumbnail_height"} & set(document)


@pytest.mark.parametrize(
    ("requested_size", "size", "thumbnail"),
    [
        ({"maxwidth": "400"}, (400, 600), False),
        ({"maxheight": "300"}, (800, 300), False),
        ({"maxwidth": "1200", "maxheight": "2000"}, (800, 600), True),
        ({"maxwidth": "0", "maxheight": "-1"}, (800, 600), True),
        ({"maxwidth": "wide", "maxheight": "9" * 30}, (800, 600), True),
    ],
)
def test_maxwidth_and_maxheight_limit_the_size(
    world: World, uploaded_file: dict[str, Any], requested_size: dict[str, str], size: tuple[int, int], thumbnail: bool
) -> None:
    document = get_oembed(world, uploaded_file["shareUrl"], **requested_size).get_json()
    shown = parse_iframe_attributes(document)
    assert (document["width"], document["height"]) == (int(shown["width"]), int(shown["height"])) == size
    assert ("thumbnail_url" in document) == thumbnail


def test_only_the_json_format_is_supported(world: World, uploaded_file: dict[str, Any]) -> None:
    """The response to ``format=xml`` is 501."""
    assert get_oembed(world, uploaded_file["shareUrl"], format="json").status_code == 200
    answer = get_oembed(world, uploaded_file["shareUrl"], format="xml")
    assert (answer.status_code, answer.content_type) == (501, "text/plain; charset=utf-8")
    assert world.http.get("/oembed").status_code == 400


def test_a_file_name_is_escaped_in_the_iframe(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], original_name='"><script>alert(1)</script>.pdf')
    document = get_oembed(world, made["shareUrl"]).get_json()
    assert parse_iframe_attributes(document)["title"] == document["title"]
    assert "<script" not in document["html"]


def test_an_extremely_tall_or_empty_page_has_no_thumbnail(world: World, uploaded_file: dict[str, Any]) -> None:
    for sizes in ("[[3, 10, 14400]]", "[[3, 0, 100]]"):
        update_file_row(world, uploaded_file["uuid"], page_sizes=sizes)
        assert "thumbnail_url" not in get_oembed(world, uploaded_file["shareUrl"]).get_json()


def test_only_the_share_page_has_the_discovery_link(world: World, uploaded_file: dict[str, Any]) -> None:
    """The share page contains the discovery link."""
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    for name, public_id in (
        (uploaded_file["shortId"], uploaded_file["shortId"]),
        ("the-report", uploaded_file["shortId"]),
    ):
        found = re.findall(
            r'<link rel="alternate" type="application/json\+oembed" href="([^"]*)"', world.http.get(f"/{name}").text
        )
        assert len(found) == 1
        address = html.unescape(found[0])
        assert parse_qs(urlsplit(address).query)["url"] == [f"{LINK}/{public_id}"]
        assert world.http.get(address.removeprefix(LINK)).get_json()["title"] == "Report.pdf"
    assert "oembed" not in world.http.get(f"/embed/{uploaded_file['shortId']}").text


def test_requests_per_address_are_rate_limited(make: Any) -> None:
    world = make(rate_limit=2)
    answers = [get_oembed(world, f"{LINK}/abcdefghijkl") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_unknown_links_are_rate_limited_per_address(make: Any) -> None:
    """Unknown links are counted per address, by oEmbed and share pages together."""
    world = make(address_limit=2)
    made = world.pia.upload()
    for name in ("abcdefghijkl", "no-such-slug"):
        assert get_oembed(world, f"{LINK}/{name}").status_code == 404
    assert get_oembed(world, made["shareUrl"]).status_code == 429
    assert world.http.get(f"/{made['shortId']}").status_code == 429
