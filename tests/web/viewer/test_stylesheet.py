"""Viewer settings on the share page: style sheet, logo, call to action, analytics, expiry."""

import json
import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.contract.settings_table import ASSET, CTA
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World
from tests.support.people.known_readers import insert_invite
from tests.support.people.reader import FakeReader
from tests.support.people.settings import ConfiguredFile

ALL = {
    "background": {"color": "#102030"},
    "logo": {"assetId": ASSET, "linkUrl": "https://acme.example/shop?a=1&b=2", "position": "tl"},
    "page": {"rounded": 2, "edges": True},
    "protect": {"print": True, "select": True, "blurOnLeave": True},
    "ga4Id": "G-ABCDEF1234",
    "brand": {"accentColor": "#ff0080", "toolbarTheme": "dark", "badgePosition": "tr"},
    "cta": CTA,
}
PLAIN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; "
    "trusted-types 'none'; frame-ancestors "
)
ANALYTICS_POLICY = (
    "default-src 'none'; script-src 'self' https://www.googletagmanager.com; style-src 'self'; "
    "img-src 'self' https://*.google-analytics.com https://*.googletagmanager.com; font-src 'self'; media-src 'self'; "
    "connect-src 'self' https://*.google-analytics.com https://*.analytics.google.com https://*.googletagmanager.com; "
    "base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types docshare-analytics; "
    "frame-ancestors "
)


@pytest.fixture
def file(world: World) -> ConfiguredFile:
    """Return a file of Pia with all viewer settings."""
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(viewerSettings=ALL)
    return shared


def get_path(world: World, path: str) -> TestResponse:
    return world.http.get(path, buffered=True)


def get_share_page(world: World, file: ConfiguredFile, prefix: str = "") -> TestResponse:
    answer = get_path(world, f"{prefix}/{file.made['shortId']}")
    assert answer.status_code == 200
    return answer


def find_stylesheet_address(html: str) -> str | None:
    """Return the address of the file's own style sheet in the page."""
    found = re.search(r'<link rel="stylesheet" href="(/[^"/]+/style\.css\?v=[0-9a-f]{16})">', html)
    return found and found[1]


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_page_links_the_style_sheet_of_its_file(world: World, file: ConfiguredFile, prefix: str) -> None:
    where = find_stylesheet_address(get_share_page(world, file, prefix).text)
    assert where is not None
    answer = get_path(world, where)
    assert answer.content_type == "text/css; charset=utf-8"
    assert "--room:#102030;" in answer.text
    assert "--surface:#1b1b1e;" in answer.text


def test_a_file_with_default_looks_has_no_style_sheet(world: World) -> None:
    assert find_stylesheet_address(get_share_page(world, ConfiguredFile(world, world.pia)).text) is None


def test_the_style_sheet_is_cached_only_under_its_current_version(world: World, file: ConfiguredFile) -> None:
    where = find_stylesheet_address(get_share_page(world, file).text)
    assert where is not None
    assert get_path(world, where).headers["Cache-Control"] == "private, max-age=600"
    file.change_settings(viewerSettings={"background": {"color": "#405060"}})
    stale = get_path(world, where)
    assert (stale.status_code, stale.headers["Cache-Control"]) == (200, "private, no-store")
    assert "#405060" in stale.text
    assert find_stylesheet_address(get_share_page(world, file).text) != where


def test_the_style_sheet_of_a_dead_link_is_410(world: World, file: ConfiguredFile) -> None:
    where = find_stylesheet_address(get_share_page(world, file).text)
    assert where is not None
    update_file_row(world, file.made["uuid"], delete_at=world.clock.now)
    assert get_path(world, where).status_code == 410
    assert get_path(world, f"/nothing{where[13:]}").status_code == 404


