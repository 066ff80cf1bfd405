"""Examples and numbers of ``docshare help`` for operators are correct: sizes, ports, units, and settings."""

import dataclasses
import inspect
import json
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
import yaml

from docshare import Client
from docshare.cli import topics
from docshare.contract import limits, media
from docshare.contract.plans import DAY, MB, PLAN_LIMITS
from docshare.contract.settings import parse_value
from docshare.contract.signing import REPLAY_WINDOW_MS
from docshare.server.config import Config
from docshare.server.rules import mails
from tests.docs.test_docs import README, list_topic_examples

LARGEST_UPLOAD = max(plan.stored_bytes for plan in PLAN_LIMITS.values())


def extract_example(topic: str, begin: str, end: str) -> str:
    """Return the example lines of a topic from the one that begins with ``begin`` to the one that begins with
    ``end``."""
    text = topics.load(topic)
    start = text.index(f"\n    {begin}") + 1
    return textwrap.dedent(text[start : text.index(f"\n    {end}", start) + len(f"\n    {end}")] + "\n")


def test_both_proxies_limit_bodies_to_slightly_more_than_the_largest_upload() -> None:
    text = topics.load("proxy")
    nginx, caddy = re.search(r"client_max_body_size (\d+)m;", text), re.search(r"max_size (\d+)MiB", text)
    assert nginx is not None
    assert caddy is not None
    for size in (int(nginx[1]), int(caddy[1])):
        assert LARGEST_UPLOAD + 1024**2 < size * 1024**2 < LARGEST_UPLOAD * 1.1


def test_both_proxies_forward_to_the_default_port() -> None:
    from docshare.cli.commands.serve.address import DEFAULT_PORT

    text = topics.load("proxy")
    assert f"proxy_pass http://127.0.0.1:{DEFAULT_PORT};" in text
    assert f"reverse_proxy 127.0.0.1:{DEFAULT_PORT} " in text


def test_nginx_overwrites_x_forwarded_for() -> None:
    text = extract_example("proxy", "server {", "}")
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
    assert text.count("{") == text.count("}") == 2


@pytest.mark.parametrize("topic", topics.TOPICS)
def test_every_variable_in_a_topic_exists(topic: str) -> None:
    ours = {f"DOCSHARE_{field.name.upper()}" for field in dataclasses.fields(Config)}
    known = set(re.findall("DOCSHARE_[A-Z_]+[A-Z]", topics.load("environment"))) | ours
    assert set(re.findall("DOCSHARE_[A-Z_]+[A-Z]", topics.load(topic))) <= known


def test_the_systemd_unit_is_valid(tmp_path: Path) -> None:
    unit = extract_example("systemd", "[Unit]", "WantedBy=multi-user.target")
    assert "ExecStart=/opt/docshare/bin/docshare serve --data /var/lib/docshare\n" in unit
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "CapabilityBoundingSet=",
        "UMask=0077",
    ):
        assert f"\n{line}\n" in unit
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this system has no systemd")
    (tmp_path / "docshare.service").write_text(unit.replace("/opt/docshare/bin/docshare", sys.executable))
    done = subprocess.run(
        [analyze, "verify", str(tmp_path / "docshare.service")], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "docshare.service" in line]) == (0, [])


def test_the_unit_allows_the_namespaces_that_workers_need() -> None:
    found = re.search("^    RestrictNamespaces=(.*)$", topics.load("systemd"), re.MULTILINE)
    assert found is not None
    assert {"user", "net", "mnt", "pid", "ipc"} == set(found[1].split())


def test_the_unit_allows_the_system_calls_that_confine_workers() -> None:
    """The groups of systemd in Debian 12 do not contain these calls; without them, two layers are missing."""
    allowed = {
        word
        for line in re.findall("^    SystemCallFilter=(.*)$", topics.load("systemd"), re.M)
        for word in line.split()
    }
    landlock = {f"landlock_{call}" for call in ("create_ruleset", "add_rule", "restrict_self")}
    assert allowed == {"@system-service", "@mount", "seccomp", *landlock}


def test_the_ci_step_is_valid_and_runs_an_example_of_the_topic() -> None:
    step = yaml.safe_load(topics.load_sample("github.yml"))["jobs"]["publish"]["steps"][-1]
    assert step["run"] in list_topic_examples(topics.load("ci"))
    assert set(step["env"]) == {"DOCSHARE_URL", "DOCSHARE_TOKEN"}


