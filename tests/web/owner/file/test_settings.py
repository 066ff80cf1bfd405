"""The settings and looks forms of a file: each field has the same effect as through the API."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS, Setting
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from docshare.server.services.accounts import accounts
from tests.contract.settings_table import CASES, LOOKS, LookCase, SettingCase, is_allowed
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import parse_html
from tests.support.documents.inherited_resources import checkbox_without_state_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.owner.file import form_error
from tests.support.people.cast import World
from tests.support.people.settings import ConfiguredFile

SETTINGS_WITHOUT_CONTROL = {"viewerSettings"}  # each of its fields has a control
SEPARATELY_TESTED = {"deleteAt", "neverExpire", "password", "detachDesignToolDesign", "viewerSettings"}


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    """Return an instance with a design tool, so that the form contains every setting."""
    tool = "https://design.example.com"
    return make(design_user_jwks_url=f"{tool}/keys", design_user_issuer=tool, design_user_audience="docshare")


def open_settings_form(http: FlaskClient, shared: ConfiguredFile, page: str = "settings") -> Form:
    return Form(http, f"/files/{shared.made['uuid']}/{page}")


def get_settings_page_name(name: str) -> str:
    return "looks" if name in ("viewerMode", "viewerSettings") else "settings"


def build_form_values(name: str, value: Any) -> dict[str, str]:
    """Return the form input that sets ``value``."""
    if isinstance(value, bool):
        return {name: "on" if value else ""}
    if name == "pageRange":
        return {f"{name}.{end}": str(number or "") for end, number in value.items()}
    if name == "gateFields":
        rows = value or [{"key": "", "label": "", "type": "text", "required": False}] * 2
        return {
            f"{name}.{at}.{key}": ("on" if part else "") if isinstance(part, bool) else part
            for at, row in enumerate(rows)
            for key, part in row.items()
        }
    return {name: "\n".join(value) if isinstance(value, list) else str(value or "")}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name not in SEPARATELY_TESTED], ids=lambda case: case.name
)
def test_a_setting_can_be_set_and_reset_in_the_form(world: World, case: SettingCase) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    assert (
        open_settings_form(http, shared, get_settings_page_name(case.name)).send_and_follow(
            build_form_values(case.name, case.value)
        )
        == "Saved."
    )
    assert shared.has_values(case.expected)
    # Null returns to a default that depends on other settings; a form can only set the switch.
    reset_value = True if case.name == "readerChoice" else case.reset_value
    open_settings_form(http, shared, get_settings_page_name(case.name)).send_and_follow(
        build_form_values(case.name, reset_value)
    )
    assert shared.has_values(case.expected_after_reset)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.field)
def test_a_look_set_in_the_form_equals_one_set_by_the_api(world: World, look: LookCase) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(viewerSettings=look.deviation)
    expected = shared.get_file()["viewerSettings"]
    shared.change_settings(viewerSettings={})
    http = sign_in_browser(world, world.pia)
    open_settings_form(http, shared, "looks").send_and_follow(build_look_form_values(look.deviation))
    assert shared.get_file()["viewerSettings"] == expected


def build_look_form_values(deviation: dict[str, Any]) -> dict[str, str]:
    found = {}
    for key, block in deviation.items():
        inner = {f".{name}": value for name, value in block.items()} if isinstance(block, dict) else {"": block}
        for name, value in inner.items():
            found[f"viewerSettings.{key}{name}"] = ("on" if value else "") if isinstance(value, bool) else str(value)
    return found


def test_every_setting_and_viewer_field_has_a_control(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(deleteAt="2031-01-01T00:00:00Z")
    http = sign_in_browser(world, world.pia)
    names = {name for page in ("settings", "looks") for name in open_settings_form(http, shared, page).fields}
    boxes = {
        node.attrs["name"]
        for page in ("settings", "looks")
        for node in open_settings_form(http, shared, page).node.find_all("input", type="checkbox")
    }
    settings = {name.partition(".")[0] for name in names | boxes}
    assert {case.name for case in CASES} - settings == set()
    assert {f"viewerSettings.{look.field}" for look in LOOKS if "[" not in look.field} - names - boxes == set()


def test_design_tool_settings_are_hidden_if_no_design_tool_is_configured(make: Callable[..., World]) -> None:
    world = make()
    form = open_settings_form(sign_in_browser(world, world.pia), ConfiguredFile(world, world.pia))
    assert "Design tool" not in form.node.words
    assert [name for name in form.fields if "esign" in name] == []
    assert form.send_and_follow({"allowDownload": ""}) == "Saved."


def test_the_form_names_the_link_for_password_managers(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    page = parse_html(sign_in_browser(world, world.pia).get(f"/files/{shared.made['uuid']}/settings").text)
    hint = page.find_one("input", autocomplete="username")
    assert (hint.attrs["value"], hint.attrs.get("name")) == (shared.made["shortId"], None)


def test_a_new_table_row_gets_a_control_automatically(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    monkeypatch.setitem(SETTINGS, "neverPrint", Setting("neverPrint", "boolean", default=False))
    monkeypatch.setitem(VIEWER_BLOCKS, "paper", {"texture": ViewerField("word", default="flat", words=("flat", "old"))})
    page = parse_html(http.get(f"/files/{shared.made['uuid']}/settings").text)
    assert page.find_one("input", name="neverPrint").attrs["type"] == "checkbox"
    assert page.find_one("label", **{"for": "c-neverPrint"}).words == "Never print"
    looks = parse_html(http.get(f"/files/{shared.made['uuid']}/looks").text)
    assert [
        node.attrs["value"] for node in looks.find_one("select", name="viewerSettings.paper.texture").find_all("option")
    ] == [
        "flat",
        "old",
    ]


@pytest.mark.parametrize(("who", "tier"), [("fay", "free"), ("bea", "basic")])
def test_settings_above_the_plan_are_disabled_with_a_reason(world: World, who: str, tier: str) -> None:
    shared = ConfiguredFile(world, getattr(world, who))
    http = sign_in_browser(world, shared.owner)
    form = open_settings_form(http, shared)
    looks = open_settings_form(http, shared, "looks")
    for case in CASES:
        if case.name in ("viewerSettings", "neverExpire", "viewerMode"):
            continue
        locked = {name.partition(".")[0] for name in form.disabled}
        assert (case.name in locked) == (not is_allowed(tier, case.plan)), case.name
    for look in LOOKS:
        name = next(iter(build_look_form_values(look.deviation)))
        assert (name in looks.disabled) == (not is_allowed(tier, look.plan)), look.field
    assert "Requires the Pro plan." in form.node.words
    assert ("Requires the Basic plan." in form.node.words) == (tier == "free")


def test_a_pro_setting_can_be_reset_after_a_downgrade(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(watermark=True, viewerSettings={"flip": {"rtl": True}, "brand": {"accentColor": "#123456"}})
    shared.set_plan("basic")
    http = sign_in_browser(world, world.pia)
    form = open_settings_form(http, shared)
    assert "Set on a higher plan: you can only clear it." in form.node.words
    form.send_and_follow({"watermark": ""})
    looks = open_settings_form(http, shared, "looks")
    refused = looks.send_refused(403, {"viewerSettings.flip.rtl": ""})
    assert form_error(refused).endswith("Accent color: Requires the pro plan or higher.")
    looks.send_and_follow({"viewerSettings.brand.accentColor": "#000000", "viewerSettings.flip.rtl": ""})
    assert shared.has_values({"watermark": False, "viewerSettings": {}})


def test_a_setting_above_the_plan_is_rejected_even_in_a_forged_form(world: World) -> None:
    shared = ConfiguredFile(world, world.fay)
    form = open_settings_form(sign_in_browser(world, world.fay), shared)
    shown = json.loads(form.fields["shown"])
    form.fields |= {"shown": json.dumps(shown | {"watermark": ""}), "watermark": "on"}
    answer = form.send()
    assert (answer.status_code, shared.get_file()["watermark"]) == (403, False)
    assert form_error(parse_html(answer.text)).endswith("Watermark on each page: Requires the pro plan or higher.")


def test_a_rejected_form_preserves_all_values_except_the_password(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    before = shared.read_row_and_bytes()
    typed = {
        "slug": "Not a slug", "password": "hunter22", "viewLimit": "many", "gateDomains": "a.example\nb.example",
        "gateFields.0.label": "Your <mail>", "gateFields.0.key": "mail", "askReceipt": "on", "allowDownload": "",
    }  # fmt: skip
    page = open_settings_form(sign_in_browser(world, world.pia), shared).send_refused(400, typed)
    again = Form(world.http, f"/files/{shared.made['uuid']}/settings", page=page)
    assert {name: again.fields.get(name, "") for name in typed} == typed | {"password": ""}
    assert "Nothing was saved. 3 fields need a correction:" in form_error(page)
    assert shared.read_row_and_bytes() == before


def test_a_resubmitted_form_saves_every_changed_value(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    page = open_settings_form(http, shared).send_refused(400, {"slug": "No!", "askReceipt": "on"})
    Form(http, f"/files/{shared.made['uuid']}/settings", page=page).send_and_follow({"slug": "yes"})
    assert shared.has_values({"slug": "yes", "askReceipt": True})


def test_a_slug_in_use_is_reported(world: World) -> None:
    put_settings(world, world.pia.upload(), slug="taken")
    page = open_settings_form(sign_in_browser(world, world.pia), ConfiguredFile(world, world.pia)).send_refused(
        409, {"slug": "taken"}
    )
    assert "'taken' is taken" in form_error(page)


def test_saving_an_old_form_does_not_undo_later_changes(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    looks, settings = open_settings_form(http, shared, "looks"), open_settings_form(http, shared)
    shared.change_settings(slug="mine", viewerSettings={"flip": {"rtl": True}}, askReceipt=True)
    settings.send_and_follow({"watermark": "on"})
    looks.send_and_follow({"viewerSettings.page.shadow": "3"})
    both = {"flip": {"rtl": True}, "page": {"shadow": 3}}
    assert shared.has_values({"slug": "mine", "askReceipt": True, "watermark": True, "viewerSettings": both})


@pytest.mark.parametrize(
    ("name", "first", "since", "typed", "stored_now"),
    [
        (
            "gateFields",
            [{"key": "mail", "label": "Mail", "type": "email", "required": True}],
            [
                {"key": "mail", "label": "Mail", "type": "email", "required": True},
                {"key": "firm", "label": "Firm", "type": "text", "required": True},
            ],
            {"gateFields.0.label": "Your mail"},
            "Mail, Firm",
        ),
        ("gateDomains", ["a.example"], [], {"gateDomains": "b.example"}, "none"),
        ("gateDomains", ["a.example"], ["a.example", "c.example"], {"gateDomains": ""}, "a.example, c.example"),
        ("pageRange", {"from": 1, "to": 2}, {"from": 2, "to": 3}, {"pageRange.to": "3"}, "pages 2 to 3"),
        ("pageRange", {"from": 1, "to": 2}, {"from": 0, "to": 0}, {"pageRange.to": "3"}, "all pages"),
    ],
)
def test_an_old_form_replaces_a_changed_list_only_when_it_is_saved_again(
    world: World, name: str, first: Any, since: Any, typed: dict[str, str], stored_now: str
) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(**{name: first})
    http = sign_in_browser(world, world.pia)
    form = open_settings_form(http, shared)
    shared.change_settings(**{name: since})
    before = shared.get_file()
    page = form.send_refused(409, {**typed, "askReceipt": "on"})
    assert f"Stored now: {stored_now}. Save again to replace it." in form_error(page)
    assert shared.get_file() == before
    again = Form(http, f"/files/{shared.made['uuid']}/settings", page=page)
    assert again.send_and_follow({}) == "Saved."
    kept = build_form_values(name, first) | typed
    assert shared.has_values({"askReceipt": True})
    shown = open_settings_form(http, shared).fields
    assert {key: shown.get(key, "") for key in kept} == kept


def test_an_old_form_that_asks_for_the_stored_list_is_saved(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    form = open_settings_form(http, shared)
    shared.change_settings(gateDomains=["a.example"], pageRange={"from": 1, "to": 2})
    form.send_and_follow({"gateDomains": "a.example", "askReceipt": "on"})
    assert shared.has_values({"gateDomains": ["a.example"], "pageRange": {"from": 1, "to": 2}, "askReceipt": True})


def test_a_password_can_be_set_preserved_and_removed(world: World) -> None:
    shared = ConfiguredFile(world, world.bea)
    http = sign_in_browser(world, world.bea)
    open_settings_form(http, shared).send_and_follow({"password": "hunter22"})
    assert shared.has_values({"protected": True})
    open_settings_form(http, shared).send_and_follow({"allowDownload": ""})
    assert shared.has_values({"protected": True, "allowDownload": False})
    open_settings_form(http, shared).send_refused(400, {"password": "other", "password.clear": "on"})
    open_settings_form(http, shared).send_and_follow({"password.clear": "on"})
    assert shared.has_values({"protected": False})


def test_the_expiry_is_set_in_utc_and_can_be_removed(world: World) -> None:
    shared = ConfiguredFile(world, world.fay)
    http = sign_in_browser(world, world.fay)
    open_settings_form(http, shared).send_and_follow({"deleteAt": "2031-05-06T07:08"})
    assert shared.has_values({"deleteAt": "2031-05-06T07:08:00.000Z"})
    assert open_settings_form(http, shared).fields["deleteAt"] == "2031-05-06T07:08"
    open_settings_form(http, shared).send_refused(400, {"deleteAt": "2032-01-01T00:00", "neverExpire": "on"})
    open_settings_form(http, shared).send_and_follow({"neverExpire": "on"})
    assert "deleteAt" not in shared.get_file()
    open_settings_form(http, shared).send_and_follow({"deleteAt": "2031-05-06T07:08"})
    open_settings_form(http, shared).send_and_follow({"deleteAt": ""})
    assert "deleteAt" not in shared.get_file()


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("flip.speedMs", "fast", "Speed: Enter a number from 200 to 1200."),
        ("page.shadow", "1.5", "Shadow: Enter a number from 0 to 3."),
        ("watermarkStyle.opacity", ".", "Opacity: Enter a number from 0.05 to 0.5."),
        ("cta.label", "Call us", "Link: Fill this in too."),
    ],
)
def test_a_look_that_the_api_would_drop_or_reject_is_rejected(world: World, field: str, text: str, words: str) -> None:
    shared = ConfiguredFile(world, world.pia)
    page = open_settings_form(sign_in_browser(world, world.pia), shared, "looks").send_refused(
        400, {f"viewerSettings.{field}": text}
    )
    assert form_error(page).endswith(words)
    assert shared.has_values({"viewerSettings": {}})


def test_clearing_label_and_url_removes_the_call_to_action(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(viewerSettings={"cta": {"label": "Call", "url": "https://a.example", "style": "outline"}})
    emptied = {"viewerSettings.cta.label": "", "viewerSettings.cta.url": ""}
    open_settings_form(sign_in_browser(world, world.pia), shared, "looks").send_and_follow(emptied)
    assert shared.has_values({"viewerSettings": {}})


def test_a_checkbox_detaches_the_file_from_its_design(world: World) -> None:
    shared = ConfiguredFile(world, world.fay)
    assert (
        open_settings_form(sign_in_browser(world, world.fay), shared).send_and_follow({"detachDesignToolDesign": "on"})
        == "Saved."
    )


def test_an_expired_link_is_reported_above_the_form(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    http = sign_in_browser(world, world.pia)
    form = open_settings_form(http, shared)
    shared.change_settings(deleteAt="2026-01-01T00:00:00Z")
    page = form.send_refused(410, {"slug": "late"})
    assert "expired" in form_error(page)
    assert page.find_one("p", class_="note").words.startswith("This link has expired.")


@pytest.mark.parametrize("shown", ["", "[]", '{"slug": 1}', "{" * 100_000])
def test_a_form_with_an_invalid_snapshot_is_rejected(world: World, shown: str) -> None:
    shared = ConfiguredFile(world, world.pia)
    form = open_settings_form(sign_in_browser(world, world.pia), shared)
    form.fields["shown"] = shown
    form.fill({"slug": "x"})
    assert form.send().status_code == 400
    assert "slug" not in shared.get_file()


def test_the_plan_at_the_time_of_saving_applies(world: World) -> None:
    shared = ConfiguredFile(world, world.pia)
    form = open_settings_form(sign_in_browser(world, world.pia), shared)
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    form.send_refused(403, {"watermark": "on"})
    assert shared.has_values({"watermark": False})


@pytest.mark.usefixtures("patient_trials")
def test_a_download_that_cannot_be_created_is_reported_on_the_file_pages(world: World) -> None:
    made = world.pia.upload(checkbox_without_state_pdf(), "Odd.pdf")
    http = sign_in_browser(world, world.pia)
    assert "would look different" not in http.get(f"/files/{made['uuid']}").text
    put_settings(world, made, pageRange={"from": 2, "to": 2})
    variant = {"overrides": {"pageRange": {"from": 2, "to": 3}}}
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json=variant).get_json()["uuid"]
    for page in ("", "/settings", "/links", f"/links/{link}"):
        assert "would look different" in http.get(f"/files/{made['uuid']}{page}").text