def test_variants_and_invites_have_the_style_sheet_without_the_canonical_link(
    world: World, file: ConfiguredFile
) -> None:
    file.change_settings(viewerSettings=ALL | {"background": {"type": "image", "assetId": ASSET}})
    variant = world.pia.post(f"{file.path}/variants", json={"label": "Ada"}).get_json()
    insert_invite(world, file.made["uuid"], "cleo@acme.test", "InviteInvite")
    canonical = [file.made["uuid"], file.made["shortId"]]
    for name in (variant["shortId"], variant["uuid"], "InviteInvite"):
        html = get_path(world, f"/{name}").text
        where = find_stylesheet_address(html)
        assert where is not None
        assert where.startswith(f"/{name}/style.css")
        served = html + get_path(world, where).text
        assert f'url("assets/{ASSET}")' in served
        assert [each for each in canonical if each in served] == []


def test_styling_ends_with_a_downgrade_and_returns_with_an_upgrade(world: World, file: ConfiguredFile) -> None:
    before = get_share_page(world, file)
    where = find_stylesheet_address(before.text)
    assert where is not None
    file.set_plan("basic")
    basic = get_share_page(world, file)
    assert find_stylesheet_address(basic.text) not in (None, where)
    assert [word for word in ("Book a call", "G-ABCDEF1234", "away-note") if word in basic.text] == []
    assert "print-note" in basic.text
    assert "#ff0080" not in get_path(world, where).text
    assert get_path(world, where).headers["Cache-Control"] == "private, no-store"
    assert basic.headers["Content-Security-Policy"] == PLAIN_POLICY + "'none'"
    file.set_plan("free")
    free = get_share_page(world, file)
    assert find_stylesheet_address(free.text) is None
    assert "print-note" not in free.text
    assert 'class="logo"' not in free.text
    file.set_plan("pro")
    assert find_stylesheet_address(get_share_page(world, file).text) == where


def test_a_file_without_an_owner_has_the_looks_of_free(world: World, file: ConfiguredFile) -> None:
    update_file_row(world, file.made["uuid"], owner_id=None)
    html = get_share_page(world, file).text
    assert find_stylesheet_address(html) is None
    assert "Book a call" not in html


@pytest.mark.parametrize(("prefix", "ancestors"), [("", "'none'"), ("/embed", "*")])
def test_the_policy_allows_analytics_only_if_configured(
    world: World, file: ConfiguredFile, prefix: str, ancestors: str
) -> None:
    answer = get_share_page(world, file, prefix)
    assert answer.headers["Content-Security-Policy"] == ANALYTICS_POLICY + ancestors
    assert answer.headers.get("X-Frame-Options") == (None if prefix else "DENY")
    where = find_stylesheet_address(answer.text)
    assert where is not None
    assert get_path(world, where).headers["Content-Security-Policy"] == PLAIN_POLICY + "'none'"
    file.change_settings(viewerSettings={key: block for key, block in ALL.items() if key != "ga4Id"})
    assert get_share_page(world, file, prefix).headers["Content-Security-Policy"] == PLAIN_POLICY + ancestors


def test_the_gate_page_has_no_analytics(world: World, file: ConfiguredFile) -> None:
    file.change_settings(password="s3cret")
    for prefix in ("", "/embed"):
        answer = get_path(world, f"{prefix}/{file.made['shortId']}")
        assert "googletagmanager" not in answer.headers["Content-Security-Policy"]
        assert "G-ABCDEF1234" not in answer.text


def test_owner_links_open_a_new_tab_without_referrer_or_opener(world: World, file: ConfiguredFile) -> None:
    html = get_share_page(world, file).text
    links = re.findall(r'<a class="(?:cta|logo-link)[^>]*>', html)
    assert len(links) == 2
    for link in links:
        assert 'target="_blank" rel="noopener noreferrer nofollow"' in link
    assert 'href="https://acme.example/shop?a=1&amp;b=2"' in html
    assert 'alt="acme.example"' in html


