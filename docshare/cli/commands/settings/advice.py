"""Warnings after a settings write, for settings that depend on each other."""

from collections.abc import Mapping
from typing import Any


def describe_ineffective_domains(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """Return a warning if email domains are set but have no effect, else an empty string.

    ``body``: the settings that were written; ``file``: the settings now.
    """
    touched = {"gateDomains", "requireEmail"} & body.keys()
    if not touched or not file.get("gateDomains") or file.get("requireEmail") is not False:
        return ""
    return "the email domains have no effect unless readers must enter an address; use --require-email"


def describe_prompt_change(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """Return a note if adding or removing a gate form left the email prompt on, else an empty string.

    Parameters as of ``describe_ineffective_domains``.
    """
    # A form turns the prompt on; only requireEmail turns it off.
    if "gateFields" not in body or "requireEmail" in body or not file.get("requireEmail"):
        return ""
    if file.get("gateFields"):
        return "the form also makes readers enter an email address"
    return "readers must still enter an email address; turn that off with --no-require-email"
