"""The settings page of a file: five groups, folded while nothing in them differs, each with its command line."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.settings_table import FORM
from tests.support.browsers.markup import HtmlElement
from tests.support.owner.browser import put_settings
from tests.support.owner.file import OwnerFile
from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world

# Written by hand.
ALL_SETTINGS: dict[str, Any] = {
    "requireEmail": True, "gateFields": FORM, "gateDomains": ["a.example", "b.example"],
    "deleteAt": "2031-01-31T18:00:00Z", "viewLimit": 10, "showExpiry": False,
    "allowDownload": False, "pageRange": {"from": 2, "to": 3}, "watermark": True, "askReceipt": True,
    "commentsEnabled": True, "commentsAllowPublic": True, "marksEnabled": True, "annotationsEnabled": True,
    "slug": "q3", "showSender": False, "notifyOnView": True, "notifyOnComment": True,
}  # fmt: skip
FORM_JSON = (
    '[{"key": "mail", "label": "Email", "type": "email", "required": true}, '
    '{"key": "firm", "label": "Company", "type": "company", "required": false}]'
)
EXPECTED = {
    "Who may read it": (
        "Email address required, form with 2 questions, only 2 email domains",
        f"--require-email 'gateFields:={FORM_JSON}' --email-domain a.example --email-domain b.example",
    ),
    "How long": (
        "Ends on 31 Jan 2031, 18:00 UTC, 0 of 10 views used, end not shown to readers",
        "--expires 2031-01-31T18:00:00.000Z --views 10 --hide-expiry",
    ),
    "Permissions of readers": (
        "No download, only pages 2 to 3, watermark, confirm receipt, leave notes, show notes to others, pick pages, "
        "annotate",
        "--no-download --pages 2-3 --watermark readerChoice=null --receipt --comments --comments-public --marks "
        "--annotations",
    ),
    "How it looks": ("Custom link q3, sender not shown", "--slug q3 --hide-sender"),
    "Notifications": ("Email about each view, email about notes", "--notify --notify-comments"),
}
EXPECTED_DEFAULTS = {
    "Who may read it": ("Everyone with the link", "--no-require-email --gate none gateDomains=null"),
    "How long": ("Never ends", "--expires never --views 0 --show-expiry"),
    "Permissions of readers": (
        "Read and download all pages",
        "--download --pages all --no-watermark readerChoice=null --no-receipt --no-comments "
        "--no-comments-public --no-marks --no-annotations",
    ),
    "How it looks": ("Random link", "slug=null --show-sender"),
    "Notifications": ("No emails", "--no-notify --no-notify-comments"),
}


def list_groups(page: HtmlElement) -> list[HtmlElement]:
    return page.find_all("details", class_="group")


def describe_group(group: HtmlElement) -> tuple[str, tuple[str, str]]:
    """Return title, summary, and command line of a group."""
    command = group.find_one("code").words if group.find_all("code") else ""
    return group.find_one("h2").words, (group.find_one("span", class_="group-now").words, command)


def expect_commands(rows: dict[str, tuple[str, str]], file: OwnerFile) -> dict[str, tuple[str, str]]:
    line = f"docshare settings set {file.made['shortId']}"
    return {title: (summary, f"{line} {words}") for title, (summary, words) in rows.items()}


def test_each_group_shows_what_differs_and_its_command(world: World) -> None:
    file = OwnerFile(world, world.pia)
    put_settings(world, file.made, **ALL_SETTINGS)
    groups = list_groups(file.get_page("/settings"))
    assert dict(map(describe_group, groups)) == expect_commands(EXPECTED, file)
    assert ["open" in group.attrs for group in groups] == [True] * 5


def test_groups_without_changes_are_folded(world: World) -> None:
    file = OwnerFile(world, world.pia)
    groups = list_groups(file.get_page("/settings"))
    assert dict(map(describe_group, groups)) == expect_commands(EXPECTED_DEFAULTS, file)
    assert ["open" in group.attrs for group in groups] == [False] * 5
    assert "Default:" not in file.get_page("/settings").words


def test_one_changed_setting_opens_its_group_and_shows_its_default(world: World) -> None:
    file = OwnerFile(world, world.pia)
    put_settings(world, file.made, allowDownload=False)
    groups = list_groups(file.get_page("/settings"))
    assert [describe_group(group)[0] for group in groups if "open" in group.attrs] == ["Permissions of readers"]
    assert groups[2].words.count("Default: on.") == 1


def test_a_password_is_prompted_for_and_never_shown(world: World) -> None:
    file = OwnerFile(world, world.pia)
    put_settings(world, file.made, password="open sesame")
    summary, command = describe_group(list_groups(file.get_page("/settings"))[0])[1]
    assert summary == "Password"
    assert command == (
        f"docshare settings set {file.made['shortId']} "
        "--password-prompt --no-require-email --gate none gateDomains=null"
    )


def test_commands_leave_out_what_the_plan_does_not_include(world: World) -> None:
    file = OwnerFile(world, world.fay)
    found = dict(map(describe_group, list_groups(file.get_page("/settings"))))
    line = f"docshare settings set {file.made['shortId']}"
    assert {title: command for title, (_, command) in found.items()} == {
        "Who may read it": "",
        "How long": f"{line} --expires never --show-expiry",
        "Permissions of readers": f"{line} --download readerChoice=null",
        "How it looks": f"{line} --show-sender",
        "Notifications": "",
    }


@pytest.mark.parametrize("settings", [ALL_SETTINGS, {}], ids=["all", "defaults"])
def test_the_commands_give_another_file_the_same_settings(
    world: World, tmp_path: Path, settings: dict[str, Any]
) -> None:
    """The other file starts with the opposite, and every command is run by the real program."""
    file, other = OwnerFile(world, world.pia), OwnerFile(world, world.pia)
    put_settings(world, file.made, **settings)
    if not settings:
        put_settings(world, other.made, **ALL_SETTINGS)
    commands = [describe_group(group)[1][1] for group in list_groups(file.get_page("/settings"))]
    put_settings(world, file.made, slug="")  # a custom link belongs to one file
    env = {key: value for key, value in os.environ.items() if not key.startswith("DOCSHARE_")}
    with serve_world(world) as url:
        env |= {"DOCSHARE_URL": url, "DOCSHARE_TOKEN": world.pia.key, "HOME": str(tmp_path), "NO_COLOR": "1"}
        for command in commands:
            words = shlex.split(command.replace(file.made["shortId"], other.made["shortId"]))
            done = subprocess.run(
                [sys.executable, "-m", *words], env=env, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, (command, done.stderr)
    put_settings(world, file.made, slug=settings.get("slug", "") and "other")
    found, expected = other.get_from_api(""), file.get_from_api("")
    for key in (*ALL_SETTINGS, "protected"):
        if key != "slug":
            assert found.get(key) == expected.get(key), key
    assert found.get("slug") == settings.get("slug")


def test_a_field_name_is_made_from_its_question(world: World) -> None:
    file = OwnerFile(world, world.pia)
    form = file.open_form("/settings")
    form.send_and_follow({
        "gateFields.0.label": "Your email", "gateFields.0.type": "email",
        "gateFields.2.label": "2nd Größe?", "gateFields.3.label": "???", "gateFields.4.label": "2nd große",
    })  # fmt: skip
    assert [(row["key"], row["label"]) for row in file.get_from_api("")["gateFields"]] == [
        ("your_email", "Your email"),
        ("nd_grosse", "2nd Größe?"),
        ("answer", "???"),
        ("nd_grosse_2", "2nd große"),
    ]
