"""The lines of ``case`` statements, which bash and zsh write alike."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docshare.cli.completion.scripts.nodes import CompletionNode
from docshare.cli.reference.tree import ValueCompletion


@dataclass(frozen=True)
class ScriptNames:
    """Names in a script: ``path`` the variable for the command so far; ``fixed`` and ``files`` the functions that offer
    given words and files."""

    path: str
    fixed: str
    files: str


def join_alternatives(words: Iterable[str]) -> str:
    """Return a pattern that matches any of ``words``."""
    return "|".join(dict.fromkeys(words))


def render_descents(every: list[CompletionNode], names: ScriptNames) -> Iterator[str]:
    """Return a line for each subcommand, which moves to it."""
    for node in every:
        for word, _ in node.words:
            yield f"            '{node.path}|{word}') {names.path}='{f'{node.path} {word}'.strip()}' ;;"


def render_values(node: CompletionNode, names: ScriptNames) -> Iterator[str]:
    """Return a line for each option of ``node`` with a value, which offers values."""
    for option in node.options:
        if option.value is not None:
            patterns = join_alternatives(f"'{node.path}|{name}'" for name in option.names)
            yield f"        {patterns}) {_render_offer(option.value, names) or ':'}; return ;;"


def render_arguments(every: list[CompletionNode], names: ScriptNames) -> Iterator[str]:
    """Return a line for each command whose argument can be offered."""
    for node in every:
        if node.argument is not None and (offer := _render_offer(node.argument, names)):
            yield f"            '{node.path}') {offer} ;;"


def _render_offer(value: ValueCompletion, names: ScriptNames) -> str:
    cached = [f"_docshare_cached {value.kind}"] if value.kind else []
    fixed = [f"{names.fixed} {' '.join(value.words)}"] if value.words else []
    return "; ".join(cached + fixed) or (names.files if value.path else "")
