"""Write ``man/``, ``completions/`` and the data of the manual from the command tree.

``python -m docshare.cli.reference [--check]``. All are committed, so that a package needs no build step; a test fails
when they differ from the tree.
"""

from collections.abc import Mapping
from pathlib import Path

from docshare.cli.commands.completion import SCRIPTS
from docshare.cli.completion import scripts
from docshare.cli.reference import man, site_data
from docshare.cli.reference.tree import load_tree

_SOURCE_ROOT = Path(__file__).parents[3]
_SITE_DATA = "docshare/manual/reference.json"


def generate_files() -> dict[str, str]:
    """Return every generated file by its path in the source tree."""
    root = load_tree()
    files = {f"man/{path}": text for path, text in man.render_pages(root).items()}
    files[_SITE_DATA] = site_data.render_data(root)
    return files | {f"completions/{name}": scripts.render_script(shell, root) for shell, name in SCRIPTS.items()}


def find_differences(made: Mapping[str, str], top: Path) -> list[str]:
    """Return the paths that are missing, differ, or exist without being generated."""
    found = {
        str(path.relative_to(top))
        for place in ("man", "completions")
        for path in (top / place).rglob("*")
        if path.is_file()
    } | {path for path in (_SITE_DATA,) if (top / path).is_file()}
    changed = [
        path for path, text in made.items() if path in found and (top / path).read_text(encoding="utf-8") != text
    ]
    return sorted({*changed, *(found ^ made.keys())})


def write_files(made: Mapping[str, str], top: Path) -> None:
    """Write files that differ, and delete those that are no longer generated."""
    for path in find_differences(made, top):
        if path in made:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(made[path], encoding="utf-8")
        else:
            (top / path).unlink()


def main(argv: list[str]) -> int:
    """Write the files; with ``--check``, only list those that differ, and fail if there are any."""
    files = generate_files()
    changed = find_differences(files, _SOURCE_ROOT)
    if argv != ["--check"]:
        write_files(files, _SOURCE_ROOT)
    for path in changed:
        print(path)  # noqa: T201
    return 1 if changed and argv == ["--check"] else 0
