"""The settings of a file."""

import json
from dataclasses import replace
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters

from docshare.server.app import create_app
from tests.api.route_table import UNKNOWN_UUID
from tests.contract.settings_table import ASSET, CTA, FORM
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database, record_all, sqlite_only
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World
from tests.support.people.settings import ConfiguredFile, insert_asset

MB = 1024 * 1024
LARGE = 100 * MB + 1


def assert_refused(file: ConfiguredFile, body: Any, status: int, code: str) -> str:
    """Assert that ``body`` is rejected and changes neither row nor bytes; return the detail."""
    before = file.read_row_and_bytes()
    answer = file.put_settings(body)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code), answer.text
    assert file.read_row_and_bytes() == before
    return str(answer.get_json()["detail"])


def test_success_is_200_with_a_zero_byte_body(file: ConfiguredFile) -> None:
    answer = file.put_settings({"viewerMode": "swipe"})
    assert (answer.status_code, answer.data, answer.headers["Content-Length"]) == (200, b"", "0")


def test_a_request_without_a_body_changes_nothing(file: ConfiguredFile) -> None:
    before = file.read_row_and_bytes()
    answer = file.owner.put(f"{file.path}/settings")
    assert (answer.status_code, answer.data) == (200, b"")
    assert file.read_row_and_bytes() == before


@pytest.mark.parametrize("body", [{}, {"unknown": 1}, {"password ": "x", "Slug": "a"}])
def test_unknown_top_level_keys_are_ignored(world: World, file: ConfiguredFile, body: Any) -> None:
    before = file.read_row_and_bytes()
    world.clock.advance(minutes=1)
    file.change_settings(**body)
    assert file.read_row_and_bytes() == before


def test_the_path_accepts_a_uuid_in_any_case_and_a_short_id_but_no_slug(file: ConfiguredFile) -> None:
    for number, name in enumerate((file.made["uuid"].upper(), file.made["shortId"])):
        assert file.owner.put(f"/api/v1/files/{name}/settings", json={"viewLimit": number + 1}).status_code == 200
        assert file.has_values({"viewLimit": number + 1})
    file.change_settings(slug="abcdefghijkl")
    assert file.owner.put("/api/v1/files/abcdefghijkl/settings", json={}).status_code == 404


def test_unknown_foreign_unclaimed_and_trashed_files_have_the_same_404(world: World, file: ConfiguredFile) -> None:
    unclaimed, trashed = world.pia.upload(), world.pia.upload()
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    foreign = ConfiguredFile(world, world.mal)
    before = foreign.read_row_and_bytes()
    names = (UNKNOWN_UUID, foreign.made["uuid"], foreign.made["shortId"], unclaimed["uuid"], trashed["uuid"])
    answers = [world.pia.put(f"/api/v1/files/{name}/settings", json={"viewerMode": "swipe"}) for name in names]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert foreign.read_row_and_bytes() == before


@pytest.mark.parametrize("columns", [{"delete_at": 0}, {"burned_at": 0}, {"delete_at": 0, "burned_at": 0}])
@pytest.mark.parametrize("body", [{"viewerMode": "swipe"}, {"neverExpire": True}, {"viewLimit": 0}, {}])
def test_settings_of_an_expired_or_burned_file_are_410_and_do_not_change(
    world: World, file: ConfiguredFile, columns: dict[str, int], body: Any
) -> None:
    update_file_row(world, file.made["uuid"], **columns)
    assert_refused(file, body, 410, "gone")


def test_omitted_fields_keep_their_value(file: ConfiguredFile) -> None:
    everything = {
        "viewerMode": "magazine", "allowDownload": False, "showExpiry": False, "notifyOnView": True, "viewLimit": 7,
        "deleteAt": "2031-01-01T00:00:00.000Z", "pageRange": {"from": 1, "to": 2}, "gateFields": FORM, "slug": "kept",
        "gateDomains": ["a.example"], "askReceipt": True, "watermark": True, "viewerSettings": {"cta": CTA},
        "designToolUpdatesEnabled": True,
    }  # fmt: skip
    file.change_settings(**everything, password="secret")
    file.change_settings(marksEnabled=True)
    assert file.has_values({**everything, "marksEnabled": True, "requireEmail": True, "protected": True})


def test_one_forbidden_field_rejects_the_whole_write(world: World) -> None:
    """The other fields of the request are not stored."""
    file = ConfiguredFile(world, world.bea)
    allowed = {"viewerMode": "swipe", "allowDownload": False, "password": "secret", "viewLimit": 3, "askReceipt": True}
    detail = assert_refused(file, {**allowed, "requireEmail": True}, 403, "plan_required")
    assert "requireEmail" in detail
    assert "requires the pro plan" in detail


