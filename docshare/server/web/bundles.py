"""Combine the modules of the viewer into a few scripts, which a phone loads faster than dozens of small ones.

A bundle has the name of its first module, so dynamic imports are the same in sources and bundles. Each module becomes a
function that returns its exports. A bundle exports what its first module exports, and its modules, of which the others
import those of the main bundle. Comments, empty lines and indentation are removed, nothing else changes.

A bundler such as esbuild would make smaller scripts, because it also shortens names. But it would have to run at every
installation, or its output would be in the repository, where two changes of the viewer always conflict.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/).)*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_MARGIN = re.compile(r"^\s+", re.MULTILINE)
_OTHER_SYNTAX = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_BY_ADDRESS = re.compile(r"\bimport(?:\.meta|\()")


def bundle(modules: Mapping[str, str], main: str, others: Sequence[str]) -> dict[str, str]:
    """Return the scripts ``main`` and ``others`` by name, each with all the modules that it imports.

    ``modules`` maps paths to sources. The modules of ``main`` are not repeated in ``others``. Raises ValueError for
    syntax that is not supported and for modules that import each other, KeyError for a missing module.
    """
    shared = _list_in_order(modules, main)
    scripts = {main: _render_bundle(modules, main, shared, set())}
    for name in others:
        own = [module for module in _list_in_order(modules, name) if module not in shared]
        scripts[name] = _render_bundle(modules, name, own, set(shared), main)
    return scripts


def list_imports(name: str, source: str) -> list[str]:
    """Return the paths of the modules that the module ``name`` imports statically."""
    return [posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for _, path in _IMPORT.findall(source)]


def _list_in_order(modules: Mapping[str, str], first: str) -> list[str]:
    """Return ``first`` and all the modules that it needs, each after its imports."""
    found: dict[str, None] = {}

    def visit(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"{name} imports itself through {importers[-1]}")
        if name not in found:
            for path in list_imports(name, modules[name]):
                visit(path, (*importers, name))
            found[name] = None

    visit(first, ())
    return list(found)


def _render_bundle(
    modules: Mapping[str, str], name: str, own: Sequence[str], elsewhere: set[str], main: str = ""
) -> str:
    needed = {path for module in own for path in list_imports(module, modules[module])} & elsewhere
    parts = []
    if needed:
        address = posixpath.relpath(main, posixpath.dirname(name))
        address = address if address.startswith(".") else f"./{address}"
        parts.append(f'import {{ {", ".join(sorted(map(_identify, needed)))} }} from "{address}";\n')
    for module in own:
        parts.append(_render_module(module, modules[module], posixpath.dirname(name)))
    if exports := [found[1] for found in _EXPORT.finditer(modules[name])]:
        parts.append(f"export const {{ {', '.join(exports)} }} = {_identify(name)};\n")
    parts.append(f"export {{ {', '.join(map(_identify, own))} }};\n")
    return "".join(parts)


def _render_module(name: str, source: str, folder: str) -> str:
    """Return the module ``name`` as a function that a bundle in ``folder`` calls."""
    if any(line.count("`") % 2 for line in source.splitlines()):
        raise ValueError(f"{name} has a template of several lines, whose text could be mistaken for a comment")
    body = _MARGIN.sub("", _COMMENT.sub("", source))
    if _BY_ADDRESS.search(body) and posixpath.dirname(name) != folder:
        raise ValueError(f"{name} has addresses that are not relative to the folder of its bundle")
    imports = list_imports(name, body)
    names = iter(imports)
    body = _IMPORT.sub(lambda found: f"const {found[1].replace(' as ', ': ')} = {_identify(next(names))};\n", body)
    exports = _EXPORT.findall(body)
    body = _EXPORT.sub("", body)
    if other := _OTHER_SYNTAX.search(body):
        raise ValueError(f"{name}: not supported: {other[0]}")
    return f"const {_identify(name)} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();\n"


def _identify(name: str) -> str:
    return re.sub(r"\W", "_", name.removesuffix(".js"))
