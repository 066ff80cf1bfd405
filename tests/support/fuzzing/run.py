"""Run Schemathesis on the API description of an instance, with the credentials of one plan."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.fuzzing.instance import FuzzAccount, FuzzInstance

ROOT = Path(__file__).parents[3]
CONFIG = Path(__file__).with_name("schemathesis.toml")

PARAMETERS = {
    "/files/[{]uuid[}]": {"path.uuid": "file", "path.variantUuid": "variant", "path.sessionId": "session"},
    "/webhooks/[{]uuid[}]": {"path.uuid": "webhook"},
    "/files/import$": {"body.url": "export", "body.designToken": "design", "body.designToolUserToken": "user"},
    "/design-tool/": {"body.url": "export", "body.designToken": "design", "body.accessToken": "key"},
}
"""Parameters that get known values of the account, by the path of the operation; not where they would be deleted."""


def run_schemathesis(stage: FuzzInstance, plan: str, folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run Schemathesis with ``args``; its configuration file is in ``folder``."""
    config = folder / f"{plan}.toml"
    config.write_text(CONFIG.read_text() + _format_dictionaries(stage.accounts[plan]))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", "--no-color", *args]
    return subprocess.run(
        [*command, "--url", stage.url, f"{stage.url}/api/v1/openapi.json"],
        cwd=folder,
        env=os.environ | stage.accounts[plan].environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _format_dictionaries(part: FuzzAccount) -> str:
    """Return the part of the configuration that makes Schemathesis use ids of the account most of the time."""
    lines = [f"[dictionaries.{name}]\nvalues = {json.dumps(values)}" for name, values in part.known_values.items()]
    for pattern, places in PARAMETERS.items():
        lines.append(f'[[operations]]\ninclude-path-regex = "{pattern}"')
        lines.append('exclude-method = "DELETE"\n[operations.parameters]')
        bound = {place: name for place, name in places.items() if name in part.known_values}
        lines += [f'"{place}" = {{ dictionary = "{name}", probability = 0.7 }}' for place, name in bound.items()]
    return "\n".join(["", *lines, ""])
