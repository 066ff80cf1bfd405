"""The completion script for zsh."""

from collections.abc import Iterator

from docshare.cli.completion.scripts.case_lines import (
    ScriptNames,
    join_alternatives,
    render_arguments,
    render_descents,
    render_values,
)
from docshare.cli.completion.scripts.nodes import HEADER, CompletionNode, build_nodes, list_valued_options
from docshare.cli.reference.tree import Command, Option

_NAMES = ScriptNames(path="current", fixed="_docshare_fixed", files="_files")
_TEMPLATE = """\
#compdef docshare
# zsh {header}

_docshare_cached() {{
    # Lines of value<TAB>description. They go into an array unchanged; nothing is evaluated.
    local value description
    local -a found
    while IFS=$'\\t' read -r value description; do
        found+=("${{value//:/\\\\:}}:$description")
    done < <(command docshare __complete "$1" 2>/dev/null)
    _describe -t "$1" "$1" found
}}

_docshare_fixed() {{
    # A word that ends with = needs a value; every other word is followed by a space.
    local -a whole=("${{(@)argv:#*=}}") begun=("${{(@M)argv:#*=}}")
    compadd -a whole
    compadd -S '' -a begun
}}

_docshare() {{
    local current='' before='' word
    local -a commands options
    integer index
    for ((index = 2; index < CURRENT; index++)); do
        word=${{words[index]}}
        case $before in
            {valued}) before=''; continue ;;
        esac
        before=$word
        case "$current|$word" in
{descents}
        esac
    done
    if [[ $PREFIX == --*=* ]]; then
        before=${{PREFIX%%=*}}
        compset -P 1 '*='
    fi
    case "$current|$before" in
{values}
    esac
    case "|$before" in
{shared}
    esac
    case $current in
{words}
    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        options+=(
{globals}
        )
        _describe -o -t options option options
    elif (( $#commands )); then
        _describe -t commands command commands
    else
        case $current in
{arguments}
        esac
    fi
}}

if [[ $funcstack[1] == _docshare ]]; then
    _docshare "$@"
else
    compdef _docshare docshare
fi
"""


def render_script(root: Command) -> str:
    """Return the script."""
    every = build_nodes(root)
    return _TEMPLATE.format(
        header=HEADER,
        valued=join_alternatives(list_valued_options(root)),
        descents="\n".join(render_descents(every, _NAMES)),
        values="\n".join(line for node in every[1:] for line in render_values(node, _NAMES)),
        shared="\n".join(render_values(every[0], _NAMES)),
        words="\n".join(_render_words(every)),
        globals="\n".join(f"            {_describe_option(option)}" for option in every[0].options),
        arguments="\n".join(render_arguments(every, _NAMES)),
    )


def _quote(value: str, description: str) -> str:
    text = f"{value.replace(':', chr(92) + ':')}:{description}"
    return "'" + text.replace("'", "'\\''") + "'"


def _describe_option(option: Option) -> str:
    return " ".join(_quote(name, option.help) for name in option.names)


def _render_words(every: list[CompletionNode]) -> Iterator[str]:
    for node in every:
        yield f"        '{node.path}')"
        if node.words:
            yield "            commands=("
            yield from (f"                {_quote(word, summary)}" for word, summary in node.words)
            yield "            )"
        if node.path:
            yield "            options=("
            yield from (f"                {_describe_option(option)}" for option in node.options)
            yield "            )"
        yield "            ;;"
