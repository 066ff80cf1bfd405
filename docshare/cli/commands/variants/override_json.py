"""The option ``--overrides`` of ``docshare variants update``: overrides as in the API."""

from docshare.cli.commands.settings.overrides import KEYS, Overrides, validate_override
from docshare.cli.commands.settings.values import parse_json
from docshare.cli.framework.exits import ExitCode, Stop


def parse_overrides(text: str) -> Overrides:
    """Return the overrides in a JSON object; raise Stop (2) for anything that a variant cannot override."""
    found = parse_json(text, "--overrides")
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, "--overrides must be an object", hint='Example: {"allowDownload":false}.')
    unknown = sorted(found.keys() - set(KEYS))
    if unknown:
        known = ", ".join(KEYS)
        raise Stop(ExitCode.USAGE, f"a variant overrides {known}, not {unknown[0]}", hint="Set it on the file.")
    return {key: validate_override(key, value, f"--overrides: {key}") for key, value in found.items()}
