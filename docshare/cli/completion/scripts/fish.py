"""The completion script for fish."""

from collections.abc import Iterator

from docshare.cli.completion.scripts.nodes import HEADER, CompletionNode, build_nodes, list_valued_options
from docshare.cli.reference.tree import Command, Option, ValueCompletion

_TEMPLATE = """\
# fish {header}

function __docshare_at --description 'Test whether exactly these command words were typed'
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


def render_script(root: Command) -> str:
    """Return the script."""
    every = build_nodes(root)
    return _TEMPLATE.format(
        header=HEADER,
        valued=" ".join(dict.fromkeys(list_valued_options(root))),
        descents="\n".join(_render_descents(every)),
        entries="\n".join(line for node in every for line in _render_entries(node)),
    )


def _render_descents(every: list[CompletionNode]) -> Iterator[str]:
    for node in every:
        for word, _ in node.words:
            yield f"            case {_quote(f'{node.path}|{word}')}"
            yield f"                set current {_quote(f'{node.path} {word}'.strip())}"


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _render_entries(node: CompletionNode) -> Iterator[str]:
    here = f"complete -c docshare -n {_quote(f'__docshare_at {_quote(node.path)}')}"
    for word, summary in node.words:
        yield f"{here} -a {word} -d {_quote(summary)}"
    for option in node.options:
        start = here if node.path else "complete -c docshare"
        yield f"{start} {_render_option(option)} -d {_quote(option.help)}"
    if node.argument is not None and _render_offer(node.argument):
        yield f"{here} {_render_offer(node.argument)}"


def _render_option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.value is None:
        return " ".join(names)
    if option.value.path:
        return " ".join([*names, "-r -F"])
    return " ".join([*names, "-x", _render_offer(option.value)]).rstrip()


def _render_offer(value: ValueCompletion) -> str:
    cached = [f"(command docshare __complete {value.kind} 2>/dev/null)"] if value.kind else []
    if value.words or cached:
        return f"-a {_quote(' '.join((*value.words, *cached)))}"
    return "-F" if value.path else ""
