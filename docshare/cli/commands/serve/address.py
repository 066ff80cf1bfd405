"""The address that ``docshare serve`` listens on: an option, a variable, or the default."""

from collections.abc import Mapping

from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop

LOOPBACK_HOST = "127.0.0.1"
DEFAULT_PORT = 8787
MAX_PORT = 65535


def choose_host(option: str | None, env: Mapping[str, str]) -> str:
    """Return the address of the option, of the environment, or the default."""
    return option or env.get("DOCSHARE_HOST") or LOOPBACK_HOST


def choose_port(option: int | None, env: Mapping[str, str]) -> int:
    """Return the port of the option, of the environment, or the default. Raise Stop if it is not a port."""
    if option is not None:
        return option
    text = env.get("DOCSHARE_PORT") or str(DEFAULT_PORT)
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_PORT):
        raise Stop(ExitCode.USAGE, f"environment: DOCSHARE_PORT: expected a port from 0 to {MAX_PORT}")
    return int(text)


def warn_if_exposed(ctx: Context, host: str, base_url: str) -> None:
    """Warn if other machines can reach the server without TLS."""
    if host not in (LOOPBACK_HOST, "localhost", "::1") and not base_url.startswith("https://"):
        ctx.warn(f"listening on {host} without TLS: links and keys are sent unencrypted; use --base-url https://...")