def test_viewer_settings_equal_to_the_defaults_are_allowed_on_free(world: World) -> None:
    file = ConfiguredFile(world, world.fay)
    file.change_settings(
        viewerSettings={"flip": {"speedMs": 450, "rtl": False}, "background": {"color": "#FFFFFF"}, "cta": []}
    )
    assert file.has_values({"viewerSettings": {}})
    assert_refused(file, {"viewerSettings": {"flip": {"speedMs": 451}}}, 403, "plan_required")


def test_one_pro_field_below_pro_rejects_all_viewer_settings(world: World) -> None:
    file = ConfiguredFile(world, world.bea)
    settings = {"flip": {"rtl": True}, "protect": {"print": True, "blurOnLeave": True}}
    assert "viewerSettings.protect requires the pro plan" in assert_refused(
        file, {"viewerSettings": settings}, 403, "plan_required"
    )


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"flip": {"speedMs": 50}}, {"flip": {"speedMs": 200}}),
        ({"watermarkStyle": {"opacity": 0.9}}, {"watermarkStyle": {"opacity": 0.5}}),
        ({"watermarkStyle": {"opacity": -1}}, {"watermarkStyle": {"opacity": 0.05}}),
        ({"background": {"blur": 99, "dim": 99}}, {"background": {"blur": 20, "dim": 80}}),
        ({"page": {"shadow": -3, "unknown": 1}, "unknown": {"a": 1}}, {"page": {"shadow": 0}}),
        ({"logo": {"size": "xxl", "position": "tl"}}, {"logo": {"position": "tl"}}),
        ({"background": {"gradient": "mono"}}, {"background": {"preset": "mono"}}),
        ({"swipe": None, "flip": {"rtl": "yes", "sound": True}}, {"flip": {"sound": True}}),
        ([], {}),
        ({"page": [], "flip": []}, {}),
    ],
)
def test_viewer_settings_ignore_unknown_keys_and_clamp_numbers(file: ConfiguredFile, sent: Any, stored: Any) -> None:
    """``[]`` is accepted as ``{}``, for the whole object and for each block."""
    file.change_settings(viewerSettings=sent)
    assert file.has_values({"viewerSettings": stored})


def test_viewer_settings_replace_the_whole_stored_object(file: ConfiguredFile) -> None:
    file.change_settings(viewerSettings={"flip": {"rtl": True}, "page": {"shadow": 0, "edges": True}})
    file.change_settings(viewerSettings={"page": {"edges": True}})
    assert file.has_values({"viewerSettings": {"page": {"edges": True}}})


@pytest.mark.parametrize("block", ["logo", "background"])
def test_an_asset_of_another_file_rejects_the_write(world: World, file: ConfiguredFile, block: str) -> None:
    """This holds even if both files have the same owner."""
    other = ConfiguredFile(world, world.pia)  # the asset belongs to this file
    body = {"viewerMode": "swipe", "viewerSettings": {block: {"assetId": ASSET}}}
    assert ASSET in assert_refused(file, body, 400, "bad_request")
    other.change_settings(**body)
    file.change_settings(viewerSettings={"flip": {"rtl": True}})


def test_an_unknown_asset_or_one_that_is_not_an_image_rejects_the_write(world: World, file: ConfiguredFile) -> None:
    assert_refused(file, {"viewerSettings": {"logo": {"assetId": UNKNOWN_UUID}}}, 400, "bad_request")
    insert_asset(world, file.made["uuid"], "hotspot-audio", UNKNOWN_UUID)
    assert_refused(file, {"viewerSettings": {"logo": {"assetId": UNKNOWN_UUID}}}, 400, "bad_request")


def test_an_asset_id_is_accepted_in_any_case(file: ConfiguredFile) -> None:
    file.change_settings(viewerSettings={"logo": {"assetId": ASSET.upper()}})
    assert file.has_values({"viewerSettings": {"logo": {"assetId": ASSET}}})


@pytest.mark.parametrize("body", [{"gateFields": FORM}, {"gateFields": FORM, "requireEmail": False}])
def test_a_gate_form_enables_the_email_gate_even_against_the_same_body(file: ConfiguredFile, body: Any) -> None:
    """A non-empty ``gateFields`` overrides ``requireEmail``."""
    file.change_settings(**body)
    assert file.has_values({"gateFields": FORM, "requireEmail": True})
    file.change_settings(requireEmail=False)
    assert file.has_values({"gateFields": FORM, "requireEmail": True})


