"""Collect topics and commands as data for the manual as a website: ``docshare/manual/reference.json``.

The server draws that website, and does not import the command line, so the data is committed.
"""

import json
from collections.abc import Iterable
from typing import Any

from docshare.cli import topics
from docshare.cli.framework.scopes import find_scopes
from docshare.cli.reference.man import classify_line, describe_option, split_examples
from docshare.cli.reference.tree import Argument, Command, Option


def render_data(root: Command) -> str:
    """Return the text of the JSON file: ``topics``, ``samples``, and ``commands`` in the order of the tree."""
    data = {
        "topics": [_describe_topic(name) for name in sorted((*topics.TOPICS, "config"))],
        "samples": {name: topics.read_sample(name) for names in topics.SAMPLES.values() for name in names},
        "commands": [_describe_command(command) for command in root.walk()],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _describe_topic(name: str) -> dict[str, Any]:
    summary, _, rest = topics.load(name).partition("\n")
    return {
        "name": name,
        "summary": summary,
        "samples": list(topics.SAMPLES.get(name, ())),
        "blocks": _parse_blocks(rest.strip("\n").split("\n")),
    }


def _parse_blocks(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Return the notation of a topic as blocks: ``heading``, ``prose``, ``example``, and ``rows`` of term and meaning.

    An empty line ends a paragraph, but neither an example nor a table.
    """
    blocks: list[dict[str, Any]] = []
    kind = ""
    for line in lines:
        before, kind = kind, classify_line(line, kind)
        last: dict[str, Any] = blocks[-1] if blocks else {"kind": ""}
        match kind:
            case "heading":
                blocks.append({"kind": "heading", "text": line[2:]})
            case "prose" if before == "prose":
                last["text"] += f" {line.strip()}"
            case "prose":
                blocks.append({"kind": "prose", "text": line.strip()})
            case "example" if last["kind"] == "example":
                last["lines"] += [*([""] if before == "" else []), line[4:]]
            case "example":
                blocks.append({"kind": "example", "lines": [line[4:]]})
            case "row":
                if last["kind"] != "rows":
                    blocks.append(last := {"kind": "rows", "rows": []})
                term, _, meaning = line.strip().partition("  ")
                last["rows"].append([term, meaning.strip()])
            case "meaning":
                row = last["rows"][-1]
                row[1] = f"{row[1]} {line.strip()}".strip()
    return blocks


def _describe_command(command: Command) -> dict[str, Any]:
    first, _, rest = command.help.partition("\n")
    text, examples = split_examples(rest)
    scopes = None if command.children else find_scopes(command.path)
    spec = None if command.children else command.spec
    return {
        "path": list(command.path),
        "summary": first,
        "text": [" ".join(part.split()) for part in text.split("\n\n") if part.strip()],
        "examples": examples,
        "aliasOf": list(command.alias_of),
        "arguments": [_describe_argument(argument) for argument in command.arguments],
        "options": [_describe_option(option) for option in command.options],
        "children": [child.path[-1] for child in command.children],
        "columns": list(spec.plain) if spec else [],
        "fields": list(spec.known_fields()) if spec else [],
        "scopes": "" if scopes is None else str(scopes).removeprefix("Scopes: "),
    }


def _describe_argument(argument: Argument) -> dict[str, Any]:
    name = argument.metavar + ("..." if argument.many else "")
    return {"name": name if argument.required else f"[{name}]", "help": argument.help}


def _describe_option(option: Option) -> dict[str, Any]:
    return {"names": list(option.names), "value": option.metavar, "help": describe_option(option)}
