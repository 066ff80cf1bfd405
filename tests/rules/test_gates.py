"""What a link asks before it opens."""

from typing import Any

import pytest

from docshare.server.rules import gates

FORM = [{"key": "mail", "label": "Mail", "type": "email", "required": True}]


@pytest.mark.parametrize(
    ("protected", "view_limit", "settings", "asks"),
    [
        (False, None, {}, False),
        (False, None, {"requireEmail": False, "gateFields": [], "gateDomains": ["a.example"]}, False),
        (True, None, {}, True),
        (False, 1, {}, True),
        (False, None, {"requireEmail": True}, True),
        (False, None, {"gateFields": FORM}, True),
    ],
)
def test_a_password_a_view_limit_an_email_gate_and_a_form_are_asked_for(
    protected: bool, view_limit: int | None, settings: dict[str, Any], asks: bool
) -> None:
    assert gates.asks(protected=protected, view_limit=view_limit, settings=settings) is asks
