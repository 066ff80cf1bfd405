"""What a share link asks of its reader before it opens (section File settings). Pure."""

from collections.abc import Mapping
from typing import Any


def asks(*, protected: bool, view_limit: int | None, settings: Mapping[str, Any]) -> bool:
    """Whether a reader must do something first: know a password, leave an address or a form, or take a view.

    Parameters: ``protected`` whether a password is set; ``settings`` what deviates from the defaults, by wire name. No
    plan is asked for: what was demanded when the link went out is demanded after a downgrade too.
    """
    named = bool(settings.get("requireEmail")) or bool(settings.get("gateFields"))
    return protected or view_limit is not None or named
