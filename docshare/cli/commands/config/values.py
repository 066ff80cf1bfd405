"""Parse and validate the values of ``config.toml``, from the command line and from the file."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import FORMATS
from docshare.cli.local.config import check_profile_name
from docshare.cli.local.settings import CONFIG_SETTINGS
from docshare.cli.terminal.text import parse_duration
from docshare.client.address import parse_address
from docshare.client.errors import BadAddress

PROFILE = "profile"  # the one key above the profiles
KEYS = (PROFILE, *CONFIG_SETTINGS)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_YEAR_S = 366 * 86_400
_SECRETS = ("token", "key", "password", "secret", "credential")
_BOOLEANS = {"true": True, "false": False}


class ConfigFault(NamedTuple):
    """One error in the file. ``key`` is the dotted key (empty for the file itself), ``detail`` describes the error."""

    key: tuple[str, ...]
    detail: str


def parse_key(word: str) -> str:
    """Return the key for ``word``, with hyphens or underscores. Raise Stop (2) with a suggestion for an unknown one."""
    key = word.replace("-", "_")
    if key in KEYS:
        return key
    hint = f"Keys: {', '.join(KEYS)}."
    near = get_close_matches(key, KEYS, n=1)
    if near:
        hint = f"Did you mean {near[0]}?"
    elif any(part in key.lower() for part in _SECRETS):
        hint = "Credentials are not settings; use docshare auth login, which stores them in a separate file."
    raise Stop(ExitCode.USAGE, f"unknown setting {word!r}", hint=hint)


def parse_value(key: str, text: str) -> Any:
    """Convert ``text`` to the value of ``key`` for the file. Raise Stop (2) if it is invalid."""
    value = _PARSERS.get(key, str)(text)
    wrong = check_value(key, value)
    if wrong:
        raise Stop(ExitCode.USAGE, f"{key}: {wrong}")
    if key == "url":
        return parse_address(text, with_token=False, allow_http=True).base
    return value


def check_value(key: str, value: Any) -> str:
    """Return the error in a value, or nothing if it is valid."""
    kinds = CONFIG_SETTINGS[key].kind
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, bool) is not (bool in allowed) or not isinstance(value, allowed):
        return f"{value!r} is not of type {' or '.join(_TYPES[kind] for kind in allowed)}"
    if isinstance(value, str) and not value.isprintable():
        return "it contains nonprinting characters"
    if value == "":
        return "it is empty; to remove it use docshare config unset"
    check = _CHECKS.get(key)
    return check(value) if check else ""


def check_config(data: Mapping[str, Any]) -> Iterator[ConfigFault]:
    """Yield every error in the parsed file ``data``."""
    profiles = data.get("profiles", {})
    for key in data:
        if key not in (PROFILE, "profiles"):
            yield ConfigFault((key,), f"unknown key {key}{_suggest_key(key, (PROFILE, 'profiles'))}")
    if not isinstance(profiles, Mapping):
        yield ConfigFault(("profiles",), "profiles is not a table")
        profiles = {}
    chosen = data.get(PROFILE)
    if chosen is not None and not (isinstance(chosen, str) and chosen in profiles):
        yield ConfigFault((PROFILE,), f"profile {chosen!r} does not exist")
    for name, values in profiles.items():
        yield from _check_profile(name, values)


def _check_profile(name: str, values: Any) -> Iterator[ConfigFault]:
    try:
        check_profile_name(name)
    except Stop as refusal:
        yield ConfigFault(("profiles", name), refusal.detail)
    if not isinstance(values, Mapping):
        yield ConfigFault(("profiles", name), f"profiles.{name} is not a table")
        return
    for key, value in values.items():
        place = ("profiles", name, key)
        if key not in CONFIG_SETTINGS:
            yield ConfigFault(place, f"unknown key {key}{_suggest_key(key, tuple(CONFIG_SETTINGS))}")
        elif wrong := check_value(key, value):
            yield ConfigFault(place, f"{key}: {wrong}")


def _suggest_key(key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _parse_number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _make_absolute(text: str) -> str:
    return os.path.abspath(text) if text else text


def _check_duration(value: Any) -> str:
    try:
        return "it is longer than a year" if parse_duration(str(value)) > _YEAR_S else ""
    except ValueError as error:
        return str(error)


def _check_url(value: str) -> str:
    try:
        parse_address(value, with_token=False, allow_http=True)
    except BadAddress as error:
        return error.detail
    return ""


def _check_format(value: str) -> str:
    return "" if value in FORMATS else f"{value!r} is not one of {', '.join(FORMATS)}"


def _check_retries(value: int) -> str:
    return "" if value >= 0 else "must be at least 0"


def _check_command(value: str) -> str:
    import shlex

    try:
        return "" if shlex.split(value) else "it is an empty command"
    except ValueError as error:
        return f"it is not a valid command: {error}"


def _check_bundle(value: str) -> str:
    return "" if os.path.exists(value) else f"{value} does not exist"


_TYPES = {str: "text", int: "number", float: "number", bool: "true or false"}
_PARSERS: dict[str, Callable[[str], Any]] = {
    "timeout": _parse_number, "max_wait": _parse_number, "retries": _parse_number, "ca_bundle": _make_absolute,
    **dict.fromkeys(("allow_http", "complete_online"), lambda text: _BOOLEANS.get(text, text)),
}  # fmt: skip
_CHECKS: dict[str, Callable[[Any], str]] = {
    "url": _check_url, "format": _check_format, "timeout": _check_duration, "max_wait": _check_duration,
    "retries": _check_retries, "token_command": _check_command, "ca_bundle": _check_bundle,
}  # fmt: skip
