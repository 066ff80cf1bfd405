"""Webhooks of the cast, made and looked at through the door."""

import ipaddress
from typing import Any

from werkzeug.test import TestResponse

from docshare.server.runtime import Runtime
from tests.support.cast import Person, World

WEBHOOKS_PATH = "/api/v1/webhooks"
URL = "https://hook.example/in"


def resolve_all_hosts(rt: Runtime) -> None:
    """Let every name be found at a public address, and an address at itself."""
    rt.outbound.resolve = lambda host: [ipaddress.ip_address(host if host.startswith("127.") else "93.184.216.34")]


def post_webhook(person: Person, **body: Any) -> TestResponse:
    return person.post(WEBHOOKS_PATH, json={"url": URL, "events": ["file.viewed"], **body})


def create_webhook(person: Person, **body: Any) -> dict[str, Any]:
    answer = post_webhook(person, **body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.get_json()
    return made


def list_webhooks(person: Person) -> list[dict[str, Any]]:
    answer = person.get(WEBHOOKS_PATH)
    assert answer.status_code == 200
    assert list(answer.get_json()) == ["webhooks"]
    rows: list[dict[str, Any]] = answer.get_json()["webhooks"]
    return rows


def update_webhook_row(world: World, uuid: str, **columns: Any) -> None:
    """Set columns of a webhook's row to what only deliveries can make them."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with world.rt.db.write():
        assert world.rt.db.execute(f"UPDATE webhooks SET {names} WHERE uuid = ?", (*columns.values(), uuid)) == 1
