"""The completion script for bash (3.2 and later)."""

from collections.abc import Iterator

from docshare.cli.completion.scripts.case_lines import (
    ScriptNames,
    join_alternatives,
    render_arguments,
    render_descents,
    render_values,
)
from docshare.cli.completion.scripts.nodes import HEADER, CompletionNode, build_nodes, list_valued_options
from docshare.cli.reference.tree import Command

_NAMES = ScriptNames(path="command", fixed="_docshare_reply", files="_docshare_local")
_TEMPLATE = """\
# bash {header}

_docshare_reply() {{
    # Offer the words that begin with what was typed. Readline replaces only the part after the last : or =.
    local word
    for word; do
        [[ $word == "$typed"* ]] || continue
        COMPREPLY+=("${{word:$skip}}")
        [[ $word == *= ]] && compopt -o nospace 2>/dev/null
    done
    return 0
}}

_docshare_cached() {{
    local word _
    while IFS=$'\\t' read -r word _; do
        _docshare_reply "$word"
    done < <(command docshare __complete "$1" "$typed" 2>/dev/null)
}}

_docshare_local() {{
    compopt -o default 2>/dev/null
}}

_docshare() {{
    local line=${{COMP_LINE:0:COMP_POINT}} typed= command= before= skip=0 word words=() commands options
    read -ra words <<<"$line"
    if [[ $line != *[[:space:]] ]]; then
        typed=${{words[${{#words[@]}} - 1]}}
        unset "words[${{#words[@]}}-1]"
    fi
    COMPREPLY=()
    for word in "${{words[@]:1}}"; do
        case $before in
            {valued}) before=; continue ;;
        esac
        before=$word
        case "$command|$word" in
{descents}
        esac
    done
    if [[ $typed == --*=* ]]; then
        before=${{typed%%=*}}
        typed=${{typed#*=}}
    fi
    word=${{typed##*[:=]}}
    [[ $COMP_WORDBREAKS == *[:=]* ]] && skip=$((${{#typed}} - ${{#word}}))
    case "$command|$before" in
{values}
    esac
    case "|$before" in
{shared}
    esac
    commands= options=
    case $command in
{words}
    esac
    if [[ $typed == -* ]]; then
        _docshare_reply $options {globals}
    elif [[ $commands ]]; then
        _docshare_reply $commands
    else
        case $command in
{arguments}
        esac
    fi
}}

complete -F _docshare docshare
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
        globals=" ".join(name for option in every[0].options for name in option.names),
        arguments="\n".join(render_arguments(every, _NAMES)),
    )


def _render_words(every: list[CompletionNode]) -> Iterator[str]:
    for node in every:
        commands = " ".join(word for word, _ in node.words)
        options = " ".join(name for option in node.options for name in option.names) if node.path else ""
        yield f"        '{node.path}') commands='{commands}' options='{options}' ;;"
