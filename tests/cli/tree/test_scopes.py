"""The scopes that a command documents are those that the server requires."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from docshare.cli.framework.scopes import BY_COMMAND, find_scopes
from docshare.cli.reference.tree import load_tree
from docshare.contract.scopes import OPERATIONS, SCOPES
from tests.cli.tree.command_table import COMMANDS
from tests.cli.tree.instance import PopulatedInstance
from tests.support.outside.oauth_app import make_app

ONLINE = [path for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read") and path != "api"]
SCOPED_COMMANDS = [(path, scope) for path in ONLINE if (found := find_scopes(path.split())) for scope in found.needed]


@pytest.fixture(scope="module")
def make_token(instance: PopulatedInstance) -> Callable[..., str]:
    """Return a function that issues a token with exactly these scopes."""
    app, known = make_app(instance.world), dict[str, str]()

    def issue(*scopes: str) -> str:
        wanted = " ".join(scope for scope in SCOPES if scope in scopes)
        if wanted not in known:
            known[wanted] = app.approve_and_exchange(scope=wanted)["access_token"]
        return known[wanted]

    return issue


def list_needed_scopes(path: str) -> tuple[str, ...]:
    found = find_scopes(path.split())
    return found.needed if found else ()


@pytest.mark.parametrize("path", [path for path in ONLINE if list_needed_scopes(path)])
def test_the_documented_scopes_of_a_command_are_sufficient(
    instance: PopulatedInstance, make_token: Callable[..., str], path: str
) -> None:
    line = instance.fill_line(COMMANDS[path].line)
    done = instance(line, env={"DOCSHARE_TOKEN": make_token(*list_needed_scopes(path))})
    assert done.code == COMMANDS[path].code, done.err


@pytest.mark.parametrize(("path", "scope"), SCOPED_COMMANDS)
def test_a_command_without_a_needed_scope_is_rejected_with_the_login_line_that_grants_it(
    instance: PopulatedInstance, make_token: Callable[..., str], path: str, scope: str
) -> None:
    line = instance.fill_line(COMMANDS[path].line)
    done = instance(line, env={"DOCSHARE_TOKEN": make_token(*(set(SCOPES) - {scope}))})
    assert done.code == 5, (done.out, done.err)
    assert "docshare auth login --scope " in done.err
    told = done.err.split("--scope ")[1].split()[0].split(",")
    assert {*list_needed_scopes(path)} <= {*told} <= {*SCOPES}


@pytest.mark.parametrize("path", ONLINE)
def test_every_scope_that_a_command_uses_is_documented(instance: PopulatedInstance, path: str) -> None:
    token = make_app(instance.world).approve_and_exchange(scope=" ".join(SCOPES))["access_token"]
    line = instance.fill_line(COMMANDS[path].line)
    instance.forget_requests()
    instance(line, env={"DOCSHARE_TOKEN": token})  # the account of a new credential is unknown
    asked = {OPERATIONS[request.operation].scope for request in instance.requests} - {None}
    found = find_scopes(path.split())
    assert asked <= ({*found.needed, *found.useful} if found else set())


def test_the_scope_table_names_existing_commands_and_help_and_manual_print_it(instance: PopulatedInstance) -> None:
    from docshare.cli.reference.man import render_pages

    root = load_tree()
    leaves = {" ".join(command.path) for command in root.walk() if not command.children}
    assert BY_COMMAND.keys() <= leaves
    assert "Scopes: files:read, files:write." in instance("push --help").out
    assert "Scopes: files:read." in instance("ls --help").out
    assert "files:read, files:write." in render_pages(root)["man1/docshare-push.1"].replace("\\", "")


@contextmanager
def add_profile(instance: PopulatedInstance, name: str, **values: str) -> Iterator[None]:
    """Add a profile for the server of ``instance`` during the block."""
    config = instance.shell.home / "config" / "config.toml"
    before, url = config.read_text(), instance.shell.env["DOCSHARE_URL"]
    lines = [f'{key} = "{value}"' for key, value in {"url": url, **values}.items()]
    config.write_text("\n".join([before, f"[profiles.{name}]", *lines, ""]))
    try:
        yield
    finally:
        config.write_text(before)


def test_the_login_hint_includes_the_scopes_that_are_already_granted(
    instance: PopulatedInstance, make_token: Callable[..., str]
) -> None:
    from docshare.cli.local.credentials import Credential, save

    url, home = instance.shell.env["DOCSHARE_URL"], instance.shell.home / "config"
    save(home, "scoped", Credential(url, make_token("files:write", "profile"), scopes="files:write profile"))
    with add_profile(instance, "scoped"):
        done = instance("ls", "--profile", "scoped", env={"DOCSHARE_TOKEN": ""})
    assert "docshare auth login --scope files:write,profile,files:read --profile scoped" in done.err


def test_the_hint_for_a_profile_with_a_token_command_names_the_command(
    instance: PopulatedInstance, make_token: Callable[..., str]
) -> None:
    with add_profile(instance, "vault", token_command=f"echo {make_token('profile')}"):
        done = instance("ls", "--profile", "vault", env={"DOCSHARE_TOKEN": ""})
    assert "The token_command of profile vault must print a token with these scopes: files:read." in done.err
    assert "auth login" not in done.err
