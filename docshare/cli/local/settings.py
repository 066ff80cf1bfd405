"""Determine the value of a setting that is in effect, and its origin.

The order is always the same: option, environment, profile in ``config.toml``, built-in default.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import parse_duration

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

BUILT_IN_URL = "http://127.0.0.1:8787"  # where ``docshare serve`` listens


class SettingValue(NamedTuple):
    """A value and its origin, such as ``option --url``, ``env DOCSHARE_URL``, ``profile work`` or ``built-in``."""

    value: Any
    origin: str


class ConfigSetting(NamedTuple):
    """``flag``: the field of ``GlobalOptions`` and its flag; ``env``: the variable; ``kind``: the type in a profile."""

    flag: str = ""
    env: str = ""
    kind: type | tuple[type, ...] = str
    default: Any = None


CONFIG_SETTINGS: dict[str, ConfigSetting] = {
    "url": ConfigSetting("--url", "DOCSHARE_URL", default=BUILT_IN_URL),
    "format": ConfigSetting("--format", "DOCSHARE_FORMAT"),
    "timeout": ConfigSetting("--timeout", kind=(int, float, str), default=60.0),
    "retries": ConfigSetting("--retries", kind=int, default=3),
    "max_wait": ConfigSetting("--max-wait", kind=(int, float, str), default=120.0),
    "allow_http": ConfigSetting("--allow-http", kind=bool, default=False),
    "ca_bundle": ConfigSetting("--ca-bundle", "REQUESTS_CA_BUNDLE"),
    "client_id": ConfigSetting(),
    "token_command": ConfigSetting(),
    "complete_online": ConfigSetting(kind=bool, default=False),
}


def resolve_profile(context: "Context") -> SettingValue:
    """Return the name of the profile in effect, None if there is none. Raise Stop (2) if it does not exist."""
    named = resolve_profile_name(context)
    if named.value is not None and named.value not in context.config.profiles:
        known = ", ".join(context.config.profiles) or "none yet"
        raise Stop(
            ExitCode.USAGE,
            f"profile {named.value!r}, named by {named.origin}, does not exist",
            hint=f"Profiles: {known}. Add one with: docshare profile add NAME --url URL",
        )
    return named


def resolve_profile_name(context: "Context") -> SettingValue:
    """Return the name of the profile in effect, whether or not it exists."""
    if context.options.profile:
        return SettingValue(context.options.profile, "option --profile")
    if context.env.get("DOCSHARE_PROFILE"):
        return SettingValue(context.env["DOCSHARE_PROFILE"], "env DOCSHARE_PROFILE")
    if context.config.default_profile is not None:
        return SettingValue(context.config.default_profile, "config.toml")
    return SettingValue(None, "built-in")


def resolve_duration(context: "Context", name: str) -> float:
    """Return a duration setting in seconds; raise Stop (2) if it is not a duration."""
    found = resolve_setting(context, name)
    try:
        return parse_duration(f"{found.value:f}" if isinstance(found.value, float) else str(found.value))
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"{name} ({found.origin}): {error}") from None


def resolve_setting(context: "Context", name: str) -> SettingValue:
    """Return the value of a setting and its origin."""
    setting = CONFIG_SETTINGS[name]
    option = getattr(context.options, name, None)
    if option is not None and option is not False:
        return SettingValue(option, f"option {setting.flag}")
    if setting.env and context.env.get(setting.env):
        return SettingValue(context.env[setting.env], f"env {setting.env}")
    chosen = resolve_profile(context).value
    if chosen is not None and name in context.config.profiles[chosen]:
        return SettingValue(context.config.profiles[chosen][name], f"profile {chosen}")
    return SettingValue(setting.default, "built-in")