def test_the_settings_in_the_documents_topic_exist() -> None:
    lines = [line for line in list_topic_examples(topics.load("documents")) if re.match("[a-z_]+ = ", line)]
    names = {name for line in lines for name in tomllib.loads(line)}
    assert len(lines) > len(names) >= 4
    assert names <= {field.name for field in dataclasses.fields(Config)}


def test_the_form_in_the_gates_topic_is_valid() -> None:
    form = json.loads(extract_example("gates", "[", "]"))
    parsed = parse_value("gateFields", form)
    assert [field["type"] for field in parsed] == ["email", "company"]


def test_retries_and_states_of_email_in_the_topic_match_the_code() -> None:
    text = " ".join(topics.load("mail").split())
    assert "after 1 minute, 10 minutes, 1 hour, 6 hours, and a day" in text
    states = {mails.mail_state(*row) for row in ((0, 1, None), (1, None, 1), (1, None, None), (0, None, None))}
    assert states == set(re.findall(r"^  (\w+) ", topics.load("mail"), re.MULTILINE))


def test_the_share_yaml_of_the_sharing_topic_is_valid_yaml() -> None:
    text = extract_example("sharing", "version: 1", "    secretFile: hook.secret")
    assert list(yaml.safe_load(text)) == ["version", "files", "webhooks"]


# Topic, its text, the value in the code, and the expected value as a literal.
NUMBERS = [
    ("documents", ".docx up to 25 MB, .pptx and .ppt up to 50 MB", media.DOCUMENTS["docx"].cap, 25 * MB),
    ("documents", ".docx up to 25 MB, .pptx and .ppt up to 50 MB", media.DOCUMENTS["ppt"].cap, 50 * MB),
    ("documents", "it becomes a link for seven days", limits.ANONYMOUS_EXPIRY_MS, 7 * DAY),
    ("documents", "shown once and good for 30 days", limits.CLAIM_TOKEN_MS, 30 * DAY),
    ("documents", "shown once and good for 30 days", limits.MANAGE_TOKEN_MS, 30 * DAY),
    ("documents", "an address may share twenty an hour", limits.ANONYMOUS_UPLOADS.limit, 20),
    ("documents", "The link works for 365 days", limits.DESIGN_EXPIRY_MS, 365 * DAY),
    ("documents", "new designs a day (30)", limits.DESIGN_UPLOADS.limit, 30),
    ("gates", "a list of up to 5 fields", limits.GATE_FIELDS, 5),
    ("python", "signed less than 5 minutes ago", REPLAY_WINDOW_MS, 300_000),
    ("sharing", "up to 200 links", limits.VARIANTS_PER_FILE, 200),
    ("README", "at most 200 recipient links", limits.VARIANTS_PER_FILE, 200),
    ("README", "Page ranges and watermarks work up to 100 MB", limits.RANGE_AND_WATERMARK_BYTES, 100 * MB),
    ("sharing", "up to 5 fields", limits.GATE_FIELDS, 5),
    ("sharing", "half an hour later the content is deleted", limits.BURN_DELAY_MS, 1_800_000),
    ("sharing", "Ranges and watermarks work up to 100 MB", limits.RANGE_AND_WATERMARK_BYTES, 100 * MB),
    ("privacy", "is replaced every 30 days", limits.READER_SALT_MS, 30 * DAY),
    ("privacy", "are kept for 90 days after it ended", limits.BEACON_RETENTION_MS, 90 * DAY),
    ("server", "for ten minutes", limits.LOGIN_LINK_MS, 600_000),
]


@pytest.mark.parametrize(("source", "words", "found", "expected"), NUMBERS, ids=lambda value: str(value)[:30])
def test_a_number_in_the_documentation_matches_the_code(source: str, words: str, found: int, expected: int) -> None:
    text = README if source == "README" else topics.load(source)
    assert words in " ".join(text.split())
    assert found == expected


def test_the_defaults_of_the_library_match_the_topic() -> None:
    defaults = {name: option.default for name, option in inspect.signature(Client).parameters.items()}
    text = " ".join(topics.load("python").split())
    assert (defaults["retries"], "up to retries times (3)" in text) == (3, True)
    assert (defaults["max_wait"], "up to max_wait seconds (120)" in text) == (120.0, True)
