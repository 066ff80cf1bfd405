"""The completion script for PowerShell."""

from collections.abc import Iterable, Iterator

from docshare.cli.completion.scripts.nodes import HEADER, CompletionNode, build_nodes, list_valued_options
from docshare.cli.reference.tree import Command, ValueCompletion

_TEMPLATE = """\
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


def render_script(root: Command) -> str:
    """Return the script. A word in angle brackets stands for the cached words of that kind."""
    every = build_nodes(root)
    return _TEMPLATE.format(
        header=HEADER,
        valued=_render_list(list_valued_options(root)),
        words="\n".join(f"        '{node.path}' = @({_render_list(word for word, _ in node.words)})" for node in every),
        options="\n".join(f"        '{node.path}' = @({_render_names(node)})" for node in every),
        values="\n".join(line for node in every for line in _render_values(node)),
        arguments="\n".join(_render_arguments(every)),
    )


def _render_list(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in dict.fromkeys(words))


def _render_names(node: CompletionNode) -> str:
    return _render_list(name for option in node.options for name in option.names)


def _render_values(node: CompletionNode) -> Iterator[str]:
    for option in node.options:
        if option.value is not None and not option.value.path:
            for name in option.names:
                yield f"        '{node.path}|{name}' = @({_render_offer(option.value)})"


def _render_offer(value: ValueCompletion) -> str:
    return _render_list([*([f"<{value.kind}>"] if value.kind else []), *value.words])


def _render_arguments(every: list[CompletionNode]) -> Iterator[str]:
    for node in every:
        if node.argument is not None and _render_offer(node.argument):
            yield f"        '{node.path}' = @({_render_offer(node.argument)})"
