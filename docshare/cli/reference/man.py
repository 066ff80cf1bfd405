"""Generate man pages from the command tree and the topics. They have no build date, so that output is reproducible."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from docshare.cli import topics
from docshare.cli.framework.scopes import find_scopes
from docshare.cli.reference.tree import Command, Option
from docshare.cli.terminal.output import Spec

_EDITION = "2026-11-21"  # date of the texts, set by hand to keep the output reproducible
_EXIT_STATUS = "0 on success, 2 on invalid usage; docshare\\-exit\\-codes(7) lists all exit codes."


def render_pages(root: Command) -> dict[str, str]:
    """Return every page by its path below ``man/``: ``man1/docshare-files-list.1`` and so on."""
    pages = {f"man1/{page_name(command)}.1": _render_command(command) for command in root.walk()}
    pages |= {f"man7/docshare-{topic}.7": _render_topic(topic, 7) for topic in topics.TOPICS}
    return {**pages, "man5/docshare-config.5": _render_topic("config", 5)}


def page_name(command: Command) -> str:
    """Return the name of a command's page."""
    return "-".join(("docshare", *command.path))


def _render_command(command: Command) -> str:
    first, _, rest = command.help.partition("\n")
    text, examples = split_examples(rest)
    parts = [
        _render_title(page_name(command), 1, first),
        [".SH SYNOPSIS", *_render_synopsis(command)],
        [".SH DESCRIPTION", *_describe_alias(command), *(_render_prose(text) or _wrap(first))],
        _render_section(
            "COMMANDS",
            (line for child in command.children for line in _render_item(_render_reference(child), child.summary)),
        ),
        _render_section(
            "OPTIONS",
            (
                line
                for option in command.options
                for line in _render_item(_render_names(option), describe_option(option))
            ),
        ),
        [".SH OUTPUT", *_describe_output(command.spec)] if not command.children else [],
        _render_scopes(command),
        [".SH EXIT STATUS", _EXIT_STATUS] if not command.children else [],
        [".SH EXAMPLES", *_render_literal(examples)] if examples else [],
        [".SH SEE ALSO", ",\n".join(_list_references(command))],
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _render_topic(topic: str, section: int) -> str:
    first, _, rest = topics.load(topic).partition("\n")
    body = list(_render_topic_body(rest.strip("\n").split("\n")))
    see = [".SH SEE ALSO", "\\fBdocshare\\fR(1)"]
    return "\n".join([*_render_title(f"docshare-{topic}", section, first), ".SH DESCRIPTION", *body, *see]) + "\n"


def _describe_alias(command: Command) -> list[str]:
    return (
        [f"Short for {_render_bold('-'.join(('docshare', *command.alias_of)))}(1).", ".PP"] if command.alias_of else []
    )


def _render_title(name: str, section: int, summary: str) -> list[str]:
    return [
        '.\\" Written by: python -m docshare.cli.reference',
        f'.TH {_escape(name.upper())} {section} {_EDITION} docshare "docshare manual"',
        ".SH NAME",
        *_wrap(f"{name} - {summary.rstrip('.')}"),
    ]


def _escape(text: str) -> str:
    """Escape text for roff: no requests, no escapes, and hyphens that can be copied."""
    return _escape_line_start(text.replace("\\", "\\e").replace("-", "\\-"))


def _escape_line_start(line: str) -> str:
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _wrap(text: str) -> list[str]:
    """Return prose as roff input lines of at most 78 bytes or one word."""
    return [
        _escape_line_start(line)
        for line in textwrap.wrap(_escape(text), 78, break_long_words=False, break_on_hyphens=False)
    ]


def split_examples(text: str) -> tuple[str, list[str]]:
    """Split the help, without its first line, into prose and the lines of its examples."""
    before, _, after = re.sub(r"(?m)^Example:(.*)$", r"Examples:\n\n \1", text).partition("Examples:")
    lines = [line.strip() for line in after.strip("\n").split("\n") if line.strip()]
    return before.strip(), lines


def _render_prose(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in filter(None, (part.strip() for part in text.split("\n\n"))):
        lines += [".PP"] if lines else []
        lines += _wrap(" ".join(paragraph.split()))
    return lines


def _render_literal(lines: Sequence[str]) -> list[str]:
    return [".EX", *(_escape(line) for line in lines), ".EE"]


def _render_section(name: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return [f".SH {name}", *body] if body else []


def _render_item(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", term, *(_wrap(meaning) or ["\\&"]))


def _render_bold(text: str) -> str:
    return f"\\fB{_escape(text)}\\fR"


def _render_reference(child: Command) -> str:
    return f"{_render_bold(page_name(child))}(1)"


def _render_names(option: Option) -> str:
    names = ", ".join(_render_bold(name) for name in option.names)
    return f"{names} \\fI{_escape(option.metavar)}\\fR" if option.metavar else names


def describe_option(option: Option) -> str:
    """Return the help of an option with its default and its variable."""
    default = f" The default is {option.default}." if option.default else ""
    env = f" Environment: {option.env}." if option.env else ""
    return f"{option.help}{default}{env}"


def _render_synopsis(command: Command) -> list[str]:
    words = [_render_bold(" ".join(("docshare", *command.path)))]
    if command.options:
        words.append("[\\fIOPTIONS\\fR]")
    if command.children:
        words.append("\\fICOMMAND\\fR")
    for argument in command.arguments:
        name = f"\\fI{_escape(argument.metavar)}\\fR" + ("..." if argument.many else "")
        words.append(name if argument.required else f"[{name}]")
    return [" ".join(words)]


def _describe_output(spec: Spec | None) -> list[str]:
    if spec is None:
        return ["See docshare\\-formatting(7)."]
    lines = []
    if spec.plain:
        lines += _wrap(f"On a pipe: tab-separated {', '.join(spec.plain)}.")
    if spec.known_fields():
        lines += [".PP"] if lines else []
        lines += [f"Fields for {_render_bold('--fields')}:", *_wrap(f"{', '.join(spec.known_fields())}.")]
    lines += [".PP"] if lines else []
    return [*lines, "docshare\\-formatting(7) explains output formats and their options."]


def _render_scopes(command: Command) -> list[str]:
    found = None if command.children else find_scopes(command.path)
    return [] if found is None else [".SH SCOPES", *_wrap(str(found).removeprefix("Scopes: "))]


def _list_references(command: Command) -> Iterator[str]:
    for parent in (command.path[:-1],) if command.path else ():
        yield f"{_render_bold('-'.join(('docshare', *parent)))}(1)"
    for topic in ("global", "formatting", "exit-codes", "environment", "files"):
        yield f"{_render_bold(f'docshare-{topic}')}(7)"
    yield f"{_render_bold('docshare-config')}(5)"


def _render_topic_body(lines: Sequence[str]) -> Iterator[str]:
    """Yield roff for the notation of the topics: headings, rows of term and meaning, examples, prose."""
    block, last = "", "heading"
    for line in lines:
        kind = classify_line(line, block)
        if block == "example" and kind != "example":
            yield ".EE"
        yield from _render_line(line, kind, block, last)
        block, last = kind, kind or last
    if block == "example":
        yield ".EE"


def classify_line(line: str, block: str) -> str:
    """Return the kind of a line in the notation of the topics; ``block``: the kind of the line before."""
    if not line:
        return ""
    if line.startswith("# "):
        return "heading"
    if line.startswith("    "):
        return "meaning" if block in ("row", "meaning") else "example"
    return "row" if line.startswith("  ") else "prose"


def _render_line(line: str, kind: str, block: str, last: str) -> Iterator[str]:
    """``block``: kind of the previous line; ``last``: kind of the last line that was not empty."""
    match kind:
        case "heading":
            yield f".SS {_escape(line[2:])}"
        case "row":
            term, _, meaning = line.strip().partition("  ")
            yield from (".TP", _render_bold(term))
            if meaning:
                yield from _wrap(meaning.strip())
        case "example":
            if block != "example":
                yield from ([] if last == "heading" else [".PP"])
                yield ".EX"
            yield _escape(line[4:])
        case "prose" | "meaning":
            if kind == "prose" and block == "" and last != "heading":
                yield ".PP"
            yield from _wrap(line.strip())
