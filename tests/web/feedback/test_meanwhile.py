"""Links that are revoked or deleted while a reader leaves feedback."""

from typing import Any

import pytest

from docshare.server.services.readership import readers
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FEEDBACK_WRITES, FeedbackClient

POST_WRITES = [write for write in FEEDBACK_WRITES if write[0] != "DELETE" and write[1] != "taps"]
TABLES = ("viewers", "notes", "marks", "annotations", "receipts", "activity_rows")


@pytest.mark.parametrize("deleted", [False, True], ids=["revoked", "deleted"])
@pytest.mark.parametrize(
    ("method", "path", "body"), POST_WRITES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_feedback_on_a_variant_that_ends_meanwhile_is_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any, deleted: bool
) -> None:
    """The response is 404, and no event is recorded."""
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    variants = f"/api/v1/files/{made['uuid']}/variants"
    variant = world.pia.post(variants, json={"label": "Ada"}).get_json()
    require = readers.require_channel

    def end_variant_then_require(*arguments: Any) -> Any:
        """End the variant immediately before the write."""
        address = f"{variants}/{variant['uuid']}"
        ended = world.pia.delete(address) if deleted else world.pia.put(address, json={"revoked": True})
        assert ended.status_code in (200, 204)
        return require(*arguments)

    client = FeedbackClient(world, variant["shortId"])
    monkeypatch.setattr(readers, "require_channel", end_variant_then_require)
    assert client.send(method, path, body).status_code == 404
    assert {table: count_rows(world, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
