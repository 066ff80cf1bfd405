"""Create, list and update webhooks of the people of the tests."""

import ipaddress
from typing import Any

from werkzeug.test import TestResponse

from docshare.server.runtime import Runtime
from tests.support.people.cast import Person, World

WEBHOOKS_PATH = "/api/v1/webhooks"
URL = "https://hook.example/in"


def resolve_all_hosts(rt: Runtime) -> None:
    """Resolve every host to a public address, and loopback addresses to themselves."""
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
    """Set columns of a webhook that otherwise only deliveries change."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with world.rt.db.write():
        assert world.rt.db.execute(f"UPDATE webhooks SET {names} WHERE uuid = ?", (*columns.values(), uuid)) == 1
