"""The public download: who receives which bytes, and what is recorded."""

import io
import json
import re
from typing import Any

import pikepdf
import pypdfium2
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.documents.leaky_pdf import WINDOW, leaky_pdf
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import BASE_URL, World

PDF = simple_pdf(pages=3)
HERE = {"REMOTE_ADDR": "203.0.113.7"}
STAMP = re.compile(r"127\.0\.0\.1 - copy ([0-9A-F]{4}-[0-9A-F]{4}) - 2026-09-21")
pytestmark = pytest.mark.file_document(PDF, "Plan.pdf")


def download(http: FlaskClient, name: str, **headers: str) -> TestResponse:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return http.post(f"/{name}/download", headers=named, environ_overrides=HERE, buffered=True)


def create_variant(world: World, made: dict[str, Any], **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json=body).get_json()
    return found


def list_downloads(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/events?type=download").get_json()
    return rows


def list_events(world: World) -> list[tuple[str, dict[str, Any], int | None]]:
    rows = world.rt.db.fetch_all("SELECT event, data, variant_id FROM activity_rows ORDER BY id")
    return [(event, json.loads(data), variant_id) for event, data, variant_id in rows]


def extract_page_texts(document: bytes) -> list[str]:
    with pypdfium2.PdfDocument(document) as pdf:
        return [str(page.get_textpage().get_text_bounded()) for page in pdf]


def has_download_button(world: World, name: str, http: FlaskClient | None = None) -> bool:
    return f'action="/{name}/download"' in (http or world.http).get(f"/{name}").text


@pytest.mark.parametrize("key", ["shortId", "uuid"])
def test_a_form_post_downloads_the_stored_bytes(world: World, uploaded_file: dict[str, Any], key: str) -> None:
    answer = download(world.http, uploaded_file[key])
    assert (answer.status_code, answer.data) == (200, PDF)
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="Plan.pdf"'
    assert answer.headers["Content-Length"] == str(len(PDF))
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Accept-Ranges" not in answer.headers


def test_a_byte_range_is_ignored(world: World, uploaded_file: dict[str, Any]) -> None:
    answer = download(world.http, uploaded_file["shortId"], Range="bytes=0-3")
    assert (answer.status_code, answer.data) == (200, PDF)


def test_a_converted_document_is_downloaded_as_a_pdf(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], original_name="Übersicht.docx")
    saved = download(world.http, uploaded_file["shortId"]).headers["Content-Disposition"]
    assert saved.endswith("filename*=UTF-8''%C3%9Cbersicht.docx.pdf")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_the_download_route_accepts_post_only(world: World, uploaded_file: dict[str, Any], method: str) -> None:
    answer = world.http.open(f"/{uploaded_file['shortId']}/download", method=method)
    assert answer.status_code == 405
    assert list_downloads(world) == []


def test_a_download_is_recorded_in_the_stream_and_as_an_event(world: World, uploaded_file: dict[str, Any]) -> None:
    assert download(world.http, uploaded_file["shortId"]).status_code == 200
    (row,) = list_downloads(world)
    assert row == {
        "id": 2,
        "fileUuid": uploaded_file["uuid"],
        "fileName": "Plan.pdf",
        "readAt": "2026-09-21T14:13:20.000Z",
        "country": "DE",
        "type": "download",
    }
    assert list_events(world) == [
        ("file.downloaded", {"fileUuid": uploaded_file["uuid"], "fileName": "Plan.pdf"}, None)
    ]
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["viewCount"] == 0


@pytest.mark.parametrize(("body", "expected"), [({"label": "Ada"}, {"variantLabel": "Ada"}), ({}, {})])
def test_the_event_names_the_variant(
    world: World, uploaded_file: dict[str, Any], body: dict[str, Any], expected: dict[str, Any]
) -> None:
    variant = create_variant(world, uploaded_file, **body)
    assert download(world.http, variant["shortId"]).status_code == 200
    ((event, data, variant_id),) = list_events(world)
    assert (event, variant_id) == ("file.downloaded", 1)
    assert (
        data == {"fileUuid": uploaded_file["uuid"], "fileName": "Plan.pdf", "variantUuid": variant["uuid"]} | expected
    )


