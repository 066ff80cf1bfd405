"""The command tree as completion scripts see it."""

from dataclasses import dataclass

from docshare.cli.reference.tree import Argument, Command, Option, ValueCompletion

HEADER = "completion for docshare; written by: python -m docshare.cli.reference"


@dataclass(frozen=True)
class CompletionNode:
    """The completions after one path of command words: further words with summaries, options, and arguments."""

    path: str
    words: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    argument: ValueCompletion | None


def build_nodes(root: Command) -> list[CompletionNode]:
    """Return every command, the root first. Options of the root work everywhere, so only the root lists them."""
    return [
        CompletionNode(
            path=" ".join(command.path),
            words=tuple((child.path[-1], child.summary) for child in command.children),
            options=(*command.options, _HELP_OPTION),
            argument=_merge_arguments(command.arguments),
        )
        for command in root.walk()
    ]


_HELP_OPTION = Option(("--help", "-h"), "", "Show help and exit.", "", "", None)


def _merge_arguments(arguments: tuple[Argument, ...]) -> ValueCompletion | None:
    """Merge the values of the first argument with the fixed words of the others: scripts do not count arguments."""
    if not arguments:
        return None
    first, words = arguments[0].value, (word for each in arguments for word in each.value.words)
    return ValueCompletion(tuple(dict.fromkeys(words)), first.kind, first.path)


def list_valued_options(root: Command) -> list[str]:
    """Return the options that take a value before a command word, so that the value is not taken for a command."""
    groups = [command for command in root.walk() if command.children]
    return [name for group in groups for option in group.options if option.metavar for name in option.names]
