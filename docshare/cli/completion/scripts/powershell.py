"""The completion script for PowerShell."""

from collections.abc import Iterable, Iterator

from docshare.cli.completion.scripts import HEADER, Node, nodes, valued_before_commands
from docshare.cli.reference.tree import Command, Value

_FRAME = """\
# PowerShell {header}

Register-ArgumentCompleter -Native -CommandName docshare -ScriptBlock {{
    param($typed, $ast, $cursor)
    $valued = @({valued})
    $commands = @{{
{words}
    }}
    $options = @{{
{options}
    }}
    $values = @{{
{values}
    }}
    $arguments = @{{
{arguments}
    }}
    $current = ''
    $before = ''
    foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {{
        if ($element.Extent.EndOffset -ge $cursor -and $typed) {{ break }}
        $word = $element.Extent.Text
        if ($valued -ccontains $before) {{ $before = ''; continue }}
        $before = $word
        $next = ("$current $word").Trim()
        if ($commands.ContainsKey($next)) {{ $current = $next }}
    }}
    $offer = if ($values.ContainsKey("$current|$before")) {{ $values["$current|$before"] }}
        elseif ($values.ContainsKey("|$before")) {{ $values["|$before"] }}
        elseif ($typed.StartsWith('-')) {{ $options[$current] + $options[''] }}
        elseif ($commands[$current].Count) {{ $commands[$current] }}
        elseif ($arguments.ContainsKey($current)) {{ $arguments[$current] }}
    foreach ($word in $offer) {{
        $lines = if ($word.StartsWith('<')) {{ & docshare __complete ($word.Trim('<', '>')) 2>$null }} else {{ $word }}
        foreach ($line in $lines) {{
            $value, $text = $line -split "`t", 2
            if ($value.StartsWith($typed)) {{
                $tip = if ($text) {{ $text }} else {{ $value }}
                [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $tip)
            }}
        }}
    }}
}}
"""


def script(root: Command) -> str:
    """The script. A word in angle brackets stands for the cached words of that kind."""
    every = nodes(root)
    return _FRAME.format(
        header=HEADER,
        valued=_list(valued_before_commands(root)),
        words="\n".join(f"        '{node.path}' = @({_list(word for word, _ in node.words)})" for node in every),
        options="\n".join(f"        '{node.path}' = @({_names(node)})" for node in every),
        values="\n".join(line for node in every for line in _values(node)),
        arguments="\n".join(_arguments(every)),
    )


def _list(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in dict.fromkeys(words))


def _names(node: Node) -> str:
    return _list(name for option in node.options for name in option.names)


def _values(node: Node) -> Iterator[str]:
    for option in node.options:
        if option.value is not None and not option.value.path:
            for name in option.names:
                yield f"        '{node.path}|{name}' = @({_offer(option.value)})"


def _offer(value: Value) -> str:
    return _list([*([f"<{value.kind}>"] if value.kind else []), *value.words])


def _arguments(every: list[Node]) -> Iterator[str]:
    for node in every:
        if node.argument is not None and _offer(node.argument):
            yield f"        '{node.path}' = @({_offer(node.argument)})"
