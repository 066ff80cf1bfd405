"""The gate page, which asks for the requirements of a link before it opens, and passing it."""

import re
import threading
from typing import Any

import pytest

from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import BASE_URL, World
from tests.support.people.gate_client import PAGES_MARKER, GateClient, parse_errors, parse_inputs, read_ticket

ODD = "<script>\"'&</script>"
FORM = [
    {"key": "password", "label": f"Your {ODD}", "type": "text", "required": False},
    {"key": "mail", "label": "Work mail", "type": "email", "required": True},
    {"key": "phone", "label": "Phone", "type": "phone", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
]
ALL = {"password": "Sesam & öffne", "gateFields": FORM, "viewLimit": 5}
FORM_VALUES = {"password": "Ada", "mail": "ada@a.example", "phone": "+49 30 1"}


def test_one_form_contains_all_requirements(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, **ALL)
    page = GateClient(world, uploaded_file["shortId"]).open_page()
    assert page.status_code == 200
    found = parse_inputs(page)
    assert list(found) == ["password", "field-password", "field-mail", "field-phone", "field-firm", "ticket"]
    assert [found[name]["type"] for name in found] == ["password", "text", "email", "tel", "text", "hidden"]
    assert [name for name in found if "required" in found[name]] == ["password", "field-mail", "field-phone"]
    assert re.findall(r'<label for="(.+?)">(.+?)</label>', page.text) == [
        ("password", "Password"),
        (
            "field-password",
            'Your &lt;script&gt;&#34;&#39;&amp;&lt;/script&gt; <span class="field-optional">optional</span>',
        ),
        ("field-mail", "Work mail"),
        ("field-phone", "Phone"),
        ("field-firm", 'Company <span class="field-optional">optional</span>'),
    ]
    assert "<script" not in page.text
    assert "autofocus" in found["password"]


@pytest.mark.parametrize(
    ("settings", "names", "words"),
    [
        ({"password": "x"}, ["password"], "the password that came with the link"),
        ({"requireEmail": True}, ["field-email"], "requires your email address first"),
        ({"gateFields": FORM[1:2]}, ["field-mail"], "requires a few details first"),
        ({"password": "x", "requireEmail": True}, ["password", "field-email"], "requires your details"),
        ({"viewLimit": 1}, [], "a limited number of times"),
    ],
)
def test_the_form_contains_only_the_requirements_of_the_link(
    world: World, uploaded_file: dict[str, Any], settings: dict[str, Any], names: list[str], words: str
) -> None:
    put_settings(world, uploaded_file, **settings)
    page = GateClient(world, uploaded_file["shortId"]).open_page()
    assert list(parse_inputs(page)) == [*names, "ticket"]
    assert words in page.text


def test_the_file_name_is_shown_only_on_gates_with_just_a_view_limit(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, viewLimit=1)
    page = GateClient(world, uploaded_file["shortId"]).open_page().text
    assert "<h1><bdi>report.pdf</bdi></h1>" in page
    assert "<title>report.pdf</title>" in page
    put_settings(world, uploaded_file, password="x")
    page = GateClient(world, uploaded_file["shortId"]).open_page().text
    assert "report.pdf" not in page
    assert "<title>Shared document</title>" in page
    assert '<meta property="og:title" content="Shared document">' in page


def test_passing_the_gate_redirects_to_the_page_and_sets_the_viewer_cookie(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, **ALL)
    guest = GateClient(world, uploaded_file["shortId"])
    answer = guest.submit("Sesam & öffne", **FORM_VALUES)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/{uploaded_file['shortId']}")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"viewer-{uploaded_file['shortId']}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert guest.is_in()
    assert not GateClient(world, uploaded_file["shortId"]).is_in()


@pytest.mark.parametrize("shape", ["shortId", "uuid", "slug"])
def test_the_gate_can_be_passed_under_every_name_of_a_link(
    world: World, uploaded_file: dict[str, Any], shape: str
) -> None:
    put_settings(world, uploaded_file, password="x", slug="the-plan")
    guest = GateClient(world, {**uploaded_file, "slug": "the-plan"}[shape])
    assert guest.submit("x").headers["Location"] == guest.path
    assert guest.is_in()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("?page=3&via=qr", "?page=3&via=qr"),
        ("?via=qr", "?via=qr"),
        ("?page=0&via=mail&next=//evil.example", ""),
        ("?page=3%0d%0aX:1", ""),
    ],
)
def test_page_and_source_parameters_survive_the_gate(
    world: World, uploaded_file: dict[str, Any], query: str, kept: str
) -> None:
    put_settings(world, uploaded_file, password="x")
    guest = GateClient(world, uploaded_file["shortId"])
    action = f'action="{guest.path}/enter{kept}"'.replace("&", "&amp;")
    assert action in guest.open_page(query).text
    assert guest.submit("x", query=query).headers["Location"] == guest.path + kept