def test_a_download_by_the_owner_is_in_the_stream_but_creates_no_event(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """Actions of the signed-in owner create no events."""
    assert download(sign_in_browser(world, world.pia), uploaded_file["shortId"]).status_code == 200
    assert len(list_downloads(world)) == 1
    assert list_events(world) == []
    assert download(sign_in_browser(world, world.mal), uploaded_file["shortId"]).status_code == 200
    assert [event for event, _, _ in list_events(world)] == ["file.downloaded"]


def test_downloads_by_programs_are_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    assert download(world.http, uploaded_file["shortId"], User_Agent="curl/8.5.0").status_code == 200
    assert len(list_downloads(world)) == 1


@pytest.mark.parametrize(
    ("file", "variant", "status"),
    [(False, None, 403), (False, True, 200), (True, False, 403), (True, True, 200), (True, None, 200)],
)
def test_allow_download_of_the_variant_overrides_that_of_the_file(
    world: World, uploaded_file: dict[str, Any], file: bool, variant: bool | None, status: int
) -> None:
    put_settings(world, uploaded_file, allowDownload=file)
    overrides = {} if variant is None else {"allowDownload": variant}
    name = create_variant(world, uploaded_file, overrides=overrides)["shortId"]
    answer = download(world.http, name)
    assert answer.status_code == status
    assert b"%PDF-" not in answer.data or status == 200
    assert has_download_button(world, name) is (status == 200)
    assert len(list_downloads(world)) == (status == 200)
    assert download(world.http, uploaded_file["shortId"]).status_code == (200 if file else 403)


def test_the_owner_can_always_download(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, allowDownload=False, pageRange={"from": 1, "to": 1}, watermark=True)
    owner = sign_in_browser(world, world.pia)
    assert download(owner, uploaded_file["shortId"]).data == PDF
    assert has_download_button(world, uploaded_file["shortId"], owner)
    assert not has_download_button(world, uploaded_file["shortId"])


def test_readers_download_only_the_page_range(world: World) -> None:
    document, hidden = leaky_pdf()
    made = world.pia.upload(document, "Leaky.pdf")
    put_settings(world, made, pageRange={"from": WINDOW[0], "to": WINDOW[1]})
    answer = download(world.http, made["shortId"])
    assert answer.status_code == 200
    with pikepdf.open(io.BytesIO(answer.data)) as pdf:
        streams = [value.read_bytes() for value in pdf.objects if isinstance(value, pikepdf.Stream)]
        everything_in_it = b"\n".join([answer.data, *streams])
        assert len(pdf.pages) == 2
    assert [word for word in hidden if word.encode() in everything_in_it] == []
    assert ["KEPTPage2" in extract_page_texts(answer.data)[0], "KEPTPage3" in extract_page_texts(answer.data)[1]] == [
        True,
        True,
    ]


def test_a_variant_downloads_its_own_page_range(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    whole = create_variant(world, uploaded_file, overrides={"pageRange": {"from": 0, "to": 0}})
    other = create_variant(world, uploaded_file, overrides={"pageRange": {"from": 3, "to": 3}})
    assert extract_page_texts(download(world.http, uploaded_file["shortId"]).data) == ["Page 2 of 3"]
    assert extract_page_texts(download(world.http, other["shortId"]).data) == ["Page 3 of 3"]
    assert download(world.http, whole["shortId"]).data == PDF


def test_a_page_range_is_extracted_once_and_cached(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    derive = world.rt.engine._derive
    monkeypatch.setattr(world.rt.engine, "_derive", lambda *args, **more: (made.append(args[1]), derive(*args, **more)))
    for first in (1, 1, 2, 1):
        put_settings(world, uploaded_file, pageRange={"from": first, "to": 2})
        assert len(extract_page_texts(download(world.http, uploaded_file["shortId"]).data)) == 3 - first
    assert [(job["first"], job["last"]) for job in made] == [(1, 2), (2, 2)]


def test_a_failed_extraction_is_rejected_and_never_sends_the_whole_document(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    update_file_row(
        world, uploaded_file["uuid"], total_pages=9
    )  # so the engine finds another number of pages than the row
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    answer = download(world.http, uploaded_file["shortId"])
    assert (answer.status_code, answer.mimetype) == (422, "text/html")
    assert b"%PDF-" not in answer.data
    assert (list_downloads(world), list_events(world)) == ([], [])


def test_a_document_above_the_size_limit_is_neither_cut_nor_sent_whole(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    update_file_row(world, uploaded_file["uuid"], size=100 * 1024**2)
    assert download(world.http, uploaded_file["shortId"]).status_code == 200
    update_file_row(world, uploaded_file["uuid"], size=100 * 1024**2 + 1)
    assert download(world.http, uploaded_file["shortId"]).status_code == 403
    assert not has_download_button(world, uploaded_file["shortId"])


def test_every_page_of_the_download_has_the_watermark(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, watermark=True)
    for number, text in enumerate(extract_page_texts(download(world.http, uploaded_file["shortId"]).data), 1):
        assert f"Page {number} of 3" in text
        assert STAMP.search(text)


def test_the_watermark_code_differs_per_link_and_reveals_neither_label_nor_link(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, watermark=True, pageRange={"from": 1, "to": 1})
    variant = create_variant(world, uploaded_file, label="Ada Lovelace")
    codes = set()
    for name in (uploaded_file["shortId"], uploaded_file["uuid"], variant["shortId"], variant["uuid"]):
        (text,) = extract_page_texts(download(world.http, name).data)
        found = STAMP.search(text)
        assert found is not None
        codes.add(found[1])
        secrets = ("Ada", uploaded_file["shortId"], uploaded_file["uuid"], variant["shortId"], variant["uuid"])
        assert [secret for secret in secrets if secret in text] == []
    assert len(codes) == 2


def test_a_downgrade_removes_the_watermark_but_not_the_page_range(world: World, uploaded_file: dict[str, Any]) -> None:
    """After a downgrade, readers still must not see more pages than the owner shared."""
    put_settings(world, uploaded_file, watermark=True, pageRange={"from": 2, "to": 3})
    assert STAMP.search(extract_page_texts(download(world.http, uploaded_file["shortId"]).data)[0])
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert extract_page_texts(download(world.http, uploaded_file["shortId"]).data) == ["Page 2 of 3", "Page 3 of 3"]


def test_the_watermark_uses_the_style_of_the_owner(world: World, uploaded_file: dict[str, Any]) -> None:
    sheets = []
    for density in ("sparse", "dense"):
        put_settings(
            world,
            uploaded_file,
            watermark=True,
            viewerSettings={"watermarkStyle": {"opacity": 0.5, "density": density}},
        )
        sheets.append(len(STAMP.findall(extract_page_texts(download(world.http, uploaded_file["shortId"]).data)[0])))
    assert sheets[0] < sheets[1]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "null"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": BASE_URL}, 200),
        ({"Origin": "null"}, 200),
        ({"Origin": "https://elsewhere.example"}, 403),
    ],
)
def test_a_cross_site_download_request_is_rejected(
    world: World, uploaded_file: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    assert download(world.http, uploaded_file["shortId"], **headers).status_code == status
    assert len(list_downloads(world)) == (status == 200)


def test_a_slug_cannot_be_downloaded_and_its_page_uses_the_short_id(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, slug="the-plan")
    assert download(world.http, "the-plan").status_code == 404
    assert f'action="/{uploaded_file["shortId"]}/download"' in world.http.get("/the-plan").text


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"trashed_at": 1, "purge_at": 9_000_000_000_000}, 404),
        ({"delete_at": 1}, 410),
        ({"burned_at": 1}, 410),
        ({"password_hash": "x"}, 303),
        ({"view_limit": 5}, 303),
        ({"settings": '{"requireEmail":true}'}, 303),
    ],
)
def test_a_link_that_cannot_be_opened_cannot_be_downloaded(
    world: World, uploaded_file: dict[str, Any], change: dict[str, Any], status: int
) -> None:
    update_file_row(world, uploaded_file["uuid"], **change)
    answer = download(world.http, uploaded_file["shortId"])
    assert answer.status_code == status
    assert b"%PDF-" not in answer.data
    assert count_rows(world, "download_rows") == 0


