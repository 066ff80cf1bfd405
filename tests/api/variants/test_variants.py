"""Variants: create, list, update, delete."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.database import record_all, sqlite_only
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.people.cast import Person, World

MB = 1024 * 1024


def build_variants_path(made: dict[str, Any]) -> str:
    return f"/api/v1/files/{made['uuid']}/variants"


def create_variant(owner: Person, made: dict[str, Any], **body: Any) -> dict[str, Any]:
    answer = owner.post(build_variants_path(made), json=body)
    assert answer.status_code == 201, answer.text
    row: dict[str, Any] = answer.get_json()
    return row


def update_variant(owner: Person, made: dict[str, Any], variant: dict[str, Any], **body: Any) -> TestResponse:
    return owner.put(f"{build_variants_path(made)}/{variant['uuid']}", json=body)


def list_variants(owner: Person, made: dict[str, Any]) -> list[dict[str, Any]]:
    answer = owner.get(build_variants_path(made))
    assert answer.status_code == 200
    assert list(answer.get_json()) == ["variants"]
    rows: list[dict[str, Any]] = answer.get_json()["variants"]
    return rows


def test_a_variant_has_its_keys_in_order(world: World, uploaded_file: dict[str, Any]) -> None:
    row = create_variant(world.pia, uploaded_file, label="  Ada Lovelace ", overrides={"allowDownload": False})
    assert list(row) == ["uuid", "shortId", "url", "label", "overrides", "revoked", "redacted", "createdAt"]
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", row["uuid"])
    assert re.fullmatch("[0-9A-Za-z]{12}", row["shortId"])
    assert row["shortId"] != uploaded_file["shortId"]
    assert row["url"] == f"http://127.0.0.1:8787/{row['shortId']}"
    assert row["label"] == "Ada Lovelace"
    assert row["overrides"] == {"allowDownload": False}
    assert (row["revoked"], row["redacted"]) == (False, False)
    assert row["createdAt"] == "2026-09-21T14:13:20.000Z"
    assert list_variants(world.pia, uploaded_file) == [row]


def test_a_variant_can_be_created_without_a_body(world: World, uploaded_file: dict[str, Any]) -> None:
    """The label is absent if it is not set."""
    answer = world.pia.post(build_variants_path(uploaded_file))
    assert answer.status_code == 201
    assert "label" not in answer.get_json()
    assert answer.get_json()["overrides"] == {}


def test_the_list_is_newest_first_and_includes_revoked_and_redacted_variants(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """Only deleted variants are not listed."""
    rows = [create_variant(world.pia, uploaded_file, label=f"Reader {number}") for number in range(3)]
    update_variant(world.pia, uploaded_file, rows[0], revoked=True)
    world.pia.delete(f"{build_variants_path(uploaded_file)}/{rows[1]['uuid']}?redact=1")
    assert [(row["uuid"], row["revoked"], row["redacted"]) for row in list_variants(world.pia, uploaded_file)] == [
        (rows[2]["uuid"], False, False),
        (rows[1]["uuid"], False, True),
        (rows[0]["uuid"], True, False),
    ]


def test_the_path_accepts_a_short_id_of_the_file_but_not_of_the_variant(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The UUID of the variant is accepted in any case."""
    row = create_variant(world.pia, uploaded_file)
    base = f"/api/v1/files/{uploaded_file['shortId']}/variants"
    assert world.pia.get(base).get_json()["variants"] == [row]
    for name in (row["uuid"], row["uuid"].upper()):
        assert world.pia.put(f"{base}/{name}", json={}).get_json()["uuid"] == row["uuid"]
    for name in (row["shortId"], uploaded_file["uuid"], uploaded_file["shortId"], UNKNOWN_UUID, "nope"):
        assert world.pia.put(f"{base}/{name}", json={}).status_code == 404
        assert world.pia.delete(f"{base}/{name}").status_code == 404
    assert list_variants(world.pia, uploaded_file) == [row]


