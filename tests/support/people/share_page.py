"""The facts in the HTML of a share page, which its scripts read."""

import json
import re
from typing import Any

_FACTS = re.compile(r'<script type="application/json" id="facts">(.*?)</script>', re.DOTALL)


def find_facts(html: str) -> dict[str, Any] | None:
    """Return the facts of a share page, or None for another page, such as a gate."""
    found = _FACTS.search(html)
    return None if found is None else dict(json.loads(found[1]))


def parse_facts(html: str) -> dict[str, Any]:
    """Return the facts of a share page."""
    facts = find_facts(html)
    assert facts is not None, html
    return facts
