"""Which value of a setting is in effect, and where it came from.

One order for all of them: option, then environment, then profile in ``config.toml``, then what is built in.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import seconds

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

BUILT_IN_URL = "http://127.0.0.1:8787"  # where ``docshare serve`` listens


class Value(NamedTuple):
    """A value and its origin, such as ``option --url``, ``env DOCSHARE_URL``, ``profile work`` or ``built-in``."""

    value: Any
    origin: str


class Setting(NamedTuple):
    """``option``: the field of ``Options`` and its flag; ``env``: the variable; ``kind``: the type in a profile."""

    flag: str = ""
    env: str = ""
    kind: type | tuple[type, ...] = str
    default: Any = None


SETTINGS: dict[str, Setting] = {
    "url": Setting("--url", "DOCSHARE_URL", default=BUILT_IN_URL),
    "format": Setting("--format", "DOCSHARE_FORMAT"),
    "timeout": Setting("--timeout", kind=(int, float, str), default=60.0),
    "retries": Setting("--retries", kind=int, default=3),
    "max_wait": Setting("--max-wait", kind=(int, float, str), default=120.0),
    "allow_http": Setting("--allow-http", kind=bool, default=False),
    "ca_bundle": Setting("--ca-bundle", "REQUESTS_CA_BUNDLE"),
    "client_id": Setting(),
    "token_command": Setting(),
    "complete_online": Setting(kind=bool, default=False),
}


def profile(context: "Context") -> Value:
    """The name of the profile in effect; None where none is set up. Stop (2) if one is named that does not exist."""
    named = named_profile(context)
    if named.value is not None and named.value not in context.config.profiles:
        known = ", ".join(context.config.profiles) or "none yet"
        raise Stop(
            ExitCode.USAGE,
            f"no profile {named.value!r} (named by {named.origin})",
            hint=f"Profiles: {known}. Add one with: docshare profile add NAME --url URL",
        )
    return named


def named_profile(context: "Context") -> Value:
    """The name of the profile in effect, whether or not it exists."""
    if context.options.profile:
        return Value(context.options.profile, "option --profile")
    if context.env.get("DOCSHARE_PROFILE"):
        return Value(context.env["DOCSHARE_PROFILE"], "env DOCSHARE_PROFILE")
    if context.config.default_profile is not None:
        return Value(context.config.default_profile, "config.toml")
    return Value(None, "built-in")


def find_seconds(context: "Context", name: str) -> float:
    """The value of a setting that is a time, in seconds; Stop (2) for a text that is none."""
    found = find(context, name)
    try:
        return seconds(f"{found.value:f}" if isinstance(found.value, float) else str(found.value))
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"{name} ({found.origin}): {error}") from None


def find(context: "Context", name: str) -> Value:
    """The value of a setting and its origin."""
    setting = SETTINGS[name]
    option = getattr(context.options, name, None)
    if option is not None and option is not False:
        return Value(option, f"option {setting.flag}")
    if setting.env and context.env.get(setting.env):
        return Value(context.env[setting.env], f"env {setting.env}")
    chosen = profile(context).value
    if chosen is not None and name in context.config.profiles[chosen]:
        return Value(context.config.profiles[chosen][name], f"profile {chosen}")
    return Value(setting.default, "built-in")
