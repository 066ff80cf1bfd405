"""Everything docshare needs from Typer beyond its documented API.

Only public names are used (``typer``, ``TyperGroup``, ``TyperCommand``, ``typer.main.get_command``), because Typer's
internals change between minor versions.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import typer
import typer.core
from typer.main import get_command, get_command_name
from typer.models import CommandInfo

from docshare.cli.framework.context import current_context
from docshare.cli.framework.scopes import find_scopes
from docshare.cli.terminal.output import FieldNamesRequest, Spec

# The base class of every usage error; Typer exports only this subclass.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

CONTEXT_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_RESOLVED = "docshare.resolved"  # key of the context's meta: whether a command name was found
EPILOG = "Global options: docshare help global"


class HelpRequest(Exception):
    """A group was called without a command; ``text`` is its help."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(text)


def format_help(text: str | None) -> str:
    """Format help text so that indented blocks (the examples) keep their lines."""
    blocks = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(f"\b\n{block}" if block.startswith(" ") else block for block in blocks)


def _add_help_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {**attrs, "help": format_help(attrs.get("help")), "epilog": attrs.get("epilog") or EPILOG}


def format_default(param: Any) -> str:
    """Return the default of an option or argument as one types it, empty if its help does not name one."""
    default = None if callable(param.default) or not param.show_default else param.default
    if default is True and param.secondary_opts:
        return str(max(param.opts, key=len))
    is_plain = isinstance(default, bool) or default in (None, (), [], "") or getattr(param, "count", False)
    return "" if is_plain else str(default)


def is_visible_option(param: Any) -> bool:
    """Return whether the parameter of a command is an option that its help shows."""
    return param.param_type_name == "option" and not param.hidden


def spell_option(param: Any) -> tuple[tuple[str, ...], str]:
    """Return the spellings of an option, long ones first, and its metavar, empty if it takes no value."""
    names = sorted((*param.opts, *param.secondary_opts), key=lambda name: not name.startswith("--"))
    takes_value = not (param.is_flag or param.count)
    return tuple(names), (param.metavar or str(param.type.name).upper()) if takes_value else ""


def describe_defaults(params: Iterable[Any]) -> None:
    """Add the defaults of ``params`` to their helps, as sentences."""
    for param in params:
        default = format_default(param)
        param.show_default = False
        if default:
            param.help = f"{param.help} The default is {default}."


class TyperCommand(typer.core.TyperCommand):
    """A command whose docstring is its help: a line, paragraphs, then ``Examples:`` and an indented block."""

    def __init__(self, name: str | None, **attrs: Any) -> None:
        super().__init__(name, **_add_help_attrs(attrs))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options as Typer does, with each default as a sentence."""
        describe_defaults(self.params)
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the epilog as Typer does, after the scopes that the command needs."""
        found = find_scopes(ctx.command_path.split()[1:])
        if found is not None:
            formatter.write_paragraph()
            formatter.write_text(str(found))
        super().format_epilog(ctx, formatter)