@pytest.mark.parametrize("empty", [None, []])
def test_clearing_the_gate_form_keeps_the_email_gate(file: ConfiguredFile, empty: Any) -> None:
    file.change_settings(gateFields=FORM)
    file.change_settings(gateFields=empty)
    assert "gateFields" not in file.get_file()
    assert file.has_values({"requireEmail": True})
    file.change_settings(gateFields=empty, requireEmail=False)
    assert file.has_values({"requireEmail": False})


def test_an_email_field_is_always_required_and_labels_are_trimmed(file: ConfiguredFile) -> None:
    file.change_settings(gateFields=[{"key": "m", "label": " Mail ", "type": "email", "required": False}])
    assert file.has_values({"gateFields": [{"key": "m", "label": "Mail", "type": "email", "required": True}]})


def test_show_expiry_does_not_affect_the_detail_for_the_owner(file: ConfiguredFile) -> None:
    file.change_settings(showExpiry=False, deleteAt="2031-01-01T00:00:00Z")
    assert file.has_values({"showExpiry": False, "deleteAt": "2031-01-01T00:00:00.000Z"})


def test_never_expire_true_removes_the_expiry_and_false_keeps_it(file: ConfiguredFile) -> None:
    file.change_settings(deleteAt="2031-01-01T00:00:00Z")
    file.change_settings(neverExpire=False)
    assert file.has_values({"deleteAt": "2031-01-01T00:00:00.000Z"})
    file.change_settings(neverExpire=False, deleteAt="2032-01-01T00:00:00Z")
    assert file.has_values({"deleteAt": "2032-01-01T00:00:00.000Z"})
    file.change_settings(neverExpire=True)
    assert "deleteAt" not in file.get_file()
    assert "neverExpire" not in file.get_file()


def test_never_expire_together_with_an_expiry_is_400(file: ConfiguredFile) -> None:
    assert_refused(file, {"neverExpire": True, "deleteAt": "2031-01-01T00:00:00Z"}, 400, "bad_request")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "2126-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("person", ["fay", "bea", "pia"])
def test_the_expiry_of_an_owned_file_is_not_limited_on_any_plan(world: World, person: str, text: str) -> None:
    file = ConfiguredFile(world, getattr(world, person))
    file.change_settings(deleteAt=text)
    assert file.get_file()["deleteAt"] in ("9999-12-31T23:59:59.000Z", "2125-12-31T10:00:00.000Z")


@pytest.mark.parametrize("text", ["2020-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-09-21T14:13:20Z"])
def test_an_expiry_in_the_past_expires_the_link_at_once(world: World, file: ConfiguredFile, text: str) -> None:
    file.change_settings(deleteAt=text)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 410
    assert_refused(file, {"neverExpire": True}, 410, "gone")


def test_setting_a_view_limit_starts_its_count_at_zero(world: World, file: ConfiguredFile) -> None:
    file.change_settings(viewLimit=5)
    update_file_row(world, file.made["uuid"], views_consumed=3)
    file.change_settings(viewerMode="swipe")
    assert file.has_values({"viewLimit": 5, "viewsConsumed": 3})
    file.change_settings(viewLimit=1_000_000)
    assert file.has_values({"viewLimit": 1_000_000, "viewsConsumed": 0})


def test_a_page_range_must_be_within_the_document(file: ConfiguredFile) -> None:
    file.change_settings(pageRange={"from": 3, "to": 3, "extra": True})
    assert file.has_values({"pageRange": {"from": 3, "to": 3}})
    assert "3 pages" in assert_refused(file, {"pageRange": {"from": 1, "to": 4}}, 400, "bad_request")
    assert file.put_settings({"pageRange": {"from": 1, "to": 4}}).get_json()["hint"] == (
        'The document has 3 pages. Use a range within 1-3, such as {"from": 1, "to": 3}; '
        '{"from": 0, "to": 0} shows all pages.'
    )


def test_a_page_range_can_be_cleared_but_not_set_on_a_file_over_100_mb(world: World, file: ConfiguredFile) -> None:
    """Setting it is 413."""
    update_file_row(world, file.made["uuid"], size=100 * MB)
    file.change_settings(pageRange={"from": 1, "to": 2})
    update_file_row(world, file.made["uuid"], size=LARGE)
    assert_refused(file, {"pageRange": {"from": 1, "to": 1}}, 413, "payload_too_large")
    file.change_settings(pageRange={"from": 0, "to": 0})
    assert "pageRange" not in file.get_file()


