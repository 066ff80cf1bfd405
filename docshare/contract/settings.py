"""The settings of a file, and the keys of the File object that shows them."""

from typing import Any, NamedTuple

from docshare.contract import kinds, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem


class Setting(NamedTuple):
    """One field of the settings body. A setting that is not stored has its ``default``.

    - ``name``: its key in the body, and in the File object unless ``visibility`` is ``never``
    - ``kind``: how its value is parsed: a kind of ``contract.kinds``, or ``viewer``
    - ``plan``: the lowest plan that may store any other value than the default
    - ``default``: the value of a new file; None for a setting without one
    - ``clears``: the values in a request that clear a setting without a default
    - ``visibility``: ``always`` in the File object, only if it is ``set``, or ``never`` under this name
    - ``words``: the allowed values of kind ``word``
    - ``low`` and ``high``: the allowed range of kind ``integer``
    - ``options``: its options of ``docshare settings set``, most of which ``docshare upload`` has too; a switch has one
      to turn it on and one to turn it off

    It is a named tuple because the command line imports this module: as a dataclass with slots, the import would take
    6.7 ms instead of 0.8 ms.
    """

    name: str
    kind: str
    plan: Plan = Plan.FREE
    default: object = None
    clears: tuple[object, ...] = ()
    visibility: str = "always"
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    options: tuple[str, ...] = ()


def _boolean_setting(
    name: str, plan: Plan = Plan.FREE, *, default: bool = False, options: tuple[str, ...] = ()
) -> Setting:
    return Setting(name, "boolean", plan, default, options=options)


_SETTING_ROWS: tuple[Setting, ...] = (
    Setting("viewerMode", "word", default="standard", words=viewer.VIEWER_MODES, options=("--mode",)),
    Setting("password", "password", Plan.BASIC, clears=("",), visibility="never"),  # shown as ``protected``
    _boolean_setting("allowDownload", default=True, options=("--download", "--no-download")),
    _boolean_setting("showExpiry", default=True, options=("--show-expiry", "--hide-expiry")),
    # Unset: readers can choose unless the link asks who they are. The File object always shows the setting in effect.
    Setting("readerChoice", "boolean", clears=(None,), options=("--reader-choice", "--no-reader-choice")),
    _boolean_setting("showSender", default=True, options=("--show-sender", "--hide-sender")),
    _boolean_setting("requireEmail", Plan.PRO, options=("--require-email", "--no-require-email")),
    _boolean_setting("notifyOnView", Plan.BASIC, options=("--notify", "--no-notify")),
    Setting("deleteAt", "datetime", visibility="set", options=("--expires",)),
    Setting("neverExpire", "boolean", default=False, visibility="never"),
    Setting(
        "viewLimit", "integer", Plan.BASIC,
        clears=(0,), visibility="set", high=limits.VIEW_LIMIT_MAX, options=("--views",),
    ),
    Setting("pageRange", "pages", Plan.PRO, clears=({"from": 0, "to": 0},), visibility="set", options=("--pages",)),
    Setting("gateFields", "form", Plan.PRO, clears=([], None), visibility="set", options=("--gate",)),
    Setting("gateDomains", "domains", Plan.PRO, clears=([],), visibility="set", options=("--email-domain",)),
    _boolean_setting("askReceipt", Plan.BASIC, options=("--receipt", "--no-receipt")),
    _boolean_setting("commentsEnabled", Plan.PRO, options=("--comments", "--no-comments")),
    _boolean_setting("commentsAllowPublic", Plan.PRO, options=("--comments-public", "--no-comments-public")),
    _boolean_setting("notifyOnComment", Plan.PRO, options=("--notify-comments", "--no-notify-comments")),
    _boolean_setting("marksEnabled", Plan.PRO, options=("--marks", "--no-marks")),
    _boolean_setting("annotationsEnabled", Plan.PRO, options=("--annotations", "--no-annotations")),
    _boolean_setting("watermark", Plan.PRO, options=("--watermark", "--no-watermark")),
    Setting("slug", "slug", Plan.PRO, clears=("",), visibility="set", options=("--slug",)),
    Setting("viewerSettings", "viewer", Plan.BASIC, default={}, clears=({}, [])),
    Setting("detachDesignToolDesign", "boolean", default=False, visibility="never"),
    _boolean_setting("designToolUpdatesEnabled"),
)  # fmt: skip

SETTINGS: dict[str, Setting] = {row.name: row for row in _SETTING_ROWS}
"""Every field of the settings body, in the order of the specification."""


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
    if value is None and None in row.clears:
        return None
    parsed = viewer.normalize(value) if row.kind == "viewer" else kinds.parse(row, name, value)
    # Compare the parsed value, not the sent one: False == 0 in Python, and would clear a view limit.
    return None if row.default is None and parsed in row.clears else parsed


def required_plan(name: str, value: Any) -> Plan:
    """Return the lowest plan that may store the parsed ``value`` in the setting ``name``.

    The default is allowed on every plan, so that an owner can clear and turn off everything after a downgrade.
    """
    row = SETTINGS[name]
    if value == row.default:
        return Plan.FREE
    return viewer.required_plan(value) if name == "viewerSettings" else row.plan
