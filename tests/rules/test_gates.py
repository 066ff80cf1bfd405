"""What a link asks before it opens, and what of it a reader still owes."""

from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.rules import gates
from docshare.server.rules.gates import FormField, GateRequest, HeldGrant, LinkRequirements

MAIL = {"key": "mail", "label": "Mail", "type": "email", "required": True}
NAME = {"key": "who", "label": "Your name", "type": "text", "required": False}
MINUTE = 60_000
HOUR = 60 * MINUTE
NOW = 1_790_000_000_000


def gate_requirements(**changes: Any) -> LinkRequirements:
    plain: dict[str, Any] = {"protected": False, "counted": False, "settings": {}, "invited": False}
    return gates.find_requirements(**(plain | changes))


FORM = gate_requirements(settings={"gateFields": [MAIL, NAME]})
PROMPT = gate_requirements(settings={"requireEmail": True})


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, set()),
        ({"settings": {"requireEmail": False, "gateFields": [], "gateDomains": ["a.example"]}}, set()),
        ({"protected": True}, {"password"}),
        ({"counted": True}, {"view"}),
        ({"settings": {"requireEmail": True}}, {"gate"}),
        ({"settings": {"gateFields": [MAIL]}}, {"gate"}),
        ({"protected": True, "counted": True, "settings": {"requireEmail": True}}, {"password", "gate", "view"}),
        ({"settings": {"requireEmail": True}, "invited": True}, set()),
        ({"settings": {"gateFields": [MAIL], "requireEmail": True}, "invited": True}, {"gate"}),
        ({"protected": True, "counted": True, "invited": True}, {"password", "view"}),
    ],
)
def test_a_password_an_address_a_form_and_a_view_are_asked_for(changes: dict[str, Any], kinds: set[str]) -> None:
    assert gate_requirements(**changes).kinds == kinds


def test_the_plain_prompt_is_a_form_of_one_address() -> None:
    assert (PROMPT.form, PROMPT.has_custom_form) == ((FormField("email", "Email address", "email", True),), False)
    assert (FORM.form, FORM.has_custom_form) == (
        (FormField("mail", "Mail", "email", True), FormField("who", "Your name", "text", False)),
        True,
    )


def test_an_invitee_is_not_asked_for_the_domain_of_the_address_that_the_owner_wrote_down() -> None:
    settings = {"gateFields": [MAIL], "gateDomains": ["a.example"]}
    assert gate_requirements(settings=settings).domains == ("a.example",)
    assert gate_requirements(settings=settings, invited=True).domains == ()


@pytest.mark.parametrize(
    ("protected", "settings", "hides"),
    [
        (False, {}, False),
        (False, {"gateDomains": ["a.example"]}, False),
        (True, {}, True),
        (False, {"requireEmail": True}, True),
        (False, {"gateFields": [MAIL]}, True),
    ],
)
def test_a_password_and_an_email_gate_hide_the_name(protected: bool, settings: dict[str, Any], hides: bool) -> None:
    assert gates.is_name_hidden(protected=protected, settings=settings) is hides


def make_seals(**settings: Any) -> dict[str, str]:
    """Return the seals of a link with a password and a view limit."""
    return gates.compute_seals(
        gate_requirements(protected=True, counted=True, settings=settings), "aB3dE5fG7hJ9", "hash-1"
    )


ALL = gate_requirements(protected=True, counted=True, settings={"gateFields": [MAIL], "gateDomains": ["a.example"]})
SEALS = make_seals(gateFields=[MAIL], gateDomains=["a.example"])
GRANTS = [HeldGrant(kind, 1, seal, NOW) for kind, seal in SEALS.items()]
AT_ONCE = GateRequest(NOW, is_page_load=True)


def test_who_gave_everything_owes_nothing_and_who_gave_nothing_everything() -> None:
    assert gates.find_missing_grants(SEALS, GRANTS, 1, AT_ONCE) == frozenset()
    assert gates.find_missing_grants(SEALS, [], 1, AT_ONCE) == {"password", "gate", "view"}
    assert gates.find_missing_grants(SEALS, GRANTS[:1], 1, AT_ONCE) == SEALS.keys() - {GRANTS[0].kind}


def test_another_content_version_asks_again() -> None:
    assert gates.find_missing_grants(SEALS, GRANTS, 2, AT_ONCE) == {"password", "gate", "view"}


@pytest.mark.parametrize(
    ("seals", "owed"),
    [
        (gates.compute_seals(ALL, "aB3dE5fG7hJ9", "hash-2"), {"password"}),
        (gates.compute_seals(ALL, "zzzzzzzzzzzz", "hash-1"), {"password", "gate", "view"}),
        (make_seals(requireEmail=True), {"gate"}),
        (make_seals(gateFields=[MAIL], gateDomains=["b.example"]), {"gate"}),
    ],
    ids=["another-password", "another-link", "another-form", "other-domains"],
)
def test_what_is_asked_otherwise_is_asked_again(seals: dict[str, str], owed: set[str]) -> None:
    assert gates.find_missing_grants(seals, GRANTS, 1, AT_ONCE) == owed


