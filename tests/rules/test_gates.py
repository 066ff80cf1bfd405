"""Gates: what a link requires before it opens, and which grants a reader lacks."""

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


def make_requirements(**changes: Any) -> LinkRequirements:
    plain: dict[str, Any] = {"protected": False, "counted": False, "settings": {}, "invited": False}
    return gates.find_requirements(**(plain | changes))


FORM = make_requirements(settings={"gateFields": [MAIL, NAME]})
PROMPT = make_requirements(settings={"requireEmail": True})


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
def test_password_email_form_and_view_are_required_as_configured(changes: dict[str, Any], kinds: set[str]) -> None:
    assert make_requirements(**changes).kinds == kinds


def test_the_email_prompt_is_a_form_with_one_field() -> None:
    assert (PROMPT.form, PROMPT.has_custom_form) == ((FormField("email", "Email address", "email", True),), False)
    assert (FORM.form, FORM.has_custom_form) == (
        (FormField("mail", "Mail", "email", True), FormField("who", "Your name", "text", False)),
        True,
    )


def test_allowed_domains_do_not_apply_to_an_invitee() -> None:
    settings = {"gateFields": [MAIL], "gateDomains": ["a.example"]}
    assert make_requirements(settings=settings).domains == ("a.example",)
    assert make_requirements(settings=settings, invited=True).domains == ()


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
    """Return the seals of a link with a password, a view limit and the gate of ``settings``."""
    return gates.compute_seals(
        make_requirements(protected=True, counted=True, settings=settings), "aB3dE5fG7hJ9", "hash-1"
    )


ALL = make_requirements(protected=True, counted=True, settings={"gateFields": [MAIL], "gateDomains": ["a.example"]})
SEALS = make_seals(gateFields=[MAIL], gateDomains=["a.example"])
GRANTS = [HeldGrant(kind, 1, seal, NOW) for kind, seal in SEALS.items()]
IMMEDIATE_REQUEST = GateRequest(NOW, is_page_load=True)


def test_grants_that_a_reader_has_are_not_missing() -> None:
    assert gates.find_missing_grants(SEALS, GRANTS, 1, IMMEDIATE_REQUEST) == frozenset()
    assert gates.find_missing_grants(SEALS, [], 1, IMMEDIATE_REQUEST) == {"password", "gate", "view"}
    assert gates.find_missing_grants(SEALS, GRANTS[:1], 1, IMMEDIATE_REQUEST) == SEALS.keys() - {GRANTS[0].kind}


def test_a_new_content_version_requires_new_grants() -> None:
    assert gates.find_missing_grants(SEALS, GRANTS, 2, IMMEDIATE_REQUEST) == {"password", "gate", "view"}


@pytest.mark.parametrize(
    ("seals", "missing"),
    [
        (gates.compute_seals(ALL, "aB3dE5fG7hJ9", "hash-2"), {"password"}),
        (gates.compute_seals(ALL, "zzzzzzzzzzzz", "hash-1"), {"password", "gate", "view"}),
        (make_seals(requireEmail=True), {"gate"}),
        (make_seals(gateFields=[MAIL], gateDomains=["b.example"]), {"gate"}),
    ],
    ids=["another-password", "another-link", "another-form", "other-domains"],
)
def test_a_changed_requirement_requires_a_new_grant(seals: dict[str, str], missing: set[str]) -> None:
    assert gates.find_missing_grants(seals, GRANTS, 1, IMMEDIATE_REQUEST) == missing


def test_a_grant_does_not_count_for_another_kind() -> None:
    swapped = [HeldGrant("view", 1, SEALS["password"], NOW), HeldGrant("password", 1, SEALS["view"], NOW)]
    assert gates.find_missing_grants(SEALS, swapped, 1, IMMEDIATE_REQUEST) == {"password", "gate", "view"}


@pytest.mark.parametrize(
    ("opening", "after", "is_missing"),
    [
        (True, 30 * MINUTE - 1, False),
        (True, 30 * MINUTE, True),
        (False, 30 * MINUTE, False),
        (False, 12 * HOUR - 1, False),
        (False, 12 * HOUR, True),
    ],
)
def test_a_view_grant_opens_the_page_for_30_minutes_and_its_parts_for_12_hours(
    opening: bool, after: int, is_missing: bool
) -> None:
    moment = GateRequest(NOW + after, opening)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == ({"view"} if is_missing else set())


@pytest.mark.parametrize(
    ("burned_after", "is_missing"), [(0, False), (30 * MINUTE - 1, False), (30 * MINUTE, True)], ids=str
)
def test_a_view_grant_that_was_valid_when_the_file_burned_stays_valid(burned_after: int, is_missing: bool) -> None:
    burned_at = NOW + burned_after
    moment = GateRequest(burned_at + 30 * MINUTE - 1, is_page_load=True, burned_at=burned_at)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == ({"view"} if is_missing else set())


def test_other_grants_do_not_expire() -> None:
    moment = GateRequest(NOW + 365 * 24 * HOUR, is_page_load=True)
    assert gates.find_missing_grants(SEALS, GRANTS, 1, moment) == {"view"}


def test_values_are_trimmed_and_empty_values_are_omitted() -> None:
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
def test_the_error_lists_every_invalid_field(sent: dict[str, str], wrong: dict[str, str]) -> None:
    with pytest.raises(Problem) as caught:
        gates.validate_form(FORM, sent)
    assert (caught.value.status, caught.value.extra["errors"]) == (422, wrong)


def test_500_characters_are_accepted() -> None:
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
    requirements = make_requirements(settings={"requireEmail": True, "gateDomains": domains})
    if passes:
        assert gates.validate_form(requirements, {"email": address}) == {"email": address}
        return
    with pytest.raises(Problem) as caught:
        gates.validate_form(requirements, {"email": address})
    assert caught.value.status == 403
    assert "a.example" not in caught.value.extra["errors"]["email"]
