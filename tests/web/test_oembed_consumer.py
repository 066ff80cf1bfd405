"""Independent oEmbed consumers: micawber and pyoembed."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from flask.testing import FlaskClient
from micawber import Provider, ProviderRegistry
from micawber.exceptions import ProviderHTTPException
from pyoembed import PyOembedException, oEmbed
from pyoembed.exceptions import ProviderException
from requests import Response

from tests.support.owner.browser import put_settings
from tests.support.people.cast import BASE_URL, World


class OembedLinkParser(HTMLParser):
    """Parser of the oEmbed discovery links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        row = dict(attrs)
        if tag == "link" and row.get("type") == "application/json+oembed":
            self.found.append(row["href"] or "")


class InstanceProvider(Provider):  # type: ignore[misc]  # micawber has no types
    """Provider that sends requests to the test instance instead of the network."""

    def __init__(self, http: FlaskClient, endpoint: str) -> None:
        super().__init__(endpoint)
        self.http = http

    def fetch(self, url: str) -> str:
        answer = self.http.get(url.removeprefix(BASE_URL))
        if answer.status_code != 200:
            raise ProviderHTTPException(url, answer.status_code)
        return answer.text


@pytest.fixture
def site(world: World) -> ProviderRegistry:
    """Return the registry of a site that discovered the oEmbed endpoint on a share page."""
    page = world.http.get(f"/{world.pia.upload()['shortId']}").text
    discovery = OembedLinkParser()
    discovery.feed(page)
    (address,) = discovery.found
    registry = ProviderRegistry()
    registry.register(re.escape(BASE_URL) + r"/\S+", InstanceProvider(world.http, address.partition("?")[0]))
    return registry


def share_document(world: World, **settings: Any) -> str:
    """Upload a document with ``settings`` and return its share URL."""
    made = world.pia.upload(name="Secret plans.pdf")
    put_settings(world, made, **settings)
    return str(made["shareUrl"])


def test_a_share_link_in_a_text_is_embedded(world: World, site: ProviderRegistry) -> None:
    url = share_document(world)
    embed = url.replace(BASE_URL, f"{BASE_URL}/embed")
    assert f'<iframe src="{embed}" title="Secret plans.pdf" width="800" height="600"' in site.parse_text(url)
    assert f'src="{embed}"' in site.parse_html(f"<p>{url}</p>")
    assert site.request(url, maxwidth=400)["width"] == 400
    assert world.http.get(embed.removeprefix(BASE_URL)).status_code == 200


@pytest.mark.parametrize(
    "settings",
    [
        {"password": "open sesame"},
        {"requireEmail": True},
        {"gateFields": [{"key": "mail", "label": "Mail", "type": "email", "required": True}]},
    ],
    ids=["password", "email", "form"],
)
def test_a_gated_document_does_not_reveal_its_name(
    world: World, site: ProviderRegistry, settings: dict[str, Any]
) -> None:
    url = share_document(world, **settings)
    assert site.request(url)["title"] == "Shared document"
    shown = site.parse_html(f"<p>{url}</p>")
    assert "<iframe" in shown
    assert "Secret" not in shown


def test_a_deleted_link_is_not_embedded(world: World, site: ProviderRegistry) -> None:
    url = share_document(world)
    world.pia.delete(f"/api/v1/files/{url.rpartition('/')[2]}")
    assert site.extract(url) == ([url], {})
    assert "<iframe" not in site.parse_html(f"<p>{url}</p>")


@pytest.fixture
def patched_discovery(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pyoembed send requests to the test instance instead of the network."""

    def get(url: str) -> Response:
        assert url.startswith(f"{BASE_URL}/"), "it leaves the instance"
        answer = world.http.get(url.removeprefix(BASE_URL))
        response = Response()
        response.status_code, response._content = answer.status_code, answer.data
        response.headers["content-type"] = answer.content_type
        return response

    monkeypatch.setattr("pyoembed.requests.get", get)


@pytest.mark.usefixtures("patched_discovery")
def test_a_site_with_discovery_embeds_the_link(world: World) -> None:
    url = share_document(world)
    found = oEmbed(url, maxwidth=400)
    assert (found["type"], found["title"], found["width"]) == ("rich", "Secret plans.pdf", 400)
    assert f'src="{url.replace(BASE_URL, f"{BASE_URL}/embed")}"' in found["html"]


@pytest.mark.usefixtures("patched_discovery")
def test_a_site_with_discovery_learns_nothing_about_gated_or_deleted_files(world: World) -> None:
    url = share_document(world, password="open sesame")
    assert oEmbed(url)["title"] == "Shared document"
    world.pia.delete(f"/api/v1/files/{url.rpartition('/')[2]}")
    with pytest.raises((PyOembedException, ProviderException)):
        oEmbed(url)