def test_a_grant_of_one_kind_is_none_of_another() -> None:
    swapped = [HeldGrant("view", 1, SEALS["password"], NOW), HeldGrant("password", 1, SEALS["view"], NOW)]
    assert gates.find_missing_grants(SEALS, swapped, 1, AT_ONCE) == {"password", "gate", "view"}


@pytest.mark.parametrize(
    ("opening", "after", "owes"),
    [
        (True, 30 * MINUTE - 1, False),
        (True, 30 * MINUTE, True),
        (False, 30 * MINUTE, False),
        (False, 12 * HOUR - 1, False),
        (False, 12 * HOUR, True),
    ],
)
def test_a_view_opens_the_page_for_half_an_hour_and_loads_for_half_a_day(opening: bool, after: int, owes: bool) -> None:
    moment = GateRequest(NOW + after, opening)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == ({"view"} if owes else set())


@pytest.mark.parametrize(("burned_after", "owes"), [(0, False), (30 * MINUTE - 1, False), (30 * MINUTE, True)], ids=str)
def test_who_could_open_the_page_when_the_last_unit_went_still_can(burned_after: int, owes: bool) -> None:
    burned_at = NOW + burned_after
    moment = GateRequest(burned_at + 30 * MINUTE - 1, is_page_load=True, burned_at=burned_at)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == ({"view"} if owes else set())


def test_the_other_grants_do_not_age() -> None:
    moment = GateRequest(NOW + 365 * 24 * HOUR, is_page_load=True)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == {"view"}


def test_values_are_trimmed_and_empty_ones_left_out() -> None:
    assert gates.validate_form(FORM, {"mail": " ada@a.example ", "who": "  ", "other": "x"}) == {
        "mail": "ada@a.example"
    }
    assert gates.validate_form(FORM, {"who": "Ada", "mail": "ada@a.example"}) == {"mail": "ada@a.example", "who": "Ada"}


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ({}, {"mail": "This field is required."}),
        ({"mail": "ada"}, {"mail": "This must be an email address such as ada@example.com."}),
        ({"mail": "a b@a.example"}, {"mail": "This must be an email address such as ada@example.com."}),
        (
            {"mail": "a@a.example\r\nBcc: b@b.example"},
            {"mail": "This must be an email address such as ada@example.com."},
        ),
        ({"mail": "a@a.example", "who": "x" * 501}, {"who": "This is longer than 500 characters."}),
        ({"mail": "a@a.example", "who": "two\nlines"}, {"who": "This must be one line of plain text."}),
        ({"mail": "a@a.example", "who": "nul\x00"}, {"who": "This must be one line of plain text."}),
        (
            {"mail": "", "who": "x" * 501},
            {"mail": "This field is required.", "who": "This is longer than 500 characters."},
        ),
    ],
)
def test_each_field_that_is_not_right_is_told(sent: dict[str, str], wrong: dict[str, str]) -> None:
    with pytest.raises(Problem) as refused:
        gates.validate_form(FORM, sent)
    assert (refused.value.status, refused.value.extra["errors"]) == (422, wrong)


def test_500_characters_fit() -> None:
    assert gates.validate_form(FORM, {"mail": "a@a.example", "who": "é" * 500})["who"] == "é" * 500


@pytest.mark.parametrize(
    ("address", "passes"),
    [
        ("ada@a.example", True),
        ("ADA@A.Example", True),
        ("ada@b.example", False),
        ("ada@mail.a.example", False),
        ("ada@xa.example", False),
        ("ada@a.example.evil.example", False),
        ("ada@bücher.example", True),
        ("ada@BÜCHER.example", True),
        ("ada@xn--bcher-kva.example", True),
        ("ada@buecher.example", False),
        ("ada@strasse.example", True),
        ("ada@straße.example", False),
        ("ada@" + "ü" * 63 + ".example", False),
    ],
)
def test_an_address_must_be_exactly_at_a_listed_domain(address: str, passes: bool) -> None:
    domains = ["a.example", "xn--bcher-kva.example", "strasse.example"]
    what = gate_requirements(settings={"requireEmail": True, "gateDomains": domains})
    if passes:
        assert gates.validate_form(what, {"email": address}) == {"email": address}
        return
    with pytest.raises(Problem) as refused:
        gates.validate_form(what, {"email": address})
    assert refused.value.status == 403
    assert "a.example" not in refused.value.extra["errors"]["email"]
