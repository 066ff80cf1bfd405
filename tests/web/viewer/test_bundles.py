"""Combining modules into scripts."""

import re
from urllib.parse import urljoin

import pytest

from docshare.server.web.assets import ROOT, asset_url
from docshare.server.web.bundles import bundle
from tests.support.people.cast import World

SOURCES = {
    "app/main.js": (
        '/** Starts. */\n\nimport { add as plus, one } from "./sums.js";\n\n// Adds.\nwindow.sum = plus(one, 2); // 3\n'
    ),
    "app/sums.js": (
        "/**\n * Sums.\n */\nexport const one = 1;\nexport function add(a, b) {\n  return `${a}//` ? a + b : 0;\n}\n"
    ),
    "app/kinds/book.js": (
        'import {\n  add,\n} from "../sums.js";\nimport { Leaf } from "./leaf.js";\n'
        "export class Book extends Leaf {\n  /** @type {number} */ pages = add(1, 1);\n}\n"
    ),
    "app/kinds/leaf.js": "export class Leaf {}\nexport async function turn() {}\n",
}  # fmt: skip


def test_each_module_becomes_a_function_after_those_it_imports() -> None:
    scripts = bundle(SOURCES, "app/main.js", ["app/kinds/book.js"])
    assert list(scripts) == ["app/main.js", "app/kinds/book.js"]
    assert scripts["app/main.js"] == (
        "const app_sums = (() => {\n"
        "const one = 1;\nfunction add(a, b) {\nreturn `${a}//` ? a + b : 0;\n}\n"
        "return { one, add };\n})();\n"
        "const app_main = (() => {\n"
        "const { add: plus, one } = app_sums;\nwindow.sum = plus(one, 2); // 3\n"
        "return {  };\n})();\n"
        "export { app_sums, app_main };\n"
    )


def test_another_script_imports_from_the_main_one_what_that_contains() -> None:
    assert bundle(SOURCES, "app/main.js", ["app/kinds/book.js"])["app/kinds/book.js"] == (
        'import { app_sums } from "../main.js";\n'
        "const app_kinds_leaf = (() => {\n"
        "class Leaf {}\nasync function turn() {}\n"
        "return { Leaf, turn };\n})();\n"
        "const app_kinds_book = (() => {\n"
        "const {\nadd,\n} = app_sums;\nconst { Leaf } = app_kinds_leaf;\n"
        "class Book extends Leaf {\n/** @type {number} */ pages = add(1, 1);\n}\n"
        "return { Book };\n})();\n"
        "export const { Book } = app_kinds_book;\n"
        "export { app_kinds_leaf, app_kinds_book };\n"
    )


@pytest.mark.parametrize("line", [
    'import "./sums.js";', 'import * as sums from "./sums.js";', 'import sums from "./sums.js";',
    "export default 1;", "export let one = 1;", 'export { one } from "./sums.js";', "export function* all() {}",
    "const words = `\n// not a comment\n`;",
])  # fmt: skip
def test_other_syntax_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"^app/main\.js"):
        bundle(SOURCES | {"app/main.js": f"{line}\n"}, "app/main.js", [])


@pytest.mark.parametrize("line", ["const here = import.meta.url;", 'const there = import("./other.js");'])
def test_a_relative_address_works_only_in_the_folder_of_the_script(line: str) -> None:
    sources = SOURCES | {"app/kinds/leaf.js": f"export class Leaf {{}}\n{line}\n"}
    assert line in bundle(sources, "app/kinds/book.js", [])["app/kinds/book.js"]
    sources["app/main.js"] = 'import { Leaf } from "./kinds/leaf.js";\n'
    with pytest.raises(ValueError, match="addresses"):
        bundle(sources, "app/main.js", [])


def test_modules_that_import_each_other_are_an_error() -> None:
    sources = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    with pytest.raises(ValueError, match=r"a\.js imports itself through b\.js"):
        bundle(sources, "a.js", [])
    with pytest.raises(KeyError):
        bundle({"a.js": 'import { c } from "./c.js";\n'}, "a.js", [])


def test_every_module_that_a_page_outside_of_the_viewer_imports_is_served(world: World) -> None:
    """The viewer is combined into a few scripts, but other pages import single modules of it."""
    names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.js")]
    waiting = [asset_url(name) for name in names if not name.startswith("viewer/")]
    served = set()
    while waiting:
        address = waiting.pop()
        answer = world.http.get(address)
        assert answer.status_code == 200, address
        served.add(address)
        found = re.findall(r'^import .* from "([^"]+)";', answer.text, re.MULTILINE)
        waiting += {urljoin(address, path) for path in found} - served
    assert {asset_url("sending.js"), asset_url("viewer/dom.js")} <= served
