"""The language of the repository: rules for every text that a person reads, and for names."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Each rule with its pattern and a sentence that violates it.
RULES = {
    "a sentence does not begin with What, Whoever or Whose": (
        r"(?:^|[.:!?] |\n *\n *)(?:What|Whatever|Whoever|Whose|That which)\b[^?]*?(?:[.\n]|$)",
        "What the server could not deliver is retried.",
    ),
    "the verb is negated, not the noun": (
        r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|more|other|one\b)[a-z]",
        "The text is no address.",
    ),
    "no other document is mentioned": (
        r"Spec gap|\bgap.choices\b|\b[Hh]ardening [MGF]\d|\bsection \d+\.\d|\bdesign: [A-Z]"
        r"|\b(?:operations|public-api|easy-to-get-wrong)\.md|^[MGF]\d{1,2}:|\([MGF]\d{1,2}(?:, [MGF]\d{1,2})*\)\.",
        "As hardening M25 requires.",
    ),
    "shall is not a word of a program": (r"\bshall\b", "The name that it shall have."),
    "programs do not talk": (
        r"\b(?:is|are|was|were|be) told\b|\bsigns? of life\b",
        "The secret is told once.",
    ),
    "text does not stand or lie": (
        r"\b(?:stands?|lies) (?:in|on|there|here|beside|below|above)\b",
        "3 resources stand in the file.",
    ),
    "a default in brackets has a colon": (r"\(default (?!factory)", "Plan of the account (default pro)."),
    "an option is Repeatable": (r"[;,] repeatable\b", "Recipient of a link; repeatable."),
    "the spelling is American": (
        r"[Cc]olour|[Bb]ehaviour|[Cc]ancelled|\b[Ll]icence|[Ff]avourite|(?<![.])\b[Cc]entre|[Nn]eighbour"
        r"|(?:rganis|ecognis|ormalis|ummaris)(?:e|ing|ation)",
        "The color of a normalised page.",
    ),
}


SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`/\\\w])// [^\n]*", re.S)


def iterate_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each string and comment of a program, each comment of a script or a style sheet, or
    each paragraph of a document."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".js", ".css"):
        for match in SCRIPT_COMMENT.finditer(source):
            yield source.count("\n", 0, match.start()) + 1, re.sub(r"\n[ *]*", "\n", match[0]).strip("/* ")
        return
    if path.suffix != ".py":
        line = 1
        for paragraph in re.split(r"(?<=\n)\s*\n", source):
            yield line, paragraph
            line += paragraph.count("\n")
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def list_documents() -> list[Path]:
    """List the files whose text a person reads: the README, the product and its tests, except this file, third-party
    libraries and fonts."""
    found = [ROOT / "README.md", *(ROOT / "docshare").rglob("*"), *(ROOT / "tests").rglob("*.py")]
    kinds = (".py", ".html", ".txt", ".md", ".yaml", ".js", ".css")
    outside = {"vendor", "fonts"}
    return [path for path in found if path.suffix in kinds and not outside & set(path.parts) and path != Path(__file__)]


@cache
def load_texts() -> list[tuple[str, int, str]]:
    """Return path, line number and content of every text."""
    return [
        (str(path.relative_to(ROOT)), line, text) for path in list_documents() for line, text in iterate_texts(path)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_every_text_follows_the_rule(rule: str) -> None:
    pattern = re.compile(RULES[rule][0])
    violations = [
        f"{path}:{line}: {text[max(0, match.start() - 20) : match.end() + 40]!r}"
        for path, line, text in load_texts()
        for match in pattern.finditer(text)
    ]
    assert not violations, f"{len(violations)} texts violate the rule:\n" + "\n".join(violations[:20])


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_matches_its_example(rule: str) -> None:
    pattern, example = RULES[rule]
    assert re.search(pattern, example)


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for path in [*(ROOT / "docshare").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                # The answers in the client have the names of their schemas, whatever the server calls its rows.
                scope = "answer" if path.parent.name == "types" else "class"
                places[f"{scope} {node.name}"].append(str(path.relative_to(ROOT)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


# Past participles, which do not describe an action.
IRREGULAR = re.compile(
    "told|shown|drawn|sent|asked|made|given|taken|kept|found|held|written|known|seen|said|left|lost|met|begun|gone|done"
    "|hidden|chosen|broken|spoken|worn|built|caught|laid|led|lent|paid|sold|struck|thrown"
)
PREPOSITIONS = {"in", "on", "of", "by", "to", "at", "after", "before", "with", "from", "for"}
# A field name of the API, a method name of a base class, and resources of ``tests/cli/tree/command_table.py``.
ALLOWED_PARTICIPLES = {"ended_at", "received", "_trashed", "_saved", "_published"}


def is_participle(name: str) -> bool:
    first, *rest = name.strip("_").split("_")
    has_ending = first.endswith("ed") and not first.endswith(("eed", "embed"))
    return bool(IRREGULAR.fullmatch(first) or has_ending) and (not rest or rest[0] in PREPOSITIONS)


def test_no_function_name_is_a_participle() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for top in ("docshare", "tests")
        for path in (ROOT / top).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and is_participle(node.name)
        and node.name not in ALLOWED_PARTICIPLES
    ]
    assert not named, "\n".join(named)


def test_no_function_name_of_a_script_is_a_participle() -> None:
    function = re.compile(
        r"(?:\bfunction |^ +(?:async |static )?|\bconst )([a-z]\w*)(?: = )?\([^()]*\) (?:=> )?\{", re.M
    )
    named = [
        f"{path.relative_to(ROOT)} {name}"
        for path in (ROOT / "docshare").rglob("*.js")
        if "vendor" not in path.parts
        for name in function.findall(path.read_text(encoding="utf-8"))
        if is_participle(re.sub(r"(?=[A-Z])", "_", name).lower()) or name in ("tell", "say")
    ]
    assert not named, "\n".join(named)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("told", True), ("_shown", True), ("restored_after", True), ("replaced_in", True),
        ("oembed", False), ("required_plan", False), ("feed", False), ("tell", False), ("delete_stale", False),
    ],
)  # fmt: skip
def test_a_participle_is_recognized(name: str, expected: bool) -> None:
    assert is_participle(name) is expected