def test_a_revoked_variant_and_an_unknown_link_are_indistinguishable(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    variant = create_variant(world, uploaded_file)
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}"
    assert world.pia.put(path, json={"revoked": True}).status_code == 200
    revoked, unknown = download(world.http, variant["shortId"]), download(world.http, "aaaaaaaaaaaa")
    assert (revoked.status_code, revoked.data) == (404, unknown.data)


def test_a_file_with_missing_bytes_is_404_and_not_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    ((blob,),) = world.rt.db.fetch_all("SELECT blob FROM files")
    world.rt.blobs.delete(blob)
    assert download(world.http, uploaded_file["shortId"]).status_code == 404
    assert list_downloads(world) == []


def test_downloads_are_limited_to_60_per_minute_and_address(world: World, uploaded_file: dict[str, Any]) -> None:
    for _ in range(60):
        assert download(world.http, uploaded_file["shortId"]).status_code == 200
    refused = download(world.http, uploaded_file["shortId"])
    assert (refused.status_code, refused.mimetype) == (429, "text/html")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert len(world.rt.db.fetch_all("SELECT 1 FROM download_rows")) == 60
    world.clock.advance(minutes=1)
    assert download(world.http, uploaded_file["shortId"]).status_code == 200


@pytest.mark.parametrize("setting", [{}, {"watermark": True}, {"allowDownload": False}])
def test_displaying_the_download_button_stores_nothing(
    world: World, uploaded_file: dict[str, Any], setting: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, **setting)
    before = dump_database(world)
    assert has_download_button(world, uploaded_file["shortId"]) is ("allowDownload" not in setting)
    assert dump_database(world) == before


def test_the_form_works_without_scripts(world: World, uploaded_file: dict[str, Any]) -> None:
    html = world.http.get(f"/{uploaded_file['shortId']}").text
    plain = html.split("<noscript>\n<nav")[1].split("</noscript>")[0]
    assert re.search(
        rf'<form method="post" action="/{uploaded_file["shortId"]}/download"><button[^>]* type="submit"', plain
    )


def test_purging_a_file_deletes_its_cached_copies(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    download(world.http, uploaded_file["shortId"])
    copies = list(world.rt.config.data_dir.glob("cache/**/*.pdf*"))
    assert len(copies) == 1
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1")
    assert list(world.rt.config.data_dir.glob("cache/**/*.pdf*")) == []
