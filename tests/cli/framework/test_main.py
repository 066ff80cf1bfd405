"""The command line itself: global options, help, misspelled commands, the version."""

from __future__ import annotations

import subprocess
import sys

import pytest

from docshare.cli.framework.app import Group, TyperCommand, build_command, get_spec, hoist
from docshare.cli.main import REGISTRY, app
from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.shell import Shell

FILE = {
    "uuid": UUID.format(1),
    "shortId": "aB3dE5fG7hJ9",
    "originalName": "deck.pdf",
    "size": 4_300_000,
    "viewCount": 3,
}


def hoist_line(line: str) -> tuple[str, str]:
    found = hoist(build_command(app), line.split())
    return " ".join(found.global_options), " ".join(found.rest)


@pytest.mark.parametrize(
    ("line", "front", "rest"),
    [
        ("files list --json", "--json", "files list"),
        ("--json files list", "--json", "files list"),
        ("files --json list", "--json", "files list"),
        ("files list --format csv --sort size", "--format csv", "files list --sort size"),
        ("files list --format=csv", "--format=csv", "files list"),
        ("--profile files files list", "--profile files", "files list"),
        ("files list -q -vv", "-q -vv", "files list"),
        ("files delete x -qy", "-qy", "files delete x"),
        ("files delete x -n", "", "files delete x -n"),
        ("show -- --json", "", "show -- --json"),
        ("ls --filter --json", "", "ls --filter --json"),
        ("ls --filter=--json", "", "ls --filter=--json"),
        ("profile add x --url u --json", "--json", "profile add x --url u"),
        ("--url u profile list", "--url u", "profile list"),
        ("events tail --timeout 5m --json", "--json", "events tail --timeout 5m"),
        ("serve --ephemeral --exec pytest -q --json", "", "serve --ephemeral --exec pytest -q --json"),
        ("serve --json --exec pytest -q", "--json", "serve --exec pytest -q"),
        ("nonsense --json", "--json", "nonsense"),
        ("ls --format", "--format", "ls"),
        ("", "", ""),
    ],
)
def test_global_options_are_found_in_any_position(line: str, front: str, rest: str) -> None:
    assert hoist_line(line) == (front, rest)


def test_a_global_option_works_after_the_command(api: FakeApi, shell: Shell) -> None:
    api.files = [FILE]
    assert shell("files", "list", "--json").json == shell("--json", "files", "list").json == [FILE]


def test_a_misspelled_command_suggests_the_right_one(shell: Shell) -> None:
    done = shell("fiels", "list")
    assert done.code == 2
    assert "Did you mean files?" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("settings set @last --views abc", "'abc' is not an integer."),
        ("serve --port abc", "'abc' is not an integer."),
        ("webhooks listen --fail-rate abc", "'abc' is not a number."),
        ("wait @last --page 0", "0 is not in the range x>=1."),
    ],
)
def test_an_invalid_number_is_described_without_the_name_of_a_type(shell: Shell, line: str, detail: str) -> None:
    done = shell(*line.split())
    option = line.split()[-2]
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"error: Invalid value for '{option}': {detail}"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("share", "upload"), ("list", "ls"), ("stats", "readership"), ("login", "auth login"), ("backup", "admin backup")],
)
def test_a_common_guess_suggests_the_command(shell: Shell, word: str, meant: str) -> None:
    done = shell(word, "deck.pdf")
    assert (done.code, f"Did you mean {meant}?" in done.err) == (2, True)
    assert shell(*meant.split(), "--help").code == 0


@pytest.mark.parametrize(
    ("word", "told"), [("nginx", "Topics that mention it: cluster, proxy, server."), ("x1y2", "Topics: api, apply, ")]
)
def test_help_for_an_unknown_topic_lists_topics_that_mention_it(shell: Shell, word: str, told: str) -> None:
    done = shell("help", word)
    assert (done.code, told in done.err) == (2, True)


@pytest.mark.parametrize("group", ["admin", "auth", "files", "readership", "settings", "variants"])
def test_the_help_of_a_group_does_not_truncate_summaries(shell: Shell, group: str) -> None:
    lines = shell(group, "--help").out.partition("--help  ")[2].splitlines()
    assert len(lines) > 3
    assert [line for line in lines if line.endswith("...")] == []


