"""The bundled listener rejects a replacement as soon as its headers are complete."""

from typing import Any

from tests.api.raw_client import ListenerResponse, RawClient, build_file_form, build_head
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import Person, World

MB = 1024 * 1024
TYPE_HEADER = {"Content-Type": "multipart/form-data; boundary=edge"}


def send_replacement_head(client: RawClient, who: Person, name: str, length: int = 200 * MB) -> ListenerResponse:
    """Send the head of a replacement and none of its body."""
    fields = {"Content-Length": str(length), **TYPE_HEADER, **who.headers}
    return client.send(build_head("POST", f"/api/v1/files/{name}/content", fields))


def get_status_and_code(reply: ListenerResponse) -> tuple[int, Any]:
    return reply.status, reply.json()["code"]


def test_the_listener_checks_credential_file_owner_plan_expiry_and_size_in_order(
    world: World, raw_client: RawClient
) -> None:
    """Only expiry is 410: a burned link can be replaced."""
    mine, burned, expired = world.pia.upload()["uuid"], world.pia.upload()["uuid"], world.pia.upload()["uuid"]
    basic = world.bea.upload()["uuid"]
    update_file_row(world, basic, delete_at=world.clock.now)
    update_file_row(world, burned, burned_at=world.clock.now)
    update_file_row(world, expired, burned_at=world.clock.now, delete_at=world.clock.now)
    nobody = Person("", "", "ds_live_nobody", world.pia.http)
    huge = 3 << 30
    assert get_status_and_code(send_replacement_head(raw_client, nobody, mine)) == (401, "unauthorized")
    assert get_status_and_code(send_replacement_head(raw_client, world.pia, UNKNOWN_UUID, huge)) == (404, "not_found")
    assert get_status_and_code(send_replacement_head(raw_client, world.fay, mine, huge)) == (403, "forbidden")
    assert get_status_and_code(send_replacement_head(raw_client, world.bea, basic, huge)) == (403, "plan_required")
    assert get_status_and_code(send_replacement_head(raw_client, world.pia, expired, huge)) == (410, "gone")
    assert get_status_and_code(send_replacement_head(raw_client, world.pia, burned, huge)) == (413, "payload_too_large")
    assert get_status_and_code(send_replacement_head(raw_client, world.pia, mine, huge)) == (413, "payload_too_large")
    assert not list(world.rt.blobs.tmp.iterdir())


def test_a_replacement_is_stored_once_and_counted_once(world: World, raw_client: RawClient) -> None:
    made, content = world.pia.upload(), simple_pdf(pages=5)
    path = f"/api/v1/files/{made['shortId']}/content"
    before = int(raw_client.request("GET", "/api/v1/user", world.pia.headers).headers["x-ratelimit-remaining"])
    reply = raw_client.request("POST", path, {**TYPE_HEADER, **world.pia.headers}, build_file_form(content))
    assert (reply.status, reply.json()["contentVersion"]) == (200, 2)
    assert int(reply.headers["x-ratelimit-remaining"]) == before - 1
    assert raw_client.request("GET", path, world.pia.headers).body == content
    assert not list(world.rt.blobs.tmp.iterdir())
