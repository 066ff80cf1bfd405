"""``docshare apply``: all errors of a YAML file are reported at once, and nothing is sent."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.cli.commands.apply.apply_folder import ONE
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import CommandResult, Shell


@pytest.fixture
def offline_apply(api: FakeApi, shell: Shell, tmp_path: Path) -> OfflineApply:
    (tmp_path / "a.pdf").write_bytes(ONE)
    return OfflineApply(api, shell, tmp_path)


class OfflineApply:
    """Apply a text, and assert that the server gets no request."""

    def __init__(self, api: FakeApi, shell: Shell, folder: Path) -> None:
        self._api = api
        self._shell = shell
        self.folder = folder

    def __call__(self, text: str | bytes) -> CommandResult:
        path = self.folder / "share.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        done = self._shell("apply", path, "--json")
        assert (done.code, done.out, self._api.requests) == (2, "", [])
        assert not (self.folder / "share.state.json").exists()
        return done


FILE = "version: 1\nfiles:\n- path: a.pdf\n"
HOOK = "version: 1\nwebhooks:\n- url: https://h.example/d\n"

ERRORS = [
    ("files: []", 1, "must contain version: 1"),
    ("version: 2", 1, "must contain version: 1"),
    ("version: true", 1, "must contain version: 1"),
    ("- version: 1", 1, "the file must be a mapping"),
    ("version: 1\nfile: []", 2, "has no key 'file'"),
    ("version: 1\nfiles: {}", 2, "files must be a list"),
    ("version: 1\nfiles:\n- a.pdf", 3, "a file must be a mapping"),
    ("version: 1\nfiles:\n- key: a", 3, "a file requires a path"),
    ("version: 1\nfiles:\n- path: [a]", 3, "path must be text"),
    ("version: 1\nfiles:\n- path: none.pdf", 3, "cannot be read"),
    ("version: 1\nfiles:\n- path: .", 3, "is a directory"),
    ("version: 1\nfiles:\n- path: share.yaml", 3, "is not a PDF"),
    (FILE + "  uuid: 12", 4, "uuid"),
    (FILE + "  keepAnchors: 1", 4, "keepAnchors must be true or false"),
    (FILE + "- path: a.pdf", 4, "the key 'a.pdf' is already used in line 3"),
    ("version: 1\nfiles: [{path: a.pdf}, {path: ./a.pdf}]", 2, "the key 'a.pdf' is already used in line 2"),
    (FILE + "  settings: [slug]", 4, "settings must be a mapping"),
    (FILE + "  settings:\n    slugg: q3", 5, "unknown setting 'slugg'"),
    (FILE + "  settings:\n    slug: Q3!", 5, "slug must be"),
    (FILE + "  settings:\n    slug:", 5, "slug is empty"),
    (FILE + "  settings:\n    brand:\n      accentColor: #336699", 6, "brand.accentColor is empty"),
    (FILE + "  settings:\n    flip:\n      speed: 3", 6, "unknown setting 'flip.speed'"),
    (FILE + "  settings:\n    flip.speedMs: 300\n    flip: {speedMs: 400}", 6, "flip.speedMs is given more than once"),
    (FILE + "  settings:\n    allowDownload: 'no'", 5, "allowDownload must be true or false"),
    (FILE + "  settings:\n    viewLimit: many", 5, "viewLimit must be an integer"),
    (FILE + "  settings:\n    viewerMode: comic", 5, "viewerMode must be"),
    (FILE + "  settings:\n    pageRange: 3-1", 5, "the first page comes after the last"),
    (FILE + "  settings:\n    deleteAt: soon", 5, "'soon' is not a time"),
    (FILE + "  settings:\n    deleteAt: 99999999d", 5, "is not a time"),
    (FILE + "  settings:\n    deleteAt: 5d\n    neverExpire: true", 5, "cannot be used together"),
    (FILE + "  settings:\n    deleteAt: 2030-01-01\n    neverExpire: true", 6, "cannot be used together"),
    (FILE + "  settings:\n    password: hunter2", 5, "a password cannot be set here"),
    (FILE + "  settings:\n    passwordFile: none.txt", 5, "cannot read"),
    (FILE + "  settings:\n    detachDesignToolDesign: true", 5, "is a command"),
    (FILE + "  settings:\n    cta: {label: Go, url: 'javascript:1'}", 5, "cta.url must be"),
    (
        FILE + "  settings:\n    requireEmail: false\n    gateFields: [{key: m, label: M, type: email}]",
        4,
        "a form always asks",
    ),
    (FILE + "  variants: [Ann]", 4, "a variant must be a mapping"),
    (FILE + "  variants:\n  - allowDownload: true", 5, "a variant requires a label"),
    (FILE + "  variants:\n  - label: ''", 5, "label must be text"),
    (FILE + "  variants:\n  - label: Ann\n  - label: ' Ann '", 6, "the label 'Ann' is already used in line 5"),
    (FILE + "  variants:\n  - label: Ann\n    pageRange: 0-2", 5, "page numbers start at 1"),
    (FILE + "  variants:\n  - label: Ann\n    slug: x", 6, "a variant has no key 'slug'"),
    (HOOK + "  secretFile: s", 3, "events must be"),
    (HOOK + "  secretFile: s\n  events: [file.opened]", 5, "events[0] must be"),
    (HOOK + "  events: all", 3, "secretFile is required"),
    (HOOK + "  events: all\n  format: slack\n  secretFile: s", 3, "Slack messages are not signed"),
    (HOOK + "  events: all\n  secretFile: s\n  file: b", 3, "no file has the key 'b'"),
    (
        HOOK + "  events: all\n  secretFile: s\n- {url: 'https://h.example/d', events: all, secretFile: t}",
        6,
        "is already used in",
    ),
    ("version: 1\nwebhooks:\n- {url: 'ftp://h', events: all, secretFile: s}", 3, "is not an https URL"),
]


@pytest.mark.parametrize(("text", "line", "why"), ERRORS)
def test_an_error_is_reported_with_its_line(offline_apply: OfflineApply, text: str, line: int, why: str) -> None:
    detail = offline_apply(text).error["detail"]
    assert f"share.yaml:{line}: " in detail
    assert why in detail


def test_all_errors_are_reported_at_once_in_file_order(offline_apply: OfflineApply) -> None:
    done = offline_apply(FILE + "  settings:\n    slugg: q\n    viewLimit: x\nwebhooks:\n- events: all\nhooks: 1")
    lines = done.err.splitlines()
    assert [line.split("share.yaml:")[1].split(":")[0] for line in lines[:-1]] == ["5", "6", "8", "9"]
    assert "Did you mean slug?" in lines[0]
    assert done.error["detail"].startswith("4 errors in ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("version: 1\nfiles: [", "share.yaml:2: "),
        ("version: 1\nversion: 1", "share.yaml:2: duplicate key version"),
        ("version: 1\n---\nversion: 1", "share.yaml:2: "),
        ("a: !!python/object/apply:os.system [exit]", "share.yaml:1: unsupported type"),
        ("a: !!python/name:os.system ''", "share.yaml:1: unsupported type"),
        ("a: !!binary aGVsbG8=", "share.yaml:1: unsupported type"),
        ("a: !!bool perhaps", "share.yaml:1: 'perhaps' is not a valid value"),
        ("a: " + "9" * 5000, "share.yaml:1: "),
        ('a: "\\ud800"', "share.yaml:1: half of a surrogate pair"),
        ("? [a]\n: 1", "share.yaml:1: a key must be a plain string"),
        ("a: &a [*a]", "share.yaml:1: too large or nested too deeply"),
        ("a: &a {<<: *a}", "share.yaml:1: too large or nested too deeply"),
        ("a: {<<: [1]}", "share.yaml:1: '<<' requires a mapping"),
        ("[" * 200_000, "share.yaml:1: nested too deeply"),
        ("a: " + "x" * 300_000, "is larger than 256 kB"),
        (b"version: 1\na: \xff", "it is not UTF-8"),
        (b"version: 1\na: \x00", "is not valid YAML"),
    ],
)
def test_a_hostile_file_is_rejected(offline_apply: OfflineApply, text: str | bytes, why: str) -> None:
    assert why in offline_apply(text).error["detail"]


def test_aliases_cannot_expand_without_bound(offline_apply: OfflineApply) -> None:
    """Nine aliases, nested nine levels deep, would expand to a billion strings."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "too large" in offline_apply("\n".join(lines)).error["detail"]