def test_a_logo_without_a_link_is_decorative(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(viewerSettings={"logo": {"assetId": ASSET, "size": "xl"}})
    html = get_share_page(world, shared).text
    assert f'src="/{shared.made["shortId"]}/assets/{ASSET}" alt=""' in html
    assert "logo-link" not in html


@pytest.mark.parametrize(("hidden", "count"), [(False, 1), (True, 0)])
def test_the_badge_can_be_hidden(world: World, hidden: bool, count: int) -> None:
    shared = ConfiguredFile(world, world.bea)
    shared.change_settings(viewerSettings={"logo": {"hideBadge": hidden}})
    assert get_share_page(world, shared).text.count('class="pill badge"') == count


def read_reported_expiry(world: World, file: ConfiguredFile) -> tuple[str | None, str | None]:
    facts = FakeReader(world, file.made["shortId"]).facts
    return facts.get("expiresAt"), facts.get("servedAt")


def test_the_expiry_is_shown_unless_the_owner_hides_it(world: World, file: ConfiguredFile) -> None:
    assert read_reported_expiry(world, file) == (None, None)
    file.change_settings(deleteAt="2031-05-06T07:08:09Z")
    assert read_reported_expiry(world, file) == ("2031-05-06T07:08:09.000Z", "2026-09-21T14:13:20.000Z")
    file.change_settings(showExpiry=False)
    assert read_reported_expiry(world, file) == (None, None)
    assert "2031" not in get_share_page(world, file).text


def test_without_scripts_the_expiry_is_shown_on_the_last_day(world: World, file: ConfiguredFile) -> None:
    update_file_row(world, file.made["uuid"], delete_at=world.clock.now + 24 * 3600_000)
    assert "Available until" not in get_share_page(world, file).text
    world.clock.advance(seconds=1)
    assert re.search(r'Available until <time datetime="[^"]+Z">\d\d:\d\d UTC</time>', get_share_page(world, file).text)


HOSTILE = [
    "\"><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "javascript:alert(1)",
    "https://x/\" onmouseover=\"alert(1)",
    "url(//evil.example/x)",
    "red;} body{background:url(//evil.example)} x{",
    "data:text/html,<script>alert(1)</script>",
    "G-ABCDEF1234\"><img src=x onerror=alert(1)>",
    "//evil.example",
    "\\22 \\3e ",
]  # fmt: skip
FIELDS = {
    "background": ("type", "color", "preset", "assetId", "fit", "blur", "dim"),
    "logo": ("assetId", "position", "size", "linkUrl", "hideBadge"),
    "page": ("shadow", "rounded", "edges"),
    "brand": ("accentColor", "toolbarTheme", "badgePosition"),
    "cta": ("url", "style", "color", "position"),
    "protect": ("contextMenu", "print", "select", "blurOnLeave"),
    "watermarkStyle": ("opacity", "density"),
}


def make_hostile_settings(value: str) -> dict[str, Any]:
    """Return settings that no write would store, with ``value`` in every field; truthy values may be rendered."""
    blocks: dict[str, Any] = {key: dict.fromkeys(names, value) for key, names in FIELDS.items()}
    blocks["cta"]["label"] = value
    return {"viewerSettings": blocks | {"ga4Id": value}, "viewerMode": "standard"}


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_settings_in_the_database_are_ignored(world: World, value: str) -> None:
    file = ConfiguredFile(world, world.pia)
    clean = get_share_page(world, file).text
    update_file_row(world, file.made["uuid"], settings=json.dumps(make_hostile_settings(value)))
    answer = get_share_page(world, file)
    assert answer.headers["Content-Security-Policy"] == PLAIN_POLICY + "'none'"
    assert find_stylesheet_address(answer.text) is None
    assert re.findall(r"<(\w+)", answer.text) == re.findall(r"<(\w+)", clean)
    assert value not in answer.text


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_label_is_escaped(world: World, value: str) -> None:
    file = ConfiguredFile(world, world.pia)
    settings = {"viewerSettings": {"cta": CTA | {"label": value[:40]}}}
    update_file_row(world, file.made["uuid"], settings=json.dumps(settings))
    html = get_share_page(world, file).text
    links = re.findall(r'<a class="cta[^>]*>([^<]*)</a>', html)
    assert len(links) == 1
    assert not re.search(r"<script>alert|onerror=alert\(1\)>|<img src=x", html)