@pytest.mark.parametrize("words", [(), ("files",), ("profile",)])
def test_a_group_without_a_command_prints_its_help_on_stderr(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Usage: docshare")


@pytest.mark.parametrize(("line", "said"), [
    ("trigger", "Number of events. The default is 1."),
    ("serve", "basic, or pro. The default is pro."),
    ("settings set", "Verify what the server stored. The default is --read-back."),
    ("", "Show progress: auto, bar, plain, json, none. The default is auto."),
])  # fmt: skip
def test_help_names_defaults_in_sentences(shell: Shell, line: str, said: str) -> None:
    text = " ".join(shell(*line.split(), "--help").out.split())
    assert said in text
    assert "[default" not in text


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_preserves_the_line_breaks_of_examples(shell: Shell, flag: str) -> None:
    done = shell("files", "list", flag)
    assert done.code == 0
    assert done.err == ""
    assert "\n    docshare files list\n    docshare files list --filter" in done.out
    assert done.out.rstrip().endswith("Global options: docshare help global")


def test_the_help_of_the_root_lists_every_command_without_loading_one() -> None:
    code = (
        "import sys; from docshare.cli.main import main; main(['--help']);"
        "print([m for m in sys.modules if m.startswith('docshare.cli.commands')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")
    for stub in REGISTRY:
        assert f"\n  {stub.name} " in done.stdout


@pytest.mark.parametrize("stub", REGISTRY, ids=lambda stub: stub.name)
def test_every_stub_has_the_summary_of_the_real_command(stub: object) -> None:
    command = build_command(app).get_command(None, stub.name)  # type: ignore[attr-defined]
    assert command.name == stub.name  # type: ignore[attr-defined]
    assert command.help.replace("\b\n", "").split("\n")[0] == stub.summary  # type: ignore[attr-defined]


def list_leaf_commands(command: object, path: tuple[str, ...] = ()) -> list[tuple[str, object]]:
    if not hasattr(command, "commands"):
        return [(" ".join(path), command)]
    names = command.list_commands(None)  # type: ignore[attr-defined]
    return [leaf for name in names for leaf in list_leaf_commands(command.get_command(None, name), (*path, name))]  # type: ignore[attr-defined]


def test_every_command_has_a_summary_and_an_example_of_itself() -> None:
    short = {stub.name: stub.inner for stub in REGISTRY if stub.inner}
    for path, command in list_leaf_commands(build_command(app)):
        first, _, rest = command.help.partition("\n")  # type: ignore[attr-defined]
        assert first.endswith("."), path
        names = (path, f"files {short[path]}") if path in short else (path, *_list_short_names(path))
        assert any(f"docshare {name}" in rest for name in names), path


def _list_short_names(path: str) -> list[str]:
    return [stub.name for stub in REGISTRY if stub.inner and path == f"files {stub.inner}"]


def test_every_command_is_an_instance_of_our_command_classes() -> None:
    """Otherwise its help would lose the line breaks of its examples, and a group without a command would not print its
    help."""
    root = build_command(app)
    waiting = [root]
    while waiting:
        command = waiting.pop()
        assert isinstance(command, Group | TyperCommand), command.name
        waiting += [command.get_command(None, name) for name in getattr(command, "commands", {})]


def test_commands_that_print_rows_support_json(shell: Shell) -> None:
    printing = [path for path, command in list_leaf_commands(build_command(app)) if get_spec(command) is not None]
    assert {"files list", "files show", "files delete", "download", "qr", "open", "whoami"} <= set(printing)


@pytest.mark.parametrize("line", [["--version"], ["files", "--version"], ["--json", "--version"]])
def test_the_version_names_python_and_api(line: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "docshare", *line], capture_output=True, text=True, check=True)
    python = ".".join(map(str, sys.version_info[:3]))
    from docshare import __version__

    assert done.stdout == f"docshare {__version__} (python {python}, API v1)\n"
    assert done.stderr == ""


@pytest.mark.parametrize("option", ["--timeout", "--deadline"])
def test_an_extremely_long_timeout_is_no_limit(api: FakeApi, shell: Shell, option: str) -> None:
    assert shell("ls", "--json", option, "99999999999999d").code == 0


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["--format", "xml", "ls"], "--format"),
        (["--color", "blue", "ls"], "--color"),
        (["ls", "--timeout", "soon"], "--timeout"),
        (["ls", "--timeout", "0"], "--timeout"),
        (["ls", "--retries", "-1"], "--retries"),
        (["ls", "--retries", "many"], "--retries"),
        (["ls", "--nonsense"], "--nonsense"),
        (["ls", "extra"], "extra"),
        (["show"], "FILE"),
        (["ls", "--json", "--format", "csv"], "--json"),
        (["ls", "--json", "--template", "{uuid}"], "--template"),
        (["ls", "--template", "{uuid"], "--template"),
        (["ls", "--query", "[?"], "--query"),
        (["ls", "--filter", "[?"], "--filter"),
        (["ls", "--fields", "uuid,nonsense"], "nonsense"),
        (["ls", "--sort", "nonsense"], "nonsense"),
        (["ls", "--deadline", "5 minutes"], "--deadline"),
    ],
)
def test_a_usage_error_exits_with_2_names_the_argument_and_sends_nothing(
    api: FakeApi, shell: Shell, line: list[str], word: str
) -> None:
    done = shell(*line)
    assert done.code == 2
    assert word in done.err
    assert done.out == ""
    if line[-1] != "nonsense" or "--fields" in line:
        assert api.requests == []


@pytest.mark.parametrize(
    "topic", ["environment", "exit-codes", "formatting", "query", "cursors", "privacy", "global", "files", "plans"]
)
def test_help_explains_each_topic_offline(api: FakeApi, shell: Shell, topic: str) -> None:
    done = shell("help", topic)
    assert done.code == 0
    assert len(done.lines) > 8
    assert api.requests == []
    assert topic in shell("help").out


def test_help_of_a_command_is_its_help(shell: Shell) -> None:
    assert shell("help", "files", "list").out.rstrip() == shell("files", "list", "--help").out.rstrip()


def test_help_is_json_only_if_the_command_line_requests_it(shell: Shell) -> None:
    listed = shell("help", "--json").json
    assert {"topic": "exit-codes", "summary": "Exit codes and error messages"} in listed
    told = shell("help", "exit-codes", "--json").json
    assert told["topic"] == "exit-codes"
    assert told["text"].splitlines()[0] == "Exit codes and error messages"
    told = shell("help", "files", "list", "--json").json
    assert (told["command"], told["text"]) == ("files list", shell("help", "files", "list").out.removesuffix("\n"))
    shell.env["DOCSHARE_FORMAT"] = "json"
    assert shell("help", "exit-codes").out.startswith("Exit codes and error messages\n")
    assert shell("completion", "bash").out.startswith("# bash")


def test_help_for_an_unknown_word_lists_the_topics(shell: Shell) -> None:
    done = shell("help", "nonsense")
    assert done.code == 2
    assert "exit-codes" in done.err
