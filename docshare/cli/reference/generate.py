"""Write ``man/`` and ``completions/`` from the command tree: ``python -m docshare.cli.reference [--check]``.

Both are committed, so that a package needs no build step; a test fails when they differ from the tree.
"""

from collections.abc import Mapping
from pathlib import Path

from docshare.cli.commands.completion import SCRIPTS
from docshare.cli.completion import scripts
from docshare.cli.reference import man
from docshare.cli.reference.tree import resolved

_TOP = Path(__file__).parents[3]


def files() -> dict[str, str]:
    """Every generated file by its path below the source tree."""
    root = resolved()
    made = {f"man/{path}": text for path, text in man.pages(root).items()}
    return made | {f"completions/{name}": scripts.script(shell, root) for shell, name in SCRIPTS.items()}


def differences(made: Mapping[str, str], top: Path) -> list[str]:
    """Paths that are missing, differ, or are there without being generated."""
    found = {
        str(path.relative_to(top))
        for place in ("man", "completions")
        for path in (top / place).rglob("*")
        if path.is_file()
    }
    changed = [
        path for path, text in made.items() if path in found and (top / path).read_text(encoding="utf-8") != text
    ]
    return sorted({*changed, *(found ^ made.keys())})


def write(made: Mapping[str, str], top: Path) -> None:
    """Write what differs, and delete what is no longer made."""
    for path in differences(made, top):
        if path in made:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(made[path], encoding="utf-8")
        else:
            (top / path).unlink()


def main(argv: list[str]) -> int:
    """Write the files; with ``--check`` only tell which differ, and fail if any does."""
    made = files()
    changed = differences(made, _TOP)
    if argv != ["--check"]:
        write(made, _TOP)
    for path in changed:
        print(path)  # noqa: T201
    return 1 if changed and argv == ["--check"] else 0