def test_the_form_names_the_link_for_password_managers(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x", slug="offer")
    (hint,) = re.findall(r"<input [^>]*autocomplete=.username.[^>]*>", GateClient(world, "offer").open_page().text)
    assert f'value="{uploaded_file["shortId"]}"' in hint
    assert " name=" not in hint, "it would be sent"


def test_a_wrong_password_is_reported_at_its_field_and_other_values_are_preserved(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, **ALL)
    answer = GateClient(world, uploaded_file["shortId"]).submit("sesam", mail="ada@a.example", phone=ODD)
    assert answer.status_code == 403
    assert parse_errors(answer) == {"password": "The password is incorrect."}
    found = parse_inputs(answer)
    assert (found["password"]["aria-invalid"], found["password"]["aria-describedby"]) == ("true", "password-error")
    assert [name for name in found if "autofocus" in found[name]] == ["password"]
    assert found["field-mail"]["value"] == "ada@a.example"
    assert found["field-phone"]["value"] == ODD
    assert "value" not in found["password"]
    assert "sesam" not in answer.text


def test_each_invalid_field_has_its_own_error(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, **ALL)
    answer = GateClient(world, uploaded_file["shortId"]).submit("Sesam & öffne", mail="ada", password=ODD)
    assert answer.status_code == 422
    wrong = {
        "field-mail": "This must be an email address such as ada@example.com.",
        "field-phone": "This field is required.",
    }
    assert parse_errors(answer) == wrong
    found = parse_inputs(answer)
    assert [name for name in found if "autofocus" in found[name]] == ["field-mail"]
    assert [name for name in found if "aria-invalid" in found[name]] == list(wrong)
    assert "<title>Error: Shared document</title>" in answer.text
    assert count_rows(world, "viewers") == 0


@pytest.mark.parametrize("key", ["items", "keys", "values", "get", "copy", "update"])
def test_a_field_may_have_the_name_of_a_dict_method(world: World, uploaded_file: dict[str, Any], key: str) -> None:
    """This includes names of methods of a dict."""
    put_settings(
        world, uploaded_file, gateFields=[FORM[1], {"key": key, "label": "Items", "type": "text", "required": False}]
    )
    guest = GateClient(world, uploaded_file["shortId"])
    page = guest.open_page()
    assert parse_errors(page) == {}
    assert parse_inputs(page)[f"field-{key}"]["value"] == ""
    assert parse_inputs(guest.submit(mail="none", **{key: "two"}))[f"field-{key}"]["value"] == "two"


def test_an_empty_password_does_not_count_as_an_attempt(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x")
    guest = GateClient(world, uploaded_file["shortId"])
    for _ in range(20):
        answer = guest.submit("")
        assert (answer.status_code, parse_errors(answer)) == (422, {"password": "This field is required."})
    assert guest.submit("x").status_code == 303


def test_an_address_of_another_domain_is_rejected_without_naming_the_allowed_ones(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, requireEmail=True, gateDomains=["a.example"])
    guest = GateClient(world, uploaded_file["shortId"])
    answer = guest.submit(email="eve@b.example")
    assert answer.status_code == 403
    assert list(parse_errors(answer)) == ["field-email"]
    assert "a.example" not in answer.text
    assert not guest.is_in()
    assert guest.submit(email="Ada@A.example").status_code == 303


def test_a_rejected_form_stores_nothing(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, **ALL)
    before = dump_database(world)
    guest = GateClient(world, uploaded_file["shortId"])
    for answer in (
        guest.open_page(),
        guest.submit("no", **FORM_VALUES),
        guest.submit("Sesam & öffne"),
        guest.get(guest.path),
    ):
        assert PAGES_MARKER not in answer.text
    assert dump_database(world) == before


def test_a_reader_who_passed_the_gate_is_not_asked_again(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x", gateFields=FORM)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("x", **FORM_VALUES)
    world.clock.advance(days=100)
    assert guest.is_in()
    assert guest.submit("wrong").status_code == 303
    assert count_rows(world, "gate_rows") == 1


def test_only_new_requirements_are_asked_again(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x", gateFields=FORM)
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("x", **FORM_VALUES)
    put_settings(world, uploaded_file, password="y")
    assert list(parse_inputs(guest.open_page())) == ["password", "ticket"]
    assert guest.enter("y")
    assert count_rows(world, "gate_rows") == 1
    assert count_rows(world, "viewers") == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Origin": BASE_URL}, 303),
        ({"Origin": "null"}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": BASE_URL}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_a_cross_site_gate_form_is_rejected(
    world: World, uploaded_file: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    put_settings(world, uploaded_file, viewLimit=3)
    answer = GateClient(world, uploaded_file["shortId"]).post(f"/{uploaded_file['shortId']}/enter", headers=headers)
    assert answer.status_code == status
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["viewsConsumed"] == (status == 303)


def test_opening_the_form_address_redirects_to_the_page(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x")
    for path in (f"/{uploaded_file['shortId']}", f"/embed/{uploaded_file['shortId']}"):
        answer = world.http.get(f"{path}/enter?page=2")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}?page=2")


@pytest.mark.parametrize("name", ["zzzzzzzzzzzz", "%5Cevil.example", "%2F%2Fevil.example", "..", "%00"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_the_form_address_of_an_unknown_link_does_not_redirect(world: World, name: str, method: str) -> None:
    answer = getattr(world.http, method)(f"/{name}/enter")
    assert answer.status_code in (404, 405)
    assert "Location" not in answer.headers


def test_revoked_and_unknown_links_respond_identically_to_the_form(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="x")
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}"
    assert world.pia.put(path, json={"revoked": True}).status_code == 200
    answers = [GateClient(world, name).submit("x") for name in (variant["shortId"], "zzzzzzzzzzzz")]
    responses = [(answer.status_code, answer.data, sorted(set(answer.headers.keys()))) for answer in answers]
    assert responses[0] == responses[1]
    assert responses[0][0] == 404


@pytest.mark.parametrize("end", ["delete_at", "burned_at", "trashed_at"])
def test_the_gate_of_a_dead_link_cannot_be_passed(world: World, uploaded_file: dict[str, Any], end: str) -> None:
    put_settings(world, uploaded_file, password="x")
    update_file_row(world, uploaded_file["uuid"], **{end: world.clock.now - 1, "purge_at": None})
    assert GateClient(world, uploaded_file["shortId"]).submit("x").status_code == (404 if end == "trashed_at" else 410)


def test_a_link_that_changes_during_the_password_check_asks_again(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_settings(world, uploaded_file, password="x")
    write = type(world.rt.db).write

    def change_password_then_write(self: Any, *protects: Any) -> Any:
        monkeypatch.undo()
        put_settings(world, uploaded_file, password="y")
        return write(self, *protects)

    monkeypatch.setattr(type(world.rt.db), "write", change_password_then_write)
    guest = GateClient(world, uploaded_file["shortId"])
    answer = guest.submit("x")
    assert answer.status_code == 409
    assert parse_errors(answer) == {"": "The requirements of this link have just changed. Try again."}
    assert not guest.is_in()


def test_a_form_sent_several_times_creates_one_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    """After a second click, the browser discards the first response and its cookie."""
    put_settings(world, uploaded_file, **ALL)
    first = GateClient(world, uploaded_file["shortId"])
    ticket = read_ticket(first.open_page())
    barrier = threading.Barrier(8)
    clicks = [GateClient(world, uploaded_file["shortId"]) for _ in range(8)]
    for guest in clicks:
        guest.http.set_cookie(f"gate-{uploaded_file['shortId']}", first.gate_secret() or "")

    def click(guest: GateClient) -> None:
        barrier.wait(20)
        guest.submit("Sesam & öffne", ticket=ticket, **FORM_VALUES)

    threads = [threading.Thread(target=click, args=(guest,)) for guest in clicks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [guest.is_in() for guest in clicks] == [True] * 8
    assert (count_rows(world, "viewers"), count_rows(world, "gate_rows")) == (1, 1)
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()["viewsConsumed"] == 1


@pytest.mark.parametrize("ticket", ["", "x", "-", "9" * 15 + "-" + "a" * 20, "1-" + "a" * 20, "é" * 30])
def test_an_invalid_ticket_creates_a_new_reader(world: World, uploaded_file: dict[str, Any], ticket: str) -> None:
    put_settings(world, uploaded_file, viewLimit=5)
    for _ in range(2):
        assert GateClient(world, uploaded_file["shortId"]).submit(ticket=ticket).status_code == 303
    assert count_rows(world, "viewers") == 2


def test_an_expired_ticket_creates_a_new_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, viewLimit=5)
    guest = GateClient(world, uploaded_file["shortId"])
    ticket = read_ticket(guest.open_page())
    guest.submit(ticket=ticket)
    world.clock.advance(hours=1)
    guest.http.delete_cookie(f"viewer-{uploaded_file['shortId']}")
    guest.submit(ticket=ticket)
    assert count_rows(world, "viewers") == 2


def test_a_ticket_of_one_link_is_invalid_for_another(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, viewLimit=5)
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    guest = GateClient(world, uploaded_file["shortId"])
    ticket = read_ticket(guest.open_page())
    secret = guest.gate_secret() or ""
    for name in (uploaded_file["shortId"], variant["shortId"]):
        guest.http.set_cookie(f"gate-{name}", secret)
        guest.path = f"/{name}"
        assert guest.submit(ticket=ticket).status_code == 303
    assert count_rows(world, "viewers") == 2


@pytest.mark.parametrize("prefix", ["", "/embed"])
@pytest.mark.parametrize("secret", [None, "", "x", "0" * 40, "0" * 4000])
def test_a_ticket_does_not_admit_another_browser(
    world: World, uploaded_file: dict[str, Any], prefix: str, secret: str | None
) -> None:
    """A saved copy of the gate page contains the ticket but not the cookie."""
    put_settings(world, uploaded_file, **ALL)
    guest = GateClient(world, uploaded_file["shortId"], prefix=prefix)
    ticket = read_ticket(guest.open_page())
    assert guest.submit("Sesam & öffne", ticket=ticket, **FORM_VALUES).status_code == 303
    for thief in (GateClient(world, uploaded_file["shortId"], prefix=prefix), GateClient(world, uploaded_file["uuid"])):
        if secret is not None:
            thief.http.set_cookie(f"gate-{uploaded_file['shortId']}", secret)
        answer = thief.submit(ticket=ticket, **FORM_VALUES)
        assert (answer.status_code, parse_errors(answer)) == (422, {"password": "This field is required."})
        assert not thief.is_in()
    assert count_rows(world, "viewers") == 1
