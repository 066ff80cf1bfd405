"""The completion script for zsh."""

from collections.abc import Iterator

from docshare.cli.completion.scripts import HEADER, Node, nodes, valued_before_commands
from docshare.cli.reference.tree import Command, Option, Value

_FRAME = """\
#compdef docshare
# zsh {header}

_docshare_cached() {{
    # Lines of value<TAB>description. They go into an array as they are; nothing is evaluated.
    local value description
    local -a found
    while IFS=$'\\t' read -r value description; do
        found+=("${{value//:/\\\\:}}:$description")
    done < <(command docshare __complete "$1" 2>/dev/null)
    _describe -t "$1" "$1" found
}}

_docshare_fixed() {{
    # A word that ends with = is to be typed on; behind any other stands a space.
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


def script(root: Command) -> str:
    """The script."""
    every = nodes(root)
    return _FRAME.format(
        header=HEADER,
        valued="|".join(dict.fromkeys(valued_before_commands(root))),
        descents="\n".join(_descents(every)),
        values="\n".join(line for node in every[1:] for line in _values(node)),
        shared="\n".join(_values(every[0])),
        words="\n".join(_words(every)),
        globals="\n".join(f"            {_described(option)}" for option in every[0].options),
        arguments="\n".join(_arguments(every)),
    )


def _quoted(value: str, description: str) -> str:
    text = f"{value.replace(':', chr(92) + ':')}:{description}"
    return "'" + text.replace("'", "'\\''") + "'"


def _described(option: Option) -> str:
    return " ".join(_quoted(name, option.help) for name in option.names)


def _descents(every: list[Node]) -> Iterator[str]:
    for node in every:
        for word, _ in node.words:
            yield f"            '{node.path}|{word}') current='{f'{node.path} {word}'.strip()}' ;;"


def _values(node: Node) -> Iterator[str]:
    for option in node.options:
        if option.value is not None:
            patterns = "|".join(f"'{node.path}|{name}'" for name in option.names)
            yield f"        {patterns}) {_offer(option.value) or ':'}; return ;;"


def _offer(value: Value) -> str:
    cached = [f"_docshare_cached {value.kind}"] if value.kind else []
    fixed = [f"_docshare_fixed {' '.join(value.words)}"] if value.words else []
    return "; ".join(cached + fixed) or ("_files" if value.path else "")


def _words(every: list[Node]) -> Iterator[str]:
    for node in every:
        yield f"        '{node.path}')"
        if node.words:
            yield "            commands=("
            yield from (f"                {_quoted(word, summary)}" for word, summary in node.words)
            yield "            )"
        if node.path:
            yield "            options=("
            yield from (f"                {_described(option)}" for option in node.options)
            yield "            )"
        yield "            ;;"


def _arguments(every: list[Node]) -> Iterator[str]:
    for node in every:
        if node.argument is not None and _offer(node.argument):
            yield f"            '{node.path}') {_offer(node.argument)} ;;"
