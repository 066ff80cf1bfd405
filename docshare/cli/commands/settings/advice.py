"""What a person should know after a settings write, where one setting leans on another."""

from collections.abc import Mapping
from typing import Any


def describe_ineffective_domains(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """A warning where domains are set that keep nobody out; empty where all is well. ``body``: what was written;
    ``file``: the settings as they are now."""
    touched = {"gateDomains", "requireEmail"} & body.keys()
    if not touched or not file.get("gateDomains") or file.get("requireEmail") is not False:
        return ""
    return "the e-mail domains keep nobody out while no address is asked for; ask for one with --require-email"


def describe_prompt_change(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """What became of the e-mail prompt with a form that came or went; empty where the form was not written, or the
    prompt was as well. Parameters as of ``hole``."""
    # Spec: File settings. A form turns the prompt on; nothing but requireEmail turns it off.
    if "gateFields" not in body or "requireEmail" in body or not file.get("requireEmail"):
        return ""
    if file.get("gateFields"):
        return "readers are asked for an e-mail address now, as with every form"
    return "readers are still asked for an e-mail address; take that away with --no-require-email"
