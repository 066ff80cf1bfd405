"""The settings of a file, and the keys of the File object that shows them."""

from typing import Any, NamedTuple

from docshare.contract import fields, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem


class Setting(NamedTuple):
    """One field of the settings body: its parser, the ``plan`` that it requires, the wire values that clear it
    (``clears``), the ``default`` of a new file (None: unset), and when the File object contains it (``shown``):
    ``always``, if it is ``set``, or ``never`` under this name."""

    name: str
    parse: fields.Parser[Any]
    plan: Plan = Plan.FREE
    default: object = None
    clears: tuple[object, ...] = ()
    visibility: str = "always"


def _boolean_setting(name: str, plan: Plan = Plan.FREE, *, default: bool = False) -> Setting:
    return Setting(name, fields.parse_boolean, plan, default)


def _parse_viewer_settings(_name: str, value: object) -> dict[str, Any]:
    return viewer.normalize(value).values


_SETTING_ROWS: tuple[Setting, ...] = (
    Setting("viewerMode", fields.word_parser(*viewer.VIEWER_MODES), default="standard"),
    Setting("password", fields.parse_password, Plan.BASIC, clears=("",), visibility="never"),  # shown as ``protected``
    _boolean_setting("allowDownload", default=True),
    _boolean_setting("showExpiry", default=True),
    _boolean_setting("requireEmail", Plan.PRO),
    _boolean_setting("notifyOnView", Plan.BASIC),
    Setting("deleteAt", fields.parse_instant, visibility="set"),
    Setting("neverExpire", fields.parse_boolean, default=False, visibility="never"),
    Setting("viewLimit", fields.integer_parser(0, limits.VIEW_LIMIT_MAX), Plan.BASIC, clears=(0,), visibility="set"),
    Setting("pageRange", fields.parse_page_range, Plan.PRO, clears=({"from": 0, "to": 0},), visibility="set"),
    Setting("gateFields", fields.parse_gate_fields, Plan.PRO, clears=([], None), visibility="set"),
    Setting("gateDomains", fields.parse_domains, Plan.PRO, clears=([],), visibility="set"),
    _boolean_setting("askReceipt", Plan.BASIC),
    _boolean_setting("commentsEnabled", Plan.PRO),
    _boolean_setting("commentsAllowPublic", Plan.PRO),
    _boolean_setting("notifyOnComment", Plan.PRO),
    _boolean_setting("marksEnabled", Plan.PRO),
    _boolean_setting("annotationsEnabled", Plan.PRO),
    _boolean_setting("watermark", Plan.PRO),
    Setting("slug", fields.parse_slug, Plan.PRO, clears=("",), visibility="set"),
    Setting("viewerSettings", _parse_viewer_settings, Plan.BASIC, default={}, clears=({}, [])),
    Setting("detachDesignToolDesign", fields.parse_boolean, default=False, visibility="never"),
    _boolean_setting("designToolUpdatesEnabled"),
)

SETTINGS: dict[str, Setting] = {row.name: row for row in _SETTING_ROWS}
"""Every field of the settings body, in the order of the specification."""

FILE_KEYS: tuple[str, ...] = (
    "uuid",
    "shortId",
    "slug",
    "originalName",
    "size",
    "mimeType",
    "createdAt",
    "deleteAt",
    "viewCount",
    "viewerMode",
    "protected",
    "allowDownload",
    "requireEmail",
    "notifyOnView",
    "contentVersion",
    "revisions",
    # The keys above come first; newer keys are appended.
    "totalPages",
    "updatedAt",
    "viewsConsumed",
    "viewerSettings",
    "askReceipt",
    "watermark",
    "showExpiry",
    "commentsEnabled",
    "commentsAllowPublic",
    "notifyOnComment",
    "marksEnabled",
    "annotationsEnabled",
    "designToolUpdatesEnabled",
    "viewLimit",
    "burnedAt",
    "gateFields",
    "gateDomains",
    "pageRange",
    "shareUrl",
    "sha256",
)
"""Keys of the File object, in the order of the response."""

FILE_OPTIONAL = frozenset(
    {"shortId", "slug", "deleteAt", "revisions", "viewLimit", "burnedAt", "gateFields", "gateDomains", "pageRange"}
)
"""Keys of the File object that are absent when unset; ``revisions`` is in the detail only, never in the list."""

REVISION_KEYS: tuple[str, ...] = ("contentVersion", "originalName", "size", "totalPages", "sha256", "createdAt")


def parse_settings(body: object) -> dict[str, Any]:
    """Return the known keys in the body of a settings write, in table order, with the values to store; None clears.

    Unknown keys are ignored. Raise ``bad_request`` if the body is not an object, and for the first malformed field.
    Plans, the state of the file, and mutually exclusive fields are checked by ``docshare.server.rules.settings``.
    """
    if not isinstance(body, dict):
        raise Problem("bad_request", "The body must be a JSON object.")
    return {name: parse_value(name, body[name]) for name in SETTINGS if name in body}


def parse_value(name: str, value: object) -> Any:
    """Return the value to store in the setting ``name`` (a key of ``SETTINGS``); None clears it.

    Raise ``bad_request`` that names the field if the value is malformed.
    """
    row = SETTINGS[name]
    parsed = row.parse(name, value)
    # Compare the parsed value, not the sent one: False == 0 in Python, and would clear a view limit.
    return None if row.default is None and parsed in row.clears else parsed


def required_plan(name: str, value: object) -> Plan:
    """Return the lowest plan that may store the parsed ``value`` in the setting ``name``.

    The default is allowed on every plan, so that an owner can clear and turn off everything after a downgrade.
    """
    row = SETTINGS[name]
    if value == row.default:
        return Plan.FREE
    return viewer.normalize(value).plan if name == "viewerSettings" else row.plan
