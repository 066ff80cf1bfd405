"""Collect settings from options, files and ``key=value`` arguments."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.declarations import ROWS, SettingRow, canonicalize, find_setting, is_object_key
from docshare.cli.commands.settings.options import SharingOptions, UploadSettings
from docshare.cli.commands.settings.overrides import parse_page_range
from docshare.cli.commands.settings.values import parse_json, parse_time, read_settings
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import MAX_LINE_CHARS, STDIN, read_text
from docshare.cli.framework.prompts import read_hidden
from docshare.contract.limits import GATE_FIELDS
from docshare.contract.patterns import Pattern
from docshare.contract.viewer import PRESETS
from docshare.contract.wire import format_instant

_ASSIGNMENT = Pattern(r"([A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+)*)(:?=)(.*)", re.DOTALL)
_NONE = "none"
_ASSET_PREFIX = "asset:"


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of files among ``words``, and the settings (``key=value`` or ``key:=JSON``)."""
    parts: tuple[list[str], list[str]] = [], []
    for word in words:
        parts[_ASSIGNMENT.fullmatch(word) is not None].append(word)
    return parts


def gather(
    context: Context,
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
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")
    changes = SettingChanges(lenient=lenient)
    if source is not None:
        changes.load(
            read_settings(context, source, "--settings" if isinstance(given, UploadSettings) else "--from-file")
        )
    rank = {option: place for place, option in enumerate(_READERS, 1)}  # options without a reader come first
    for option, key, value in sorted(given.list_given(), key=lambda each: rank.get(each[0], 0)):
        _put_option(context, changes, option, key, value)
    for word in (*(given.assignments or ()), *words):
        _put_assignment(context, changes, word, lenient=lenient)
    if given.email_domain and "requireEmail" not in changes.fields:
        changes.put("requireEmail", True)  # without it the server stores the domains but ignores them
    secret = _read_password(context, given.password_file, prompt=given.password_prompt)
    if secret is not None:
        changes.put_password(secret)
    return changes


def _put_option(context: Context, changes: SettingChanges, option: str, key: str, given: Any) -> None:
    if option in _READERS:
        key, value = _READERS[option](context, key, given)
    else:
        value = _require_text(key, given)
    try:
        changes.put(key, value)
    except Stop as stop:
        if option not in _HINTS:
            raise
        # The error names only the setting; prefix it with the option and the value that was given.
        detail = f"--{option} {given}: {stop.detail}"
        raise Stop(stop.exit, detail, hint=_HINTS[option], code=stop.code) from None


def _require_text(key: str, value: Any) -> Any:
    """Return ``value``; raise Stop (2) for an empty text: it is usually an unset variable of a script."""
    if value == "":
        raise Stop(ExitCode.USAGE, f"{key} is empty", hint=f"To clear it: docshare settings clear FILE {key}")
    return value


def _read_expiry(context: Context, key: str, text: str) -> tuple[str, Any]:
    if text == "never":
        return "neverExpire", True
    found = parse_time(context, text, "--expires")
    if found <= context.now():
        hint = "To end the link now, use deleteAt=TIME, which accepts a past time. An ended link cannot be renewed."
        raise Stop(ExitCode.USAGE, f"--expires: {text!r} is in the past", hint=hint)
    return key, format_instant(found)


def _read_background(_context: Context, key: str, look: str) -> tuple[str, Any]:
    if look == _NONE:
        return key, None
    if look in PRESETS:
        return key, {"type": "gradient", "preset": look}
    if look.startswith(_ASSET_PREFIX):
        return key, {"type": "image", "assetId": look.removeprefix(_ASSET_PREFIX)}
    return key, {"type": "solid", "color": look}


# Options whose value is not the API value, in the order of the request: each returns the key and the API value.
_READERS: dict[str, Callable[[Context, str, Any], tuple[str, Any]]] = {
    "pages": lambda _context, key, text: (key, parse_page_range(text, "--pages")),
    "expires": _read_expiry,
    "gate": lambda context, key, source: (
        key,
        None if source == _NONE else parse_json(read_text(context, source, "--gate"), source),
    ),
    "ga4": lambda _context, key, text: (key, None if text == _NONE else text),
    "logo": lambda _context, key, text: ("logo", None) if text == _NONE else (key, text.removeprefix(_ASSET_PREFIX)),
    "background": _read_background,
}

# Options whose value is a form or a choice that the error of the setting does not explain.
_HINTS = {
    "gate": f"A form is a list of up to {GATE_FIELDS} {{key, label, type, required}}; exactly one has the type email.",
    "background": f"Use #RRGGBB, {', '.join(PRESETS)}, asset:ID or none.",
}


def _put_assignment(context: Context, changes: SettingChanges, word: str, *, lenient: bool) -> None:
    match = _ASSIGNMENT.fullmatch(word)
    if match is None:
        raise Stop(ExitCode.USAGE, f"{word!r} is not a setting", hint="Use KEY=VALUE or KEY:=JSON.")
    name, operator, text = match.groups()
    key = canonicalize(name)
    value: Any = text
    if name == "password":
        value = None  # put raises Stop with the options to use
    elif operator == ":=":
        value = parse_json(read_text(context, text[1:], name) if text.startswith("@") else text, name)
    elif key in ROWS:
        value = _parse_text(context, ROWS[key], text)
    elif is_object_key(key):
        value = None if text == "null" else parse_json(text, name)
    elif not lenient:
        find_setting(name)  # raises Stop for an unknown key
    changes.put(key, value)


def _parse_text(context: Context, row: SettingRow, text: str) -> Any:
    """Return the API value of the text behind ``KEY=``; None clears the setting."""
    if _require_text(row.key, text) == "null":
        return None
    if text.startswith("@"):
        return parse_json(read_text(context, text[1:], row.key), text)
    return row.parse(context, text)


def _read_password(context: Context, file: str | None, *, prompt: bool) -> str | None:
    if file is not None and prompt:
        raise Stop(ExitCode.USAGE, "--password-file and --password-prompt cannot be used together")
    if prompt:
        secret = _prompt_password(context)
    elif file is not None:
        secret = read_text(context, file, "--password-file").removesuffix("\n").removesuffix("\r")
    else:
        return None
    if not secret:
        raise Stop(ExitCode.USAGE, "the password is empty", hint="To remove it: docshare settings clear FILE password")
    return keep_secret(context, secret)


def _prompt_password(context: Context) -> str:
    """Return the password, typed twice without echo and not trimmed."""
    if not context.may_prompt:
        hint = "Use --password-file F."
        raise Stop(ExitCode.USAGE, "cannot prompt for the password here", hint=hint, code="prompt")
    secret = read_hidden(context, "Password: ")
    if read_hidden(context, "Repeat password: ") != secret:
        raise Stop(ExitCode.USAGE, "the passwords do not match; nothing was changed")
    return secret


def use_manage_token(ctx: Context, path: str) -> None:
    """Use only the manage token in ``path`` from now on, and no other credential."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            token = file.read(MAX_LINE_CHARS + 1).strip()
    except (OSError, UnicodeError) as error:
        raise Stop(ExitCode.USAGE, f"--manage-token-file: cannot read {path}: {error}", code="local_file") from error
    if not token:
        raise Stop(ExitCode.USAGE, f"--manage-token-file: {path} is empty")
    if len(token) > MAX_LINE_CHARS:
        raise Stop(ExitCode.USAGE, f"--manage-token-file: {path} does not contain a token")
    ctx.connection = ctx.connection._replace(token=keep_secret(ctx, token), source=f"--manage-token-file {path}")