class Group(typer.core.TyperGroup):
    """A group of commands; without a command it shows its help. ``registered`` are those that are built on first use,
    by name, and listed before any other."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**_add_help_attrs(attrs))
        self.registered: dict[str, CommandInfo] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of registered commands, then those of the groups in this one."""
        return [*self.registered, *(name for name in super().list_commands(ctx) if name not in self.registered)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command, built if needed; None for an unknown name."""
        if cmd_name in self.registered and cmd_name not in self.commands:
            single = App()
            single.registered_commands = [self.registered[cmd_name]]
            self.commands[cmd_name] = get_command(single)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Invoke as Typer does, but raise ``HelpRequest`` if the command is missing."""
        ctx.meta[_RESOLVED] = False
        try:
            return super().invoke(ctx)
        except UsageError:
            if ctx.meta[_RESOLVED]:
                raise
            raise HelpRequest(ctx.get_help()) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve as Typer does, and record that there was a name to resolve."""
        ctx.meta[_RESOLVED] = True
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the whole first line of its help, which Typer would truncate."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _get_summary(self.get_command(ctx, name))) for name in self.list_commands(ctx)])


class App(typer.Typer):
    """A ``typer.Typer`` with this program's settings. ``@app.command()`` creates a ``TyperCommand``.

    ``stubs``: lazily loaded commands of a group, listed after the registered ones.
    """

    def __init__(self, help: str = "", *, stubs: "Sequence[Stub]" = (), **attrs: Any) -> None:
        if stubs:
            attrs["cls"] = type("Stubbed", (LazyGroup,), {"stubs": {stub.name: stub for stub in stubs}})
        super().__init__(
            **{"cls": Group, **attrs},
            help=help,
            context_settings=CONTEXT_SETTINGS,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )
        self._has_stubs = bool(stubs)

    @property
    def is_group(self) -> bool:
        """Return whether it has more than one command."""
        return self._has_stubs or bool(self.registered_groups) or len(self.registered_commands) > 1

    def command(self, name: str | None = None, *, spec: Spec | None = None, **attrs: Any) -> Callable[[Any], Any]:
        """Register a command; ``cls`` may be a class derived from ``TyperCommand``.

        ``spec`` describes the output: unsuitable output options then fail before the command does anything. Without a
        spec the command prints no data, so ``--fields ?`` lists nothing.
        """
        register = super().command(name, **{"cls": TyperCommand, "context_settings": CONTEXT_SETTINGS, **attrs})

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_check_output_options(function, spec))
            return function

        return decorate


def _check_output_options(function: Callable[..., Any], spec: Spec | None) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if spec is not None:
            current_context().emitter(spec)
        elif (current_context().options.fields or "").strip() == "?":
            raise FieldNamesRequest(())
        return function(*args, **kwargs)

    vars(run)["spec"] = spec  # read by get_spec; Typer copies it to its own wrapper
    return run


def get_spec(command: Any) -> Spec | None:
    """Return the output spec of a command, or None."""
    found = getattr(command.callback, "spec", None)
    return found if isinstance(found, Spec) else None


class Stub(NamedTuple):
    """A command that is imported on first use.

    ``module`` (relative to ``docshare.cli.commands``) is imported then and its ``app`` becomes the command; ``inner``
    selects a command of that app instead (for short names such as ``ls``, and for modules with several commands). The
    help of the group shows ``summary`` without importing anything; ``rest`` is an option that takes the rest of the
    line unparsed.
    """

    name: str
    module: str
    section: str
    summary: str
    inner: str = ""
    rest: str = ""

    def load(self) -> Any:
        """Import and return the real command."""
        command = build_command(importlib.import_module(f"docshare.cli.commands.{self.module}").app)
        if self.inner:
            command = command.get_command(None, self.inner)
        command.name = self.name
        return command


class LazyGroup(Group):
    """A group that loads commands from their ``Stub`` on first use; others may be registered as well."""

    stubs: ClassVar[Mapping[str, Stub]] = {}
    suggestions: ClassVar[Mapping[str, str]] = {}  # what users try first -> the command to suggest

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of registered commands, then those of the stubs, in order."""
        return [*(name for name in super().list_commands(ctx) if name not in self.stubs), *self.stubs]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the real command, importing it if needed; None for an unknown name."""
        if cmd_name not in self.commands and cmd_name in self.stubs:
            self.commands[cmd_name] = self.stubs[cmd_name].load()
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve as Typer does, but suggest similar stubs for a misspelled name."""
        ctx.meta[_RESOLVED] = True
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            near = [self.suggestions[name]] if name in self.suggestions else get_close_matches(name, known)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {' or '.join(near)}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by section, without importing any."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            stub = self.stubs.get(name) or Stub(name, "", "Commands", _get_summary(self.get_command(ctx, name)))
            sections.setdefault(stub.section, []).append((name, stub.summary))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _get_summary(command: Any) -> str:
    return str(command.help or "").partition("\n")[0]


def build_command(app: App) -> Any:
    """Return the command of an app: its only one, or a group whose commands are built on first use.

    Typer would build all of them, about half a millisecond for each, although a line runs one.
    """
    if not app.is_group:
        return get_command(app)
    if app.registered_callback is None:
        app.callback()(lambda: None)  # Typer makes a group of an app only if it has a callback
    commands, app.registered_commands = app.registered_commands, []
    group = get_command(app)
    app.registered_commands = commands
    assert isinstance(group, Group)
    group.registered = {_get_name(info): info for info in commands}
    return group


def _get_name(info: CommandInfo) -> str:
    assert info.callback is not None
    return info.name or get_command_name(info.callback.__name__)


def render_help(app: App, words: Sequence[str]) -> str | None:
    """Return the help of the command named by ``words``, or None if there is none."""
    command = build_command(app)
    context = command.make_context("docshare", [], resilient_parsing=True)
    for word in words:
        command = command.get_command(context, word) if hasattr(command, "get_command") else None
        if command is None:
            return None
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
    text: str = context.get_help()
    return text


def list_flags(command: Any) -> dict[str, bool]:
    """Return every option of a command, and whether it takes a value."""
    found: dict[str, bool] = {}
    for param in command.params:
        if param.param_type_name == "option":
            takes_value = not (param.is_flag or param.count)
            found |= dict.fromkeys((*param.opts, *param.secondary_opts), takes_value)
    return found


class CommandLine(NamedTuple):
    """A command line with its global options moved to the front; ``rest`` is everything else, in order."""

    global_options: list[str]
    rest: list[str]


def hoist(root: LazyGroup, argv: Sequence[str]) -> CommandLine:
    """Move the global options to the front, wherever they are.

    An option that the command defines itself stays with the command. So does everything after ``--`` or after the
    option (``rest`` of its stub) that takes the rest of the line.
    """
    known, own = list_flags(root), dict[str, bool]()
    line = CommandLine([], [])
    command: Any = root
    until = "--"
    words = iter(argv)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in own and _is_global(word, name, known, own):
            _move_words(line.global_options, word, words, known.get(name, False) and not equals)
            continue
        if word in ("--", until):
            line.rest.extend((word, *words))
            break
        _move_words(line.rest, word, words, own.get(name, False) and not equals)
        if not word.startswith("-") and hasattr(command, "commands"):
            until = root.stubs[word].rest or "--" if command is root and word in root.stubs else until
            command = command.get_command(None, word) or command
            own = {} if command is root else {**list_flags(command), "--help": False, "-h": False}
    return line


def _is_global(word: str, name: str, known: Mapping[str, bool], own: Mapping[str, bool]) -> bool:
    if name in known:
        return True
    letters = word[1:]  # such as -vv or -qy
    if not letters or word.startswith("--"):
        return False
    return all(known.get(f"-{letter}") is False and f"-{letter}" not in own for letter in letters)


def _move_words(to: list[str], word: str, words: Iterator[str], with_value: bool) -> None:
    to.append(word)
    if with_value:
        to.extend(islice(words, 1))
