"""The README is up to date: files exist, commands are valid, and numbers match the code."""

import re
import shlex
from pathlib import Path

import pytest

from docshare.cli import topics
from docshare.cli.framework.app import get_command, list_flags
from docshare.cli.main import app
from docshare.contract.limits import ACCESS_TOKEN_MS
from docshare.contract.plans import PLAN_LIMITS
from docshare.server.rules import day_range, reading
from docshare.server.services.readership import viewing

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def list_typed_commands() -> list[str]:
    """Return every ``docshare ...`` line of the README and of the topics, without comments, pipes and redirections."""
    texts = ["\n".join(pair) for pair in re.findall(r"```(?:sh|console)\n(.*?)```|`([^`\n]+)`", README, re.DOTALL)]
    texts += ["\n".join(list_topic_examples(topics.load(topic))) for topic in topics.TOPICS]
    found = []
    for line in "\n".join(texts).splitlines():
        command = re.search(r"(?:^|[\s/(])(docshare (?!-c)[a-z].*)", line.replace("\\|", "|"))
        if command and not line.lstrip().startswith(("#", "http")):
            found.append(re.split(r"\s+#|\s[|<>&)]|\)$|\s&", command[1])[0])
    return found


def list_topic_examples(text: str) -> list[str]:
    """Return the lines of a topic that are indented by four spaces, with backslash continuations joined."""
    return re.findall(r"^    (?! {12})(.+)$", re.sub(r" \\\n\s*", " ", text), re.MULTILINE)


def test_the_documentation_contains_enough_commands() -> None:
    assert len(list_typed_commands()) > 150


@pytest.mark.parametrize("line", sorted(line for line in {*list_typed_commands()} if "files:write" in line))
def test_an_example_that_grants_writing_grants_reading(line: str) -> None:
    """``push``, ``apply`` and ``settings set`` need both."""
    assert "files:read,files:write" in line


@pytest.mark.parametrize("line", sorted({*list_typed_commands()}))
def test_a_command_of_the_documentation_is_valid(line: str) -> None:
    root = get_command(app)
    command, known = root, {**list_flags(root), "--help": False}
    for word in shlex.split(line)[1:]:
        if word == "--exec":
            break
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{word} in: {line}"
        elif hasattr(command, "commands") and re.fullmatch("[a-z][a-z-]*", word):
            command = command.get_command(None, word)
            assert command is not None, f"{word} in: {line}"
            known |= list_flags(command)


def read_section(topic: str, title: str) -> str:
    """Return the text of one section of a topic, with its line breaks as spaces."""
    return " ".join(topics.load(topic).split(f"\n# {title}\n")[1].split("\n# ")[0].split())


HOUSE = topics.load("house")
HOUSE_FILES = set(re.findall(r"(?<![\w/.-])((?:docshare|tests|man|completions)/[\w/.-]*\w)", HOUSE))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 250


def test_files_in_the_section_about_the_house_exist() -> None:
    assert len(HOUSE_FILES) > 40
    assert not {name for name in HOUSE_FILES if not (ROOT / name).exists()}


def test_the_section_about_the_house_has_every_package() -> None:
    packages = {
        path.parent.relative_to(ROOT).as_posix()
        for pattern in ("docshare/*", "docshare/cli/*", "docshare/server/*")
        for path in ROOT.glob(f"{pattern}/__init__.py")
    }
    parents = {"docshare/cli", "docshare/server"}  # their packages have rows of their own
    assert packages - parents <= HOUSE_FILES


def test_the_section_about_the_house_has_every_kind_of_thing_to_add() -> None:
    rows = re.findall(r"^  (an? .+?)(?:  .*)?$", HOUSE.split("# How to add a thing\n")[1], re.MULTILINE)
    assert "a viewer mode" in rows
    assert len(rows) >= 9


def test_the_documented_measuring_rule_matches_the_code() -> None:
    """The section of ``docshare help readership``, and ``docshare help measuring``."""
    rule = read_section("readership", "How reading is measured")
    assert (reading.MIN_OPEN_MS, "two seconds since the page was opened" in rule) == (2_000, True)
    assert (reading.SHORT_MS, "less than five seconds count at most 12 times in 10 minutes" in rule) == (5_000, True)
    bounds = (
        reading.MAX_SHORT_PER_READER,
        reading.MAX_SHORT_PER_ADDRESS,
        reading.SHORT_WINDOW_MS,
        viewing.SESSION_START_POLICY.limit,
    )
    assert (*bounds, "36 times for one address" in rule) == (12, 36, 600_000, 300, True)
    assert (reading.CLOSED_TIMEOUT_MS, "10 seconds after the page is closed" in rule) == (10_000, True)
    help_text = " ".join(topics.load("measuring").split())
    for words in ("at most 12 in 10 minutes", "at most 36 for one address", "start 300 sessions in 10 minutes"):
        assert words in help_text
    for klass in ("human", "unconfirmed", "burst", "scanner", "prefetch", *reading.FINAL_CLASSES):
        assert f" {klass} " in help_text
    assert (reading.HIDDEN_TIMEOUT_MS, "a minute after the page is hidden" in rule) == (60_000, True)
    assert (reading.IDLE_TIMEOUT_MS, "five minutes without activity" in rule) == (300_000, True)


def test_the_documented_week_has_the_days_of_the_page() -> None:
    """``--since 6d`` begins on the day of six days ago, and the range ``7d`` of the pages includes today."""
    week = f"readership show @last --since {day_range.PRESETS['7d'] - 1}d"
    assert f"`docshare {week}` prints the report of the same week" in README
    assert f"--since {day_range.PRESETS['7d'] - 1}d -o week.html" in topics.load("readership")


def test_links_and_topics_of_the_readme_exist() -> None:
    assert {name for name in re.findall("docshare help ([a-z][a-z-]*)", README) if name != "TOPIC"} <= {*topics.TOPICS}
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-") for line in re.findall("^#+ (.*)", README, re.M)
    }
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in (link for link in links if not link.startswith("https://")):
        assert link.removeprefix("#") in anchors if link.startswith("#") else (ROOT / link).is_file(), link


def test_the_plans_of_the_readme_match_the_code() -> None:
    rows = {
        cells[0]: cells[1:]
        for cells in (
            [cell.strip() for cell in line.strip("| ").split("|")] for line in README.splitlines() if "|" in line
        )
    }
    free, basic, pro = PLAN_LIMITS.values()
    sizes = [f"{limits.stored_bytes // 1024**2} MB" for limits in (free, basic)] + [f"{pro.stored_bytes // 1024**3} GB"]
    assert rows["Largest document"] == sizes
    assert rows["Active files"] == [str(free.file_slots), str(basic.file_slots), "unlimited"]
    assert (free.trash_ms, pro.file_slots) == (None, None)
    days = [f"{(limits.trash_ms or 0) // 86_400_000} days" for limits in (basic, pro)]
    assert rows["Deleted files can be restored for"] == ["never", *days]


def test_the_largest_documented_upload_matches_the_code() -> None:
    assert max(limits.stored_bytes for limits in PLAN_LIMITS.values()) == 2 * 1024**3
    assert "bodies of up to 2 GB" in " ".join(topics.load("server").split())
    assert "Documents have at most 2 GB" in README


def test_ci_runs_the_documented_test_command() -> None:
    assert "sh tests/run" in README
    assert "tests/run" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_documented_lifetime_of_access_tokens_matches_the_code() -> None:
    assert "Access tokens are valid for one hour" in " ".join(topics.load("api").split())
    assert ACCESS_TOKEN_MS == 3_600_000
