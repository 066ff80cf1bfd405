"""The command tree as plain data, with every lazy command imported: the source of man pages and completions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docshare.cli.commands.api.request import METHODS
from docshare.cli.commands.config.values import KEYS
from docshare.cli.commands.doctor.command import GROUPS
from docshare.cli.commands.events.cursor_files import FEEDS
from docshare.cli.commands.events.selection import ALL
from docshare.cli.commands.readership.sections import SECTIONS
from docshare.cli.commands.settings import declarations
from docshare.cli.commands.settings.clear_apply_copy import CLEAR_WORDS
from docshare.cli.framework.app import build_command, format_default, get_spec, is_visible_option, spell_option
from docshare.cli.framework.options import COLOR_MODES, FORMATS, PROGRESS_MODES
from docshare.cli.main import REGISTRY, app
from docshare.cli.terminal.output import Spec
from docshare.cli.topics.names import TOPICS
from docshare.contract.lint import CHECKS
from docshare.contract.viewer import PRESETS, VIEWER_MODES
from docshare.contract.webhooks import ACTIVITY_KINDS, DELIVERY_STATES, KINDS

SHELLS = ("bash", "zsh", "fish", "powershell")

# The completion of a value: a fixed list of words, or a KIND of ``docshare __complete``.
_CHOICES = {
    "FORMAT": FORMATS,
    "WHEN": COLOR_MODES,
    "HOW": PROGRESS_MODES,
    "SHELL|install": (*SHELLS, "install"),
    "[SHELL]": ("bash", "zsh", "fish"),
    "TOPIC": TOPICS,
    "GROUP": tuple(GROUPS),
    "MODE": VIEWER_MODES,
    "LOOK": (*PRESETS, "none"),
    "SETTING": tuple(declarations.ROWS),
    "METHOD": METHODS,
    "CONFIG": KEYS,
    "SECTION": tuple(SECTIONS),
    "KEY=VALUE": declarations.list_completions(),
    "TYPE": (*FEEDS, ALL),
    "EVENT": ACTIVITY_KINDS,
    "CHECK": tuple(CHECKS),
    "KIND": tuple(KINDS),
    "STATE": DELIVERY_STATES,
    "WORD": tuple(dict.fromkeys((*CLEAR_WORDS, *declarations.ROWS))),
}
_CACHED_KINDS = {"FILE": "files", "VARIANT": "variants", "WEBHOOK": "webhooks", "PROFILE": "profiles"}
_PATH_METAVARS = ("PATH", "DIR", "F", "F.png", "F.html", "LOCAL", "BODY", "OUT", "IN")


@dataclass(frozen=True)
class ValueCompletion:
    """How a value is completed: ``words``, cached words of a ``kind``, or both; or (``path``) a local file."""

    words: tuple[str, ...] = ()
    kind: str = ""
    path: bool = False


@dataclass(frozen=True)
class Option:
    """``names``: its spellings, long ones first; ``metavar``: empty if it takes no value."""

    names: tuple[str, ...]
    metavar: str
    help: str
    default: str
    env: str
    value: ValueCompletion | None


@dataclass(frozen=True)
class Argument:
    """One argument as shown in the synopsis."""

    metavar: str
    help: str
    required: bool
    many: bool
    value: ValueCompletion


@dataclass(frozen=True)
class Command:
    """``path``: the words after ``docshare``; ``alias_of``: the path of the command that this is a short name of."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    children: tuple["Command", ...]
    spec: Spec | None
    alias_of: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Return the first line of the help."""
        return self.help.split("\n", 1)[0]

    def walk(self) -> Iterator["Command"]:
        """Yield this command and all commands below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def load_tree() -> Command:
    """Return the whole tree, importing every module."""
    return _build_command(build_command(app), ())


def _build_command(command: Any, path: tuple[str, ...]) -> Command:
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    children = tuple(_build_command(command.get_command(None, name), (*path, name)) for name in names)
    stub = next((stub for stub in REGISTRY if path == (stub.name,) and stub.inner), None)
    return Command(
        path=path,
        help=_strip_marks(command.help),
        options=tuple(_build_option(param) for param in command.params if is_visible_option(param)),
        arguments=tuple(_build_argument(param) for param in command.params if param.param_type_name == "argument"),
        children=children,
        spec=get_spec(command),
        alias_of=(stub.module.split(".")[0], stub.inner) if stub else (),
    )


def _strip_marks(text: str | None) -> str:
    """Return help text without the marks that keep Click from rewrapping the examples."""
    return (text or "").replace("\b\n", "").strip()


def _build_option(param: Any) -> Option:
    names, metavar = spell_option(param)
    env = param.envvar if isinstance(param.envvar, str) else ""
    value = _build_value_completion(metavar) if metavar else None
    return Option(names, metavar, param.help or "", format_default(param), env, value)


def _build_argument(param: Any) -> Argument:
    metavar = re.sub(r"[\[\]{}]|\.\.\.", "", param.metavar or param.name.upper())
    local = (param.metavar or "").startswith("[FILE")
    value = ValueCompletion(path=True) if local else _build_value_completion(metavar)
    return Argument(metavar, param.help or "", param.required, param.nargs == -1, value)


def _build_value_completion(metavar: str) -> ValueCompletion:
    names = metavar.split("|")
    words = next((tuple(_CHOICES[name]) for name in names if name in _CHOICES), ())
    kind = next((_CACHED_KINDS[name] for name in names if name in _CACHED_KINDS), "")
    return ValueCompletion(words, kind, path=metavar in _PATH_METAVARS)
