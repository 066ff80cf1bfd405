"""Links are accepted wherever ids are."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from docshare.client import Client
from docshare.client.errors import BadAddress
from docshare.contract.problems import Problem
from tests.support.outside.fake_api import FakeApi

UUID = "9f8b7c6d-0001-4000-8000-000000000001"
FILES = [{"uuid": UUID, "shortId": "aB3dE5fG7hJ9", "slug": "handbook", "shareUrl": "https://d.example/handbook"}]
OWN_LINKS = [
    UUID, UUID.upper().join(("https://other.example/", "")), f"https://d.example/embed/{UUID}", "slug:handbook",
    "https://d.example/handbook", "https://d.example/embed/handbook?x=1#page=2",
]  # fmt: skip

CALLS: dict[str, Callable[[Client, str], object]] = {
    "files.show": lambda client, file: client.files.show(file),
    "files.delete": lambda client, file: client.files.delete(file),
    "files.restore": lambda client, file: client.files.restore(file),
    "files.qr": lambda client, file: client.files.qr(file),
    "files.content": lambda client, file: client.files.content(file),
    "settings.write": lambda client, file: client.settings.write(file, {}),
    "variants.list": lambda client, file: client.variants.list(file),
    "invites.list": lambda client, file: client.invites.list(file),
    "readership.report": lambda client, file: client.readership.report(file),
    "readership.sessions": lambda client, file: client.readership.session_page(file),
}


@pytest.mark.parametrize("link", OWN_LINKS)
@pytest.mark.parametrize("call", CALLS)
def test_a_method_accepts_every_name_of_a_file(api: FakeApi, client: Client, call: str, link: str) -> None:
    api.files = FILES
    with suppress(Exception):  # only the address of the request is judged here
        CALLS[call](client, link)
    assert api.requests[-1].path.startswith(f"/files/{UUID}"), api.requests[-1]


@pytest.mark.parametrize("call", ["events", "activity", "webhooks", "keys"])
def test_filters_accept_share_links(api: FakeApi, client: Client, call: str) -> None:
    api.files = FILES
    link = "https://d.example/handbook"
    calls: dict[str, Callable[[], object]] = {
        "events": lambda: client.events.page(file=link),
        "activity": lambda: client.activity.page(file=link),
        "webhooks": lambda: client.webhooks.create("https://h.example", ["file.viewed"], file=link),
        "keys": lambda: client.keys.create("ci", ["files:read"], file=link),
    }
    with suppress(Exception):  # only the request is judged here
        calls[call]()
    assert UUID in str(api.requests[-1]), api.requests[-1]


def test_a_custom_link_of_another_server_is_refused(api: FakeApi, client: Client) -> None:
    api.files = FILES
    with pytest.raises(BadAddress, match="belongs to another server"):
        client.files.show("https://other.example/handbook")


@pytest.mark.parametrize(
    "link",
    ["slug:missing", "https://d.example/missing", "https://d.example/HANDBOOK", "https://d.example/", "../keys", "a/b"],
)
def test_an_unknown_link_is_not_found(api: FakeApi, client: Client, link: str) -> None:
    api.files = FILES
    with pytest.raises(Problem) as caught:
        client.files.show(link)
    assert caught.value.code == "not_found"
    assert not any(request.path.startswith("/files/") for request in api.requests)


def test_a_public_method_takes_links_with_an_id(api: FakeApi, client: Client) -> None:
    with pytest.raises(Problem):
        client.public.metadata("https://d.example/aB3dE5fG7hJ9")
    assert api.requests[-1].path == "/api/files/aB3dE5fG7hJ9/metadata"
