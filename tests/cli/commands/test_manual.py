"""The manual as a website: every command, topic and operation has a page, and every link has a target."""

import posixpath
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urljoin

import jsonschema
import pytest
import requests
import yaml
from bs4 import BeautifulSoup

from docshare.cli import topics
from docshare.cli.reference.tree import load_tree
from docshare.manual import load_site
from docshare.manual.examples import build_example
from tests.cli.tree.command_table import COMMANDS
from tests.support.repository import ROOT
from tests.support.servers.server_process import COMMAND, make_env, start_server
from tests.support.shell import Shell

DESCRIPTION = yaml.safe_load((ROOT / "docshare/server/api/openapi.yaml").read_text(encoding="utf-8"))
OPERATIONS = [
    operation["operationId"]
    for item in DESCRIPTION["paths"].values()
    for operation in item.values()
    if isinstance(operation, dict)
]


@pytest.fixture
def manual_folder(shell: Shell, tmp_path: Path) -> Path:
    """Return the folder that ``docshare help --web --out`` wrote."""
    ended = shell("help", "--web", "--out", str(tmp_path / "site"))
    assert (ended.code, ended.out) == (0, f"{tmp_path}/site/index.html\n")
    return tmp_path / "site"


def test_every_link_of_the_written_site_is_relative_and_has_a_target(manual_folder: Path) -> None:
    pages = {
        path.relative_to(manual_folder).as_posix(): BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in manual_folder.rglob("*.html")
    }
    anchors = {name: {tag["id"] for tag in page.select("[id]")} for name, page in pages.items()}
    checked = 0
    for name, page in pages.items():
        for tag in page.select("[href], [src]"):
            link = str(tag.get("href") or tag.get("src"))
            assert not re.match("[a-z]+:|/", link), f"{name}: {link}"
            target, _, anchor = urljoin(f"http://x/{name}", link).removeprefix("http://x/").partition("#")
            assert (manual_folder / posixpath.normpath(target or name)).is_file(), f"{name}: {link}"
            assert not anchor or anchor in anchors[target or name], f"{name}: {link}"
            checked += 1
        assert not page.select("script:not([src]), style, [style], [onclick]"), name
    assert checked > 5_000


def test_every_command_topic_and_operation_has_a_page_and_is_linked_from_the_start(manual_folder: Path) -> None:
    commands = {f"commands/docshare-{path.replace(' ', '-')}.html" for path in COMMANDS}
    groups = {f"commands/{'-'.join(('docshare', *row.path))}.html" for row in load_tree().walk()}
    assert commands < groups
    expected = groups | {f"topics/{name}.html" for name in (*topics.TOPICS, "config")}
    expected |= {f"api/{name}.html" for name in OPERATIONS} | {"api/types.html", "api/problems.html"}
    start = BeautifulSoup((manual_folder / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert expected == {str(tag["href"]) for tag in start.select("main a")}


def test_the_pages_of_a_command_and_an_operation_have_their_parts() -> None:
    site = load_site()
    text = BeautifulSoup(site.render("commands/docshare-files-list.html"), "html.parser").get_text(" ")
    for words in ("--filter EXPR", "jq -r '.[].shareUrl'", "files:read", "Exit codes", "tab-separated shortId"):
        assert words in text, words
    page = BeautifulSoup(site.render("api/keys.create.html"), "html.parser")
    text = page.get_text(" ")
    for words in ("POST /api/v1/keys", "addition", "application/json", "ds_rk_", "insufficient_scope", "profile"):
        assert words in text, words
    samples = BeautifulSoup(site.render("topics/docker.html"), "html.parser").get_text()
    assert topics.read_sample("compose.yaml").strip() in samples


def test_a_topic_links_to_the_commands_and_topics_that_it_names() -> None:
    page = BeautifulSoup(load_site().render("topics/webhooks.html"), "html.parser")
    links = {tag.get_text(): tag["href"] for tag in page.select("main p a, main dd a")}
    assert links["docshare help cursors"] == "../topics/cursors.html"
    assert links["docshare webhooks test"] == "../commands/docshare-webhooks-test.html"


@pytest.mark.parametrize("name", DESCRIPTION["components"]["schemas"])
def test_the_example_of_a_type_is_valid(name: str) -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    resolver = jsonschema.validators.Draft4Validator({"$ref": f"#/components/schemas/{name}", **DESCRIPTION})
    value = build_example(schemas, {"$ref": f"#/components/schemas/{name}"})
    assert list(resolver.iter_errors(value)) == []


def test_a_second_run_writes_the_same_folder_and_a_foreign_folder_is_refused(
    shell: Shell, manual_folder: Path, tmp_path: Path
) -> None:
    assert shell("help", "--web", "--out", str(manual_folder)).code == 0
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    ended = shell("help", "--web", "--out", str(foreign))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (7, "", 2)
    assert "is not empty" in ended.err
    assert "hint: " in ended.err
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "line", [["--out", "site"], ["--port", "1"], ["--web", "plans"], ["--web", "--out", "site", "--port", "1"]]
)
def test_options_of_the_website_that_contradict_each_other_are_an_error(shell: Shell, line: list[str]) -> None:
    assert shell("help", *line).code == 2


def test_the_served_site_has_a_strict_policy_and_stops_on_a_signal(tmp_path: Path) -> None:
    env = make_env(tmp_path)
    with subprocess.Popen([*COMMAND, "help", "--web"], env=env, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        answer = requests.get(url, timeout=20)
        missing = requests.get(f"{url}../../etc/passwd", timeout=20)
        taken = subprocess.run(
            [*COMMAND, "help", "--web", "--port", url.rstrip("/").rpartition(":")[2]],
            env=env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        running.send_signal(signal.SIGTERM)
    assert running.returncode in (0, 143)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
    assert (answer.status_code, missing.status_code, taken.returncode) == (200, 404, 7)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy


def test_serve_shows_the_manual_to_everybody_only_with_its_option(tmp_path: Path) -> None:
    for number, (options, status) in enumerate((((), 403), (("--public-docs",), 200))):
        process, url = start_server("--port", "0", *options, env=make_env(tmp_path / str(number)))
        try:
            assert requests.get(f"{url}/docs/", timeout=20).status_code == status
        finally:
            process.terminate()
            process.communicate(timeout=30)
