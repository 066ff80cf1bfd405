"""Changes to the settings of a file, collected from options, ``key=value`` arguments and files, then validated."""

from collections.abc import Mapping
from typing import Any

from docshare.cli.commands.settings.declarations import ROWS, VIEWER, canonicalize, find_setting, is_block
from docshare.cli.commands.settings.stored import (
    ASSETS,
    ViewerSettings,
    flatten_viewer,
    has_non_default_value,
    merge_viewer,
)
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract import viewer
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_value, required_plan

_BUTTON_HINT = "A button needs both --cta-label and --cta-url."
_COMMAND_LINE_HINT = (
    "Use --password-file F or --password-prompt: command-line arguments are visible to other users of this machine."
)


class SettingChanges:
    """The settings to change.

    ``fields``: fields of the settings body other than ``viewerSettings``, with API values. ``viewer_fields``: dotted
    keys into ``viewerSettings``, in order; None resets a field or a whole block to its default. ``replaces_viewer``:
    start from an empty ``viewerSettings`` instead of the stored one. ``lenient``: skip validation
    (``--no-validate``).
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.fields: dict[str, Any] = {}
        self.viewer_fields: dict[str, Any] = {}
        self.replaces_viewer = False
        self._lenient = lenient
        self._set_keys: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.fields) or self.has_viewer_changes

    @property
    def has_viewer_changes(self) -> bool:
        """Return whether ``viewerSettings`` will be written."""
        return bool(self.viewer_fields) or self.replaces_viewer

    def load(self, values: Mapping[str, Any]) -> None:
        """Add the settings of a file; settings added later with ``put`` override them."""
        for key, value in values.items():
            self._set(canonicalize(key), value)

    def put(self, key: str, value: Any) -> None:
        """Add one setting by its canonical key; None clears it.

        Raise Stop (2) for an unknown key, an invalid or a repeated value.
        """
        if key in self._set_keys:
            raise Stop(ExitCode.USAGE, f"{key} is given more than once")
        self._set_keys.add(key)
        if {"deleteAt", "neverExpire"} <= self._set_keys:
            raise Stop(ExitCode.USAGE, "deleteAt and neverExpire cannot be used together")
        if key in ("deleteAt", "neverExpire"):
            self.fields.pop("deleteAt", None)
            self.fields.pop("neverExpire", None)
        self._set(key, value)

    def put_password(self, secret: str) -> None:
        """Set the password (empty: clear it). Only the password options call this."""
        ROWS["password"].validate(secret)
        self.fields["password"] = secret

    def _set(self, key: str, value: Any) -> None:
        if key == "password":
            raise Stop(ExitCode.USAGE, "a password cannot be set here", hint=_COMMAND_LINE_HINT)
        if key == VIEWER:
            self._set_viewer(value)
        elif key in viewer.VIEWER_BLOCKS or "." in key:
            self._set_viewer_field(key, value)
        elif self._lenient and key not in ROWS:
            self.fields[key] = value
        elif value is None:
            self.fields |= build_clear_fields(key)
        else:
            if not self._lenient:
                find_setting(key).validate(value)
            self.fields[key] = value

    def _set_viewer(self, value: Any) -> None:
        if value in (None, [], {}):
            self.replaces_viewer, self.viewer_fields = True, {}
            return
        if not isinstance(value, Mapping):
            raise Stop(ExitCode.USAGE, f"{VIEWER} must be an object")
        for key, inner in value.items():
            self._set_viewer_field(canonicalize(str(key)), inner)

    def _set_viewer_field(self, key: str, value: Any) -> None:
        if isinstance(value, Mapping) and value and (is_block(key) or (self._lenient and "." not in key)):
            for name, inner in value.items():
                self._set_viewer_field(canonicalize(f"{key}.{name}"), inner)
            return
        if is_block(key) and value in (None, [], {}):
            value = None
        elif not self._lenient:
            row = find_setting(key)
            if value is not None:
                row.validate(value)
        self.viewer_fields[key] = value

    def build_body(self, stored: Mapping[str, Any] | None = None, *, pictures_only: bool = False) -> dict[str, Any]:
        """Return the request body.

        ``stored``: the file's current ``viewerSettings``, which the changes are merged into; with ``pictures_only``
        only its own logo and background image are kept. Raise Stop (2) for an impossible result, such as a call to
        action without a URL.
        """
        body = dict(self.fields)
        if self.has_viewer_changes:
            body[VIEWER] = merge_viewer(
                self._choose_base(stored or {}, pictures_only=pictures_only), self.viewer_fields
            )
        if not self._lenient:
            self._validate(body)
        return body

    def _choose_base(self, stored: Mapping[str, Any], *, pictures_only: bool) -> Mapping[str, Any]:
        if pictures_only:
            return _keep_pictures(stored, self.viewer_fields)
        return {} if self.replaces_viewer else stored

    def _validate(self, body: Mapping[str, Any]) -> None:
        if body.get("neverExpire") and "deleteAt" in body:
            raise Stop(ExitCode.USAGE, "deleteAt and neverExpire cannot be used together")
        try:
            viewer.normalize(body.get(VIEWER, {}))
        except Problem as problem:
            button = body.get(VIEWER, {}).get("cta")
            half = isinstance(button, Mapping) and not {"label", "url"} <= button.keys()
            hint = _BUTTON_HINT if half else ""
            raise Stop(ExitCode.USAGE, problem.detail, hint=hint, code="setting") from None


def build_clear_fields(key: str) -> dict[str, Any]:
    """Return the fields that clear a setting, on any plan. Raise Stop (2) for an unknown key."""
    if key == "deleteAt":
        return {"neverExpire": True}
    row = find_setting(key)
    return {key: row.default if row.clear is None else row.clear}


def _keep_pictures(stored: Mapping[str, Any], looks: Mapping[str, Any]) -> ViewerSettings:
    """Return the part of ``stored`` that shows the file's own assets.

    Leave out the background image if ``looks`` set another type of background.
    """
    have = dict(flatten_viewer(stored))
    kind = "background.type"
    keys = set(ASSETS)
    if looks.get(kind, have.get(kind)) not in ("image", have.get(kind)):
        keys.discard("background.assetId")
    elif have.get(kind) == "image":
        keys.add(kind)  # without it the image would not be shown
    return merge_viewer({}, {key: value for key, value in have.items() if key in keys})


def find_needed_plans(body: Mapping[str, Any]) -> dict[Plan, list[str]]:
    """Return the keys of ``body`` that require a plan above Free, by plan, lowest first."""
    found: dict[Plan, list[str]] = {}
    for name, value in body.items():
        if name == VIEWER:
            for key, inner in flatten_viewer(value):
                if key in ROWS and has_non_default_value(key, inner):
                    found.setdefault(ROWS[key].plan, []).append(key)
        elif name in SETTINGS:
            found.setdefault(_find_plan(name, value), []).append(name)
    return {plan: keys for plan, keys in sorted(found.items()) if plan > Plan.FREE}


def _find_plan(name: str, value: Any) -> Plan:
    try:
        return required_plan(name, parse_value(name, value))
    except Problem:  # an invalid value sent with --no-validate is valid on no plan
        return Plan.FREE
