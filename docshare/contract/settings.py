"""The settings of a file, and the keys of the File object that shows them (sections File and File settings)."""

from typing import Any, NamedTuple

from docshare.contract import fields, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem


class Setting(NamedTuple):
    """One field of the settings body: its ``parse``, the ``plan`` that setting it needs, the wire values that clear
    it (``clears``), the ``default`` a new file has (None: unset), and how the File object ``shown`` it: ``always``,
    when ``set``, or ``never`` under this name."""

    name: str
    parse: fields.Parser[Any]
    plan: Plan = Plan.FREE
    default: object = None
    clears: tuple[object, ...] = ()
    shown: str = "always"


def _switch(name: str, plan: Plan = Plan.FREE, *, default: bool = False) -> Setting:
    return Setting(name, fields.boolean, plan, default)


def _viewer_settings(_name: str, value: object) -> dict[str, Any]:
    return viewer.normalise(value).values


_ROWS: tuple[Setting, ...] = (
    Setting("viewerMode", fields.word(*viewer.VIEWER_MODES), default="standard"),
    Setting("password", fields.password, Plan.BASIC, clears=("",), shown="never"),  # shown as ``protected``
    _switch("allowDownload", default=True),
    _switch("showExpiry", default=True),
    _switch("requireEmail", Plan.PRO),
    _switch("notifyOnView", Plan.BASIC),
    Setting("deleteAt", fields.instant, shown="set"),
    Setting("neverExpire", fields.boolean, default=False, shown="never"),
    Setting("viewLimit", fields.integer(0, limits.VIEW_LIMIT_MAX), Plan.BASIC, clears=(0,), shown="set"),
    Setting("pageRange", fields.page_range, Plan.PRO, clears=({"from": 0, "to": 0},), shown="set"),
    Setting("gateFields", fields.gate_form, Plan.PRO, clears=([], None), shown="set"),
    Setting("gateDomains", fields.domains, Plan.PRO, clears=([],), shown="set"),
    _switch("askReceipt", Plan.BASIC),
    _switch("commentsEnabled", Plan.PRO),
    _switch("commentsAllowPublic", Plan.PRO),
    _switch("notifyOnComment", Plan.PRO),
    _switch("marksEnabled", Plan.PRO),
    _switch("annotationsEnabled", Plan.PRO),
    _switch("watermark", Plan.PRO),
    Setting("slug", fields.slug, Plan.PRO, clears=("",), shown="set"),
    Setting("viewerSettings", _viewer_settings, Plan.BASIC, default={}, clears=({}, [])),
    Setting("detachDesignToolDesign", fields.boolean, default=False, shown="never"),
    _switch("designToolUpdatesEnabled"),
)

SETTINGS: dict[str, Setting] = {row.name: row for row in _ROWS}
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
    # Spec gap: the remaining fields of the record.
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
"""Keys of the File object in the order they are written."""

FILE_OPTIONAL = frozenset(
    {"shortId", "slug", "deleteAt", "revisions", "viewLimit", "burnedAt", "gateFields", "gateDomains", "pageRange"}
)
"""Keys of the File object that are absent when unset; ``revisions`` stands on the detail and never in the list."""

REVISION_KEYS: tuple[str, ...] = ("contentVersion", "originalName", "size", "totalPages", "sha256", "createdAt")


def parse_settings(body: object) -> dict[str, Any]:
    """Read the body of a settings write: the known keys that were sent, in table order, with the values to store.

    None stands for "clear". Unknown keys are ignored. Raises ``bad_request`` for a body that is no object and for the
    first field that is malformed; nothing is decided here about plans, the file or fields that exclude each other.
    """
    if not isinstance(body, dict):
        raise Problem("bad_request", "The body must be a JSON object.")
    return {name: parse_value(name, body[name]) for name in SETTINGS if name in body}


def parse_value(name: str, value: object) -> Any:
    """Read one field of a settings write (``name`` a key of ``SETTINGS``); None stands for "clear".

    Raises ``bad_request`` naming the field.
    """
    row = SETTINGS[name]
    parsed = row.parse(name, value)
    # The parsed value is compared, not the sent one: Python holds false for 0 and would clear a view limit by it.
    return None if row.default is None and parsed in row.clears else parsed


def plan_needed(name: str, value: object) -> Plan:
    """The lowest plan that may store the parsed ``value`` in the setting ``name``.

    Spec gap: what equals the default needs none, so that a downgraded owner can clear and switch off everything; for
    ``pageRange`` and ``gateFields`` the specification says so itself.
    """
    row = SETTINGS[name]
    if value == row.default:
        return Plan.FREE
    return viewer.normalise(value).plan if name == "viewerSettings" else row.plan