@pytest.mark.parametrize(
    ("existing", "body", "allowed"),
    [
        ({}, {"watermark": True}, False),
        ({}, {"watermark": True, "allowDownload": True}, False),
        ({}, {"watermark": True, "allowDownload": False}, True),
        ({"allowDownload": False}, {"watermark": True}, True),
        ({"allowDownload": False, "watermark": True}, {"allowDownload": True}, False),
        ({"allowDownload": False, "watermark": True}, {"allowDownload": True, "watermark": False}, True),
        ({"watermark": True}, {"viewerMode": "swipe"}, True),
        ({"watermark": True}, {"watermark": False}, True),
        ({"watermark": True}, {"allowDownload": False}, True),
    ],
)
def test_a_watermark_together_with_downloads_cannot_be_set_over_100_mb(
    world: World, file: ConfiguredFile, existing: Any, body: Any, allowed: bool
) -> None:
    """The watermark without downloads is allowed."""
    update_file_row(world, file.made["uuid"], size=100 * MB)
    file.change_settings(**existing)
    update_file_row(world, file.made["uuid"], size=LARGE)
    if allowed:
        file.change_settings(**body)
    else:
        assert "100 MB" in assert_refused(file, body, 400, "bad_request")


def test_a_password_is_stored_as_argon2id_and_never_returned(world: World, file: ConfiguredFile) -> None:
    """The hash uses 19 MiB, two passes, one lane and a new salt each time."""
    hashes = []
    for _ in range(2):
        file.change_settings(password=" Grüße 🙂 ")
        found = world.rt.db.fetch_one("SELECT password_hash FROM files WHERE uuid = ?", (file.made["uuid"],))
        assert found is not None
        hashes.append(found[0])
        assert PasswordHasher().verify(found[0], " Grüße 🙂 ")
        terms = extract_parameters(found[0])
        assert (terms.type.name, terms.memory_cost, terms.time_cost, terms.parallelism) == ("ID", 19 * 1024, 2, 1)
    assert hashes[0] != hashes[1]
    assert file.has_values({"protected": True})
    assert "argon2" not in json.dumps(file.get_file())
    assert "Grü" not in str(dump_database(world))


@pytest.mark.parametrize("secret", ["x" * 128, "ß" * 64, " ", "0", "a b"])
def test_a_password_of_up_to_128_bytes_is_accepted_unchanged(file: ConfiguredFile, secret: str) -> None:
    file.change_settings(password=secret)
    assert file.has_values({"protected": True})


def test_a_rejected_write_does_not_hash_the_password(world: World) -> None:
    """Hashing is expensive, so it happens only for a write that can succeed."""
    salts: list[bytes] = []

    def record_salt(length: int) -> bytes:
        salts.append(b"x" * length)
        return salts[-1]

    http = create_app(replace(world.rt, random_bytes=record_salt)).test_client()
    for person, status in ((world.fay, 403), (world.mal, 404), (world.pia, 404), (world.bea, 200)):
        made = world.bea.upload() if person in (world.mal, world.bea) else person.upload()
        path = f"/api/v1/files/{made['uuid'] if person is not world.pia else UNKNOWN_UUID}/settings"
        answer = http.put(path, json={"password": "secret"}, headers=person.headers)
        assert (answer.status_code, len(salts)) == (status, int(status == 200))


def test_detaching_a_missing_design_changes_nothing(file: ConfiguredFile) -> None:
    before = file.get_file()
    file.change_settings(detachDesignToolDesign=True)
    assert file.get_file() == before


@sqlite_only
def test_a_write_takes_seven_statements(world: World, file: ConfiguredFile) -> None:
    """The statements after the commit look up the download, to try it."""
    with record_all(world.rt.db) as seen:
        file.change_settings(slug="q3", viewerSettings={"logo": {"assetId": ASSET}}, pageRange={"from": 1, "to": 2})
        file.owner.put(f"{file.path}/settings")
    # The second write changes nothing: credential, begin, file, commit.
    write = ["SELECT", "BEGIN", "SELECT", "SELECT", "SELECT", "UPDATE", "COMMIT"]
    assert [text.split()[0] for text in seen] == [*write, "SELECT", "SELECT", "SELECT", "BEGIN", "SELECT", "COMMIT"]


def test_a_page_range_is_checked_against_the_pages_of_its_own_document(world: World) -> None:
    """The document has more pages than those of other tests."""
    long = ConfiguredFile(world, world.pia, simple_pdf(pages=9))
    long.change_settings(pageRange={"from": 4, "to": 9})
    assert long.has_values({"pageRange": {"from": 4, "to": 9}})