def test_a_missing_file_is_named(shell: Shell, tmp_path: Path) -> None:
    done = shell("apply", tmp_path / "none.yaml", "--json")
    assert (done.code, done.out) == (2, "")
    assert "none.yaml: No such file" in done.error["detail"]


def test_anchors_and_merge_keys_are_supported(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    """Keys beside a merged mapping take precedence over it."""
    api.on("GET", "/user", {"uuid": "u", "tier": "pro"})
    api.on("GET", "/files", [])
    (tmp_path / "a.pdf").write_bytes(ONE)
    (tmp_path / "share.yaml").write_text(
        "version: 1\nfiles:\n- path: a.pdf\n  settings: &usual {viewLimit: 3, viewerMode: swipe}\n"
        "- path: a.pdf\n  key: b\n  settings:\n    <<: *usual\n    viewLimit: 4\n"
    )
    done = shell("apply", tmp_path / "share.yaml", "--dry-run", "--json")
    assert done.code == 0, done.err
    told = [row["changes"] for row in done.json if row["kind"] == "settings"]
    assert [(each["viewLimit"]["to"], each["viewerMode"]["to"]) for each in told] == [(3, "swipe"), (4, "swipe")]


def test_the_example_file_in_the_manual_is_valid(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/user", {"uuid": "u", "tier": "pro"})
    api.on("GET", "/files", [])
    api.on("GET", "/webhooks", {"webhooks": []})
    lines = shell("help", "apply").out.partition("    version: 1\n")[2].partition("\nPaths are")[0]
    (tmp_path / "handbook.pdf").write_bytes(ONE)
    (tmp_path / "handbook.password").write_text("correct horse")
    (tmp_path / "share.yaml").write_text(textwrap.dedent(f"    version: 1\n{lines}"))
    done = shell("apply", tmp_path / "share.yaml", "--dry-run", "--json")
    assert done.code == 0, done.err
    told = [(row["action"], row["kind"]) for row in done.json]
    variants = [("create", "variant")] * 2
    assert told == [("create", "file"), ("update", "settings"), *variants, ("create", "webhook")]
    settings = {"slug", "viewerMode", "deleteAt", "password", "brand.accentColor"}
    assert done.json[1]["changes"].keys() == settings


def test_remote_and_local_text_cannot_control_a_terminal(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/user", {"uuid": "u", "tier": "pro"})
    api.on("GET", "/files", [])
    (tmp_path / "a.pdf").write_bytes(ONE)
    (tmp_path / "share.yaml").write_text('version: 1\nfiles: [{path: a.pdf, name: "\\e]0;x\\a.pdf", key: "\\e[2J"}]')
    shell.tty = True
    done = shell("apply", tmp_path / "share.yaml", "--dry-run", "--color=never")
    assert (done.code, "would be stored as" in done.err) == (2, True)
    assert "\x1b" not in done.out + done.err
    (tmp_path / "share.yaml").write_text('version: 1\nfiles: [{path: a.pdf, key: "\\e[2J"}]')
    done = shell("apply", tmp_path / "share.yaml", "--dry-run", "--color=never")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err
