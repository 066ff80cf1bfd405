"""Change the settings of a file so that its share page shows a new asset."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.write import SettingsWriter, WriteOptions
from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client


def apply_asset(
    ctx: Context, client: "Client", name: str, asset: Mapping[str, Any], settings: Mapping[str, str]
) -> tuple[Mapping[str, Any], ExitCode]:
    """Write the ``settings`` that show the asset, which is already stored. On failure print why and return code 12."""
    changes = SettingChanges()
    for key, value in settings.items():
        changes.put(key, value)
    try:
        SettingsWriter(ctx, client, changes, WriteOptions()).write(name)
    except (Problem, ClientError, Stop) as error:
        failure = failures.describe(ctx, error)
        line = f"docshare settings set {name} {' '.join(f'{key}={value}' for key, value in settings.items())}"
        ctx.err(f"error: the {asset['kind']} is stored but not applied: {failure.detail}", "error")
        ctx.err(f"hint: {line}")
        return asset, ExitCode.PARTIAL
    return {**asset, "applied": True}, ExitCode.OK
