"""Requests of the owner of a file: change its settings, and open its pages while signed in."""

from typing import Any

from flask.testing import FlaskClient

from docshare.server.services.accounts import sign_in
from tests.support.engines.database import record_all
from tests.support.people.cast import Person, World


def put_settings(world: World, made: dict[str, Any], **settings: Any) -> None:
    """Change the settings of Pia's file ``made`` (an upload result)."""
    answer = world.pia.put(f"/api/v1/files/{made['uuid']}/settings", json=settings)
    assert answer.status_code == 200, answer.text


def sign_in_browser(world: World, person: Person) -> FlaskClient:
    """Return a browser in which ``person`` is signed in."""
    http = world.app.test_client()
    url = sign_in.create_link(world.rt, person.email)
    assert http.post(url.removeprefix(world.rt.config.base_url)).status_code == 303
    return http


def get_readership(world: World, made: dict[str, Any], tail: str) -> Any:
    """Return a response below ``/readership`` of Pia's file."""
    answer = world.pia.get(f"/api/v1/files/{made['uuid']}/readership{tail}")
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def count_statements(world: World, http: FlaskClient, address: str) -> int:
    """Return the number of SQL statements that a page executes."""
    with record_all(world.rt.db) as seen:
        assert http.get(address).status_code == 200
    return len(seen)
