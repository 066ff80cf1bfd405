"""Collect settings from options, files and ``key=value`` arguments."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.declarations import ROWS, canonicalize, find_setting, is_object_key
from docshare.cli.commands.settings.options import AllSettings, SharingOptions, UploadSettings
from docshare.cli.commands.settings.values import (
    parse_assignment,
    parse_json,
    parse_page_range,
    parse_text,
    parse_time,
    read_settings,
)
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_text
from docshare.contract.limits import GATE_FIELDS
from docshare.contract.viewer import PRESETS
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

# Option -> the setting that takes its value unchanged.
_DIRECT_OPTIONS = {
    "mode": "viewerMode", "download": "allowDownload", "views": "viewLimit", "require_email": "requireEmail",
    "email_domain": "gateDomains", "notify": "notifyOnView", "watermark": "watermark", "receipt": "askReceipt",
    "slug": "slug", "comments": "commentsEnabled", "comments_public": "commentsAllowPublic",
    "notify_comments": "notifyOnComment", "marks": "marksEnabled", "annotations": "annotationsEnabled",
    "brand": "brand.accentColor", "cta_label": "cta.label", "cta_url": "cta.url",
    "watermark_opacity": "watermarkStyle.opacity",
}  # fmt: skip
_NONE = "none"
_ASSET_PREFIX = "asset:"
_BACKGROUND_HINT = f"Use #RRGGBB, {', '.join(PRESETS)}, asset:ID or none."
_FORM_HINT = f"A form is a list of up to {GATE_FIELDS} {{key, label, type, required}}; exactly one has the type email."


def gather(
    context: "Context",
    given: SharingOptions,
    words: Iterable[str] = (),
    *,
    lenient: bool = False,
    ids_on_stdin: bool = False,
) -> SettingChanges:
    """Return the changes that the options and the ``words`` (``key=value``) ask for, validated as far as possible.

    Options and words override a settings file. Raise Stop (2) for invalid values.
    """
    source, gate = (getattr(given, name, None) for name in ("source", "gate"))
    if (source, gate, given.password_file).count(STDIN) + ids_on_stdin > 1:
        raise Stop(ExitCode.USAGE, "'-' (stdin) can be read only once")
    changes = SettingChanges(lenient=lenient)
    if source is not None:
        changes.load(
            read_settings(context, source, "--settings" if isinstance(given, UploadSettings) else "--from-file")
        )
    for option, key in _DIRECT_OPTIONS.items():
        value = getattr(given, option, None)
        if value is not None:
            changes.put(key, _require_value(key, value))
    _put_times_and_pages(context, given, changes)
    if isinstance(given, AllSettings):
        _put_appearance(context, given, changes)
    for word in (*(given.assignments or ()), *words):
        _put_assignment(context, changes, word, lenient=lenient)
    if given.email_domain and "requireEmail" not in changes.fields:
        changes.put("requireEmail", True)  # without it the server stores the domains but ignores them
    secret = _read_password(context, given)
    if secret is not None:
        changes.put_password(secret)
    return changes


def _require_value(key: str, value: Any) -> Any:
    if value == "":  # usually an unset variable of a script
        raise Stop(ExitCode.USAGE, f"{key} is empty", hint=f"To clear it: docshare settings clear FILE {key}")
    return value


def _put_times_and_pages(context: "Context", given: SharingOptions, changes: SettingChanges) -> None:
    if given.hide_expiry is not None:
        changes.put("showExpiry", not given.hide_expiry)
    if given.pages is not None:
        changes.put("pageRange", parse_page_range(given.pages, "--pages"))
    if given.expires == "never":
        changes.put("neverExpire", True)
    elif given.expires is not None:
        changes.put("deleteAt", format_instant(_parse_future(context, given.expires)))


def _parse_future(context: "Context", text: str) -> int:
    found = parse_time(context, text, "--expires")
    if found <= context.now():
        hint = "To end the link now, use deleteAt=TIME, which accepts a past time. An ended link cannot be renewed."
        raise Stop(ExitCode.USAGE, f"--expires: {text!r} is in the past", hint=hint)
    return found


def _put_appearance(context: "Context", given: AllSettings, changes: SettingChanges) -> None:
    if given.gate is not None:
        form = None if given.gate == _NONE else parse_json(read_text(context, given.gate, "--gate"), given.gate)
        with _prefix_errors(f"--gate {given.gate}", _FORM_HINT):
            changes.put("gateFields", form)
    if given.ga4 is not None:
        changes.put("ga4Id", None if given.ga4 == _NONE else given.ga4)
    if given.logo is not None:
        changes.put(
            *(("logo", None) if given.logo == _NONE else ("logo.assetId", given.logo.removeprefix(_ASSET_PREFIX)))
        )
    if given.background is not None:
        with _prefix_errors(f"--background {given.background}", _BACKGROUND_HINT):
            changes.put("background", _parse_background(given.background))


@contextmanager
def _prefix_errors(said: str, hint: str) -> Iterator[None]:
    """Prefix an error with the option and value it is about; the error itself names only the setting."""
    try:
        yield
    except Stop as stop:
        raise Stop(stop.exit, f"{said}: {stop.detail}", hint=hint, code=stop.code) from None


def _parse_background(look: str) -> dict[str, str] | None:
    if look == _NONE:
        return None
    if look in PRESETS:
        return {"type": "gradient", "preset": look}
    if look.startswith(_ASSET_PREFIX):
        return {"type": "image", "assetId": look.removeprefix(_ASSET_PREFIX)}
    return {"type": "solid", "color": look}


def _put_assignment(context: "Context", changes: SettingChanges, word: str, *, lenient: bool) -> None:
    key, as_json, text = parse_assignment(word)
    row = ROWS.get(canonicalize(key))
    if key == "password":
        changes.put(key, None)  # raises Stop with the options to use
    elif as_json:
        given = read_text(context, text[1:], key) if text.startswith("@") else text
        changes.put(key, parse_json(given, key))
    elif row is not None:
        changes.put(key, parse_text(context, row, text))
    elif is_object_key(key):
        changes.put(key, None if text == "null" else parse_json(text, key))
    else:
        changes.put(key, text if lenient else find_setting(key))  # raises Stop for an unknown key


def _read_password(context: "Context", given: SharingOptions) -> str | None:
    if given.password_file is not None and given.password_prompt:
        raise Stop(ExitCode.USAGE, "--password-file and --password-prompt exclude each other")
    if given.password_prompt:
        secret = _prompt_password(context)
    elif given.password_file is not None:
        secret = read_text(context, given.password_file, "--password-file").removesuffix("\n").removesuffix("\r")
    else:
        return None
    if not secret:
        raise Stop(ExitCode.USAGE, "the password is empty", hint="To remove it: docshare settings clear FILE password")
    from docshare.cli.framework.connection import keep_secret

    return keep_secret(context, secret)


def _prompt_password(context: "Context") -> str:
    """Return the password, typed twice without echo and not trimmed."""
    if not context.may_prompt:
        hint = "Use --password-file F."
        raise Stop(ExitCode.USAGE, "cannot prompt for the password here", hint=hint, code="prompt")
    from docshare.cli.framework.prompts import read_hidden

    secret = read_hidden(context, "Password: ")
    if read_hidden(context, "Repeat password: ") != secret:
        raise Stop(ExitCode.USAGE, "the passwords do not match; nothing was changed")
    return secret
