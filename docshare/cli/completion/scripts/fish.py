"""The completion script for fish."""

from collections.abc import Iterator

from docshare.cli.completion.scripts import HEADER, Node, nodes, valued_before_commands
from docshare.cli.reference.tree import Command, Option, Value

_FRAME = """\
# fish {header}

function __docshare_at --description 'whether these command words, and no others, were typed'
    set -l current
    set -l before
    for word in (commandline -opc)[2..-1]
        switch "$before"
            case {valued}
                set before
                continue
        end
        set before $word
        switch "$current|$word"
{descents}
        end
    end
    test "$current" = "$argv[1]"
end

complete -c docshare -f
{entries}
"""


def script(root: Command) -> str:
    """The script."""
    every = nodes(root)
    return _FRAME.format(
        header=HEADER,
        valued=" ".join(dict.fromkeys(valued_before_commands(root))),
        descents="\n".join(_descents(every)),
        entries="\n".join(line for node in every for line in _entries(node)),
    )


def _descents(every: list[Node]) -> Iterator[str]:
    for node in every:
        for word, _ in node.words:
            yield f"            case {_quoted(f'{node.path}|{word}')}"
            yield f"                set current {_quoted(f'{node.path} {word}'.strip())}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _entries(node: Node) -> Iterator[str]:
    here = f"complete -c docshare -n {_quoted(f'__docshare_at {_quoted(node.path)}')}"
    for word, summary in node.words:
        yield f"{here} -a {word} -d {_quoted(summary)}"
    for option in node.options:
        start = here if node.path else "complete -c docshare"
        yield f"{start} {_option(option)} -d {_quoted(option.help)}"
    if node.argument is not None and _offer(node.argument):
        yield f"{here} {_offer(node.argument)}"


def _option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.value is None:
        return " ".join(names)
    if option.value.path:
        return " ".join([*names, "-r -F"])
    return " ".join([*names, "-x", _offer(option.value)]).rstrip()


def _offer(value: Value) -> str:
    cached = [f"(command docshare __complete {value.kind} 2>/dev/null)"] if value.kind else []
    if value.words or cached:
        return f"-a {_quoted(' '.join((*value.words, *cached)))}"
    return "-F" if value.path else ""