def test_slugs_and_variant_ids_are_not_accepted_as_the_file(world: World, uploaded_file: dict[str, Any]) -> None:
    """Only the UUID and the short id of the file identify it."""
    update_file_row(world, uploaded_file["uuid"], slug="my-report")
    row = create_variant(world.pia, uploaded_file)
    for name in ("my-report", row["uuid"], row["shortId"]):
        assert world.pia.get(f"/api/v1/files/{name}/variants").status_code == 404
        assert world.pia.get(f"/api/v1/files/{name}").status_code == 404


def test_foreign_trashed_and_unclaimed_files_have_the_404_of_an_unknown_file(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    row = create_variant(world.pia, uploaded_file, label="Ada")
    trashed, unclaimed = world.mal.upload(), world.mal.upload()
    world.mal.delete(f"/api/v1/files/{trashed['uuid']}")
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    for uuid in (uploaded_file["uuid"], trashed["uuid"], unclaimed["uuid"]):
        for method, tail in (("GET", ""), ("POST", ""), ("PUT", f"/{row['uuid']}"), ("DELETE", f"/{row['uuid']}")):
            response, unknown = (
                world.http.open(
                    f"/api/v1/files/{name}/variants{tail}",
                    method=method,
                    headers=world.mal.headers,
                    json={"label": "x"},
                )
                for name in (uuid, UNKNOWN_UUID)
            )
            assert response.status_code == 404
            assert response.data == unknown.data
    assert list_variants(world.pia, uploaded_file) == [row]


def test_a_variant_of_another_file_is_not_found(world: World, uploaded_file: dict[str, Any]) -> None:
    """A variant is looked up within its file."""
    other = create_variant(world.pia, world.pia.upload(), label="Ada")
    assert update_variant(world.pia, uploaded_file, other, label="Eve").status_code == 404
    assert world.pia.delete(f"{build_variants_path(uploaded_file)}/{other['uuid']}").status_code == 404
    assert count_rows(world, "variants") == 1


PLANS = [
    # plan, list, create, update, delete
    (Plan.FREE, 403, 403, 200, 204),
    (Plan.BASIC, 403, 403, 200, 204),
    (Plan.PRO, 200, 201, 200, 204),
]


@pytest.mark.parametrize(("plan", "listing", "creating", "updating", "deleting"), PLANS)
def test_a_downgraded_owner_can_update_and_delete_but_not_list_or_create(
    world: World, uploaded_file: dict[str, Any], plan: Plan, listing: int, creating: int, updating: int, deleting: int
) -> None:
    row = create_variant(world.pia, uploaded_file, label="Ada")
    accounts.set_tier(world.rt, world.pia.email, plan)
    path = f"{build_variants_path(uploaded_file)}/{row['uuid']}"
    first, second = (
        world.pia.get(build_variants_path(uploaded_file)),
        world.pia.post(build_variants_path(uploaded_file)),
    )
    assert (first.status_code, second.status_code) == (listing, creating)
    for answer in (first, second):
        if answer.status_code == 403:
            assert answer.get_json()["code"] == "plan_required"
            assert "requires the pro plan" in answer.get_json()["detail"]
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert update_variant(world.pia, uploaded_file, row, revoked=True).status_code == updating
    assert world.pia.delete(f"{path}?redact=1").status_code == deleting
    assert world.pia.delete(path).status_code == deleting


LABELS = [
    # sent, status, stored (None: absent)
    ("a", 201, "a"),
    ("", 201, None),
    ("  x  ", 201, "x"),
    ("x" * 200, 201, "x" * 200),
    ("🙂" * 200, 201, "🙂" * 200),
    ("  " + "🙂" * 200 + "  ", 201, "🙂" * 200),
    ("x" * 201, 400, None),
    ("🙂" * 201, 400, None),
    ("   ", 400, None),
    ("a\nb", 400, None),
    ("a\x00b", 400, None),
    (None, 400, None),
    (7, 400, None),
    (True, 400, None),
    (["a"], 400, None),
    ({"a": 1}, 400, None),
]


@pytest.mark.parametrize(("label", "status", "stored"), LABELS)
def test_a_label_has_at_most_200_characters(
    world: World, uploaded_file: dict[str, Any], label: object, status: int, stored: str | None
) -> None:
    """Characters are counted as code points."""
    answer = world.pia.post(build_variants_path(uploaded_file), json={"label": label})
    assert answer.status_code == status
    if status == 400:
        assert answer.get_json()["code"] == "bad_request"
        assert count_rows(world, "variants") == 0
    else:
        assert answer.get_json().get("label") == stored


def test_an_update_changes_only_the_given_fields(world: World, uploaded_file: dict[str, Any]) -> None:
    """An empty label removes the label."""
    row = create_variant(world.pia, uploaded_file, label="Ada", overrides={"allowDownload": False})
    assert update_variant(world.pia, uploaded_file, row).get_json() == row
    assert world.pia.put(f"{build_variants_path(uploaded_file)}/{row['uuid']}").get_json() == row
    assert update_variant(world.pia, uploaded_file, row, label="Bea").get_json() == row | {"label": "Bea"}
    revoked = update_variant(world.pia, uploaded_file, row, revoked=True).get_json()
    assert revoked == row | {"label": "Bea", "revoked": True}
    assert update_variant(world.pia, uploaded_file, row, revoked=True).get_json() == revoked
    cleared = update_variant(world.pia, uploaded_file, row, label="", revoked=False).get_json()
    assert cleared == {key: value for key, value in row.items() if key != "label"}
    assert list_variants(world.pia, uploaded_file) == [cleared]


def test_overrides_are_replaced_as_a_whole(world: World, uploaded_file: dict[str, Any]) -> None:
    """Overrides that a PUT omits are removed, unless it omits ``overrides`` itself."""
    both = {"allowDownload": False, "pageRange": {"from": 1, "to": 2}}
    row = create_variant(world.pia, uploaded_file, overrides=both)
    assert update_variant(world.pia, uploaded_file, row, label="Ada").get_json()["overrides"] == both
    only = {"pageRange": {"from": 2, "to": 3}}
    assert update_variant(world.pia, uploaded_file, row, overrides=only).get_json()["overrides"] == only
    assert update_variant(world.pia, uploaded_file, row, revoked=False).get_json()["overrides"] == only
    assert update_variant(world.pia, uploaded_file, row, overrides={}).get_json()["overrides"] == {}
    assert list_variants(world.pia, uploaded_file)[0]["overrides"] == {}


OVERRIDES = [
    # sent, status, stored
    ({}, 201, {}),
    ([], 201, {}),
    ({"allowDownload": True}, 201, {"allowDownload": True}),
    ({"pageRange": {"from": 0, "to": 0}}, 201, {"pageRange": {"from": 0, "to": 0}}),
    ({"pageRange": {"from": 1, "to": 3}}, 201, {"pageRange": {"from": 1, "to": 3}}),
    ({"pageRange": {"from": 3, "to": 3, "x": 1}}, 201, {"pageRange": {"from": 3, "to": 3}}),
    ({"pageRange": {"from": 3, "to": 4}}, 400, None),
    ({"pageRange": {"from": 2, "to": 1}}, 400, None),
    ({"pageRange": {"from": 0, "to": 1}}, 400, None),
    ({"pageRange": {"from": -1, "to": 1}}, 400, None),
    ({"pageRange": {"from": 1}}, 400, None),
    ({"pageRange": {"from": 1.0, "to": 2}}, 400, None),
    ({"pageRange": {"from": True, "to": True}}, 400, None),
    ({"pageRange": {"from": "1", "to": "2"}}, 400, None),
    ({"pageRange": {"from": 1, "to": 2**62}}, 400, None),
    ({"pageRange": [1, 2]}, 400, None),
    ({"pageRange": None}, 400, None),
    ({"allowDownload": 1}, 400, None),
    ({"allowDownload": "true"}, 400, None),
    ({"allowDownload": None}, 400, None),
    ({"password": "secret"}, 400, None),
    ({"requireEmail": True}, 400, None),
    ([1], 400, None),
    ("x", 400, None),
    (None, 400, None),
    (True, 400, None),
]


@pytest.mark.parametrize(("overrides", "status", "stored"), OVERRIDES)
def test_invalid_overrides_are_400(
    world: World, uploaded_file: dict[str, Any], overrides: object, status: int, stored: object
) -> None:
    """``pageRange`` must be within the document or both 0; password and gates cannot be overridden."""
    answer = world.pia.post(build_variants_path(uploaded_file), json={"overrides": overrides})
    assert answer.status_code == status
    if status == 201:
        assert answer.get_json()["overrides"] == stored
    else:
        assert "overrides" in answer.get_json()["detail"]
        row = create_variant(world.pia, uploaded_file, label="Ada", overrides={"allowDownload": False})
        refused = update_variant(world.pia, uploaded_file, row, label="Eve", overrides=overrides, revoked=True)
        assert refused.status_code == status
        assert list_variants(world.pia, uploaded_file) == [row]


def test_the_hint_for_a_range_beyond_the_document_names_the_pages(world: World, uploaded_file: dict[str, Any]) -> None:
    sent = {"overrides": {"pageRange": {"from": 3, "to": 4}}}
    hint = world.pia.post(build_variants_path(uploaded_file), json=sent).get_json()["hint"]
    assert hint.startswith('The document has 3 pages. Use a range within 1-3, such as {"from": 1, "to": 3};')


def test_a_file_over_100_mb_rejects_page_range_and_watermarked_downloads(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The statuses are those of the settings of the file."""
    update_file_row(world, uploaded_file["uuid"], size=100 * MB, settings='{"watermark":true}')
    create_variant(world.pia, uploaded_file, overrides={"allowDownload": True, "pageRange": {"from": 1, "to": 1}})
    update_file_row(world, uploaded_file["uuid"], size=100 * MB + 1)
    expected = {
        413: {"pageRange": {"from": 1, "to": 1}},
        400: {"allowDownload": True},
        201: {"allowDownload": False, "pageRange": {"from": 0, "to": 0}},
    }
    for status, overrides in expected.items():
        assert world.pia.post(build_variants_path(uploaded_file), json={"overrides": overrides}).status_code == status


def test_password_and_gates_in_the_body_of_a_variant_are_ignored(world: World, uploaded_file: dict[str, Any]) -> None:
    """Variants have the password and the gate of the file."""
    row = create_variant(
        world.pia, uploaded_file, password="secret", requireEmail=True, gateFields=[], shortId="abcdefghijkl", uuid="x"
    )
    assert not {"password", "requireEmail", "gateFields"} & row.keys()
    assert row["shortId"] != "abcdefghijkl"
    assert world.http.get(f"/{row['shortId']}").status_code == 200


def test_a_variant_cannot_be_created_as_revoked(world: World, uploaded_file: dict[str, Any]) -> None:
    assert create_variant(world.pia, uploaded_file, revoked=True)["revoked"] is False


@pytest.mark.parametrize("revoked", [0, 1, "true", None, [], {}])
def test_revoked_is_a_boolean(world: World, uploaded_file: dict[str, Any], revoked: object) -> None:
    row = create_variant(world.pia, uploaded_file)
    assert update_variant(world.pia, uploaded_file, row, revoked=revoked).status_code == 400
    assert list_variants(world.pia, uploaded_file) == [row]


def insert_variants(world: World, made: dict[str, Any], number: int) -> None:
    with world.rt.db.write():
        for index in range(number):
            world.rt.db.execute(
                "INSERT INTO variants (uuid, short_id, file_id, created_at, revoked_at, redacted_at) "
                "SELECT ?, ?, id, 1, ?, ? FROM files WHERE uuid = ?",
                (f"u{index}", f"s{index}", index % 2 or None, index % 3 or None, made["uuid"]),
            )


def test_the_201st_variant_including_revoked_and_redacted_ones_is_400(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The status is not 403 or 409; a deleted variant does not count."""
    insert_variants(world, uploaded_file, 199)
    last = create_variant(world.pia, uploaded_file)
    answer = world.pia.post(build_variants_path(uploaded_file), json={"label": "one more"})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert "200" in answer.get_json()["detail"]
    assert len(list_variants(world.pia, uploaded_file)) == 200
    other = world.pia.upload()
    assert world.pia.post(build_variants_path(other)).status_code == 201
    world.pia.delete(f"{build_variants_path(uploaded_file)}/{last['uuid']}")
    assert world.pia.post(build_variants_path(uploaded_file)).status_code == 201


def test_concurrent_requests_create_at_most_200_variants(world: World, uploaded_file: dict[str, Any]) -> None:
    """Exactly as many requests as the limit allows succeed; the others are 400."""
    insert_variants(world, uploaded_file, 195)

    def create_one(_: int) -> int:
        answer = world.app.test_client().post(build_variants_path(uploaded_file), headers=world.pia.headers)
        return answer.status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(create_one, range(24)))
    assert sorted(statuses) == [201] * 5 + [400] * 19
    assert count_rows(world, "variants") == 200


@sqlite_only
def test_a_list_of_200_variants_takes_two_statements(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_variants(world, uploaded_file, 200)
    world.pia.get("/api/v1/user")
    with record_all(world.rt.db) as seen:
        assert len(list_variants(world.pia, uploaded_file)) == 200
    assert len(seen) == 2


HOSTILE_BODIES: dict[str, tuple[bytes, str]] = {
    "a list": (b"[]", "application/json"),
    "a word": (b'"x"', "application/json"),
    "null": (b"null", "application/json"),
    "half": (b'{"label":', "application/json"),
    "twice": (b'{"label":"a","label":"b"}', "application/json"),
    "surrogate": (b'{"label":"\\ud800"}', "application/json"),
    "nul": (b'{"label":"a\\u0000"}', "application/json"),
    "deep": (b'{"overrides":' + b"[" * 5000, "application/json"),
    "deep and closed": (b'{"overrides":' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}", "application/json"),
    "huge": (b'{"overrides":{"pageRange":{"from":' + b"9" * 5000 + b',"to":1}}}', "application/json"),
    "infinite": (b'{"overrides":{"pageRange":{"from":1e999,"to":NaN}}}', "application/json"),
    "utf-16": ('{"label":"a"}'.encode("utf-16"), "application/json"),
    "latin": (b'{"label":"\xe9"}', "application/json"),
    "a form": (b"label=a", "application/x-www-form-urlencoded"),
    "text": (b'{"label":"a"}', "text/plain"),
    "no type": (b'{"label":"a"}', ""),
    "a megabyte": (b'{"label":"' + b"a" * (1 << 20) + b'"}', "application/json"),
}


@pytest.mark.parametrize("name", HOSTILE_BODIES)
def test_a_hostile_body_is_rejected_and_changes_nothing(world: World, uploaded_file: dict[str, Any], name: str) -> None:
    body, content_type = HOSTILE_BODIES[name]
    expected = {"a form": 415, "text": 415, "no type": 415, "a megabyte": 413}.get(name, 400)
    row = create_variant(world.pia, uploaded_file, label="Ada")
    posted = world.pia.post(build_variants_path(uploaded_file), data=body, content_type=content_type)
    put = world.pia.put(f"{build_variants_path(uploaded_file)}/{row['uuid']}", data=body, content_type=content_type)
    assert (posted.status_code, put.status_code) == (expected, expected)
    assert put.headers["Content-Type"] == "application/problem+json"
    assert list_variants(world.pia, uploaded_file) == [row]
