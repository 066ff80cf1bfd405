"""``config.toml``: settings that people edit by hand or with ``docshare profile``. It contains no credentials.

Only the profile and config commands write the file, one value at a time, and keep all comments and blank lines.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from docshare import private_files
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.settings import CONFIG_SETTINGS
from docshare.cli.local.storage import hold_lock, replace_file

FILE_NAME = "config.toml"
_TOP_LEVEL: dict[str, type] = {"profile": str, "profiles": dict}


class CliConfig(NamedTuple):
    """The content of the file. ``profiles`` by name; ``unknown``: unknown keys."""

    path: Path
    default_profile: str | None = None
    profiles: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    unknown_keys: tuple[str, ...] = ()

    @classmethod
    def load(cls, directory: Path) -> "CliConfig":
        """Read the file; a missing one is empty. Raise Stop (2) for invalid TOML or a value of the wrong type."""
        path = directory / FILE_NAME
        data = _parse(path, read_text(path))
        _check_types(path, data, _TOP_LEVEL, "")
        profiles = data.get("profiles", {})
        unknown = [key for key in data if key not in _TOP_LEVEL]
        for name, values in profiles.items():
            _check_types(path, {name: values}, {name: dict}, "profiles.")
            _check_types(path, values, {key: row.kind for key, row in CONFIG_SETTINGS.items()}, f"profiles.{name}.")
            unknown += [f"profiles.{name}.{key}" for key in values if key not in CONFIG_SETTINGS]
        return cls(path, data.get("profile"), profiles, tuple(unknown))


def read_text(path: Path) -> str:
    """Return the text of the file; a missing one is empty. Raise Stop (2) if it cannot be read."""
    try:
        return private_files.read_file(path).decode("utf-8")  # keeps the line endings
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {why}") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    if not text:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Stop(ExitCode.USAGE, f"{path}: {error}", hint="Correct the file by hand.") from error


def _check_types(path: Path, values: Mapping[str, Any], kinds: Mapping[str, Any], prefix: str) -> None:
    for key, kind in kinds.items():
        value = values.get(key)
        if value is None or (isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)):
            continue
        words = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise Stop(ExitCode.USAGE, f"{path}: {prefix}{key} must be of type {words}", hint="Correct the file by hand.")


def check_profile_name(name: str) -> str:
    """Return ``name`` if it is a valid profile name, else raise Stop (2)."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name, re.ASCII):
        raise Stop(ExitCode.USAGE, f"{name!r} is not a profile name: use letters, digits, '-', and '_'")
    return name


def save_profile(directory: Path, name: str, values: Mapping[str, Any]) -> None:
    """Add a profile or change the given values of one. The first profile becomes the default."""
    from docshare.cli.local import toml_edit

    check_profile_name(name)

    def change(text: str, data: Mapping[str, Any]) -> str:
        for key, value in values.items():
            text = toml_edit.set_value(text, ("profiles", name), key, value)
        return text if "profile" in data else toml_edit.set_value(text, (), "profile", name)

    _edit(directory, change)


def use_profile(directory: Path, name: str) -> None:
    """Set ``name`` as the default profile."""
    from docshare.cli.local import toml_edit

    _edit(directory, lambda text, _: toml_edit.set_value(text, (), "profile", name))


def remove_value(directory: Path, profile: str | None, key: str) -> None:
    """Remove ``key`` from a profile, or (None) from the top level of the file."""
    from docshare.cli.local import toml_edit

    table = () if profile is None else ("profiles", profile)
    _edit(directory, lambda text, _: toml_edit.remove_value(text, table, key))


def remove_profile(directory: Path, name: str) -> None:
    """Remove a profile, and the default if it was that profile."""
    from docshare.cli.local import toml_edit

    def change(text: str, data: Mapping[str, Any]) -> str:
        text = toml_edit.remove_table(text, ("profiles", name))
        return toml_edit.remove_value(text, (), "profile") if data.get("profile") == name else text

    _edit(directory, change)


def _edit(directory: Path, change: Callable[[str, Mapping[str, Any]], str]) -> None:
    path = directory / FILE_NAME
    with hold_lock(directory / ".lock"):
        text = read_text(path)
        changed = change(text, _parse(path, text))
        if changed != text:
            replace_file(path, changed)
