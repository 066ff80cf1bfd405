"""The tour of this version: every step has its expected outcome, and every route and command is visited."""

from __future__ import annotations

import copy
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tree.command_table import COMMANDS
from tests.support.people.cast import World
from tests.support.repository import ROOT
from tests.tour.compare import compare_recordings
from tests.tour.record import record_tour

# The first test of a process sends hundreds of requests and starts hundreds of processes, one after the other.
pytestmark = pytest.mark.timeout(900)

# Endpoint -> why a tour cannot get a success, or an error, from it.
NO_SUCCESS = {
    "admin": "the commands of the operator send it, with a key of the data directory",
    "probe": "the listener of a test of the public address sends it, with a token",
}
NO_ERROR = {
    "api:discovery.get": "public, without parameters",
    "api:openapi.get": "public, without parameters",
    "public.home": "public, without parameters",
    "health": "fails only without a database",
    "metrics": "refuses other machines only",
    "oauth.describe_server": "public, without parameters",
    "oauth.describe_resource": "public, without parameters",
    "sign_in.holder": "public, without parameters",
    "sign_in.forgot": "public, without parameters",
    "docs.open_docs": "redirects everybody",
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return record_tour(ROOT, tmp_path_factory.mktemp("tour"))


def test_each_step_has_the_expected_status_or_exit_code(recording: dict[str, Any]) -> None:
    unexpected = [step for step in recording["steps"] if step.get("status", step.get("code")) != step["expected"]]
    assert unexpected == []
    assert len(recording["steps"]) > 880


def test_the_tour_visits_each_route_with_a_success_and_with_an_error(recording: dict[str, Any], world: World) -> None:
    adapter = world.app.url_map.bind("localhost")
    outcomes: dict[str, set[bool]] = defaultdict(set)
    for step in recording["steps"]:
        sent = step.get("sent")
        if sent and adapter.test(sent["path"], sent["method"]):
            outcomes[adapter.match(sent["path"], sent["method"])[0]].add(step["status"] < 400)
    endpoints = {rule.endpoint for rule in world.app.url_map.iter_rules()}
    assert {name for name in endpoints if True not in outcomes[name]} == set(NO_SUCCESS)
    assert {name for name in endpoints if False not in outcomes[name]} == set(NO_ERROR)


def test_the_tour_visits_each_command(recording: dict[str, Any]) -> None:
    lines = [step["step"].partition(" docshare ")[2] for step in recording["steps"] if "code" in step]
    walked = [line for line in lines if not line.endswith("--help")]
    assert {name for name in COMMANDS if not any(f"{line} ".startswith(f"{name} ") for line in walked)} == set()
    assert {name for name in COMMANDS if f"{name} --help" not in lines} == set()


def test_a_recording_equals_itself_and_differences_have_their_kind(recording: dict[str, Any]) -> None:
    assert compare_recordings(recording, recording) == []
    steps = [
        {"step": "a", "status": 200, "body": {"uuid": "x", "size": 1, "detail": "It is."}},
        {"step": "b", "code": 0, "stdout": {"rows": [["one", "1"], ["two", "2"]]}},
        {"step": "c", "status": 200, "body": {"title": "A", "targets": ["a /files", "a /trash"]}},
    ]
    before: dict[str, Any] = {"steps": steps, "deliveries": {}, "files": ["a"]}
    after = copy.deepcopy(before)
    after["steps"][0]["body"] = {"size": "1", "uuid": "x", "detail": "It was.", "more": True}
    after["steps"][1]["stdout"]["rows"][1][1] = "3"
    after["steps"][2] |= {"status": 303, "body": {"title": "B", "targets": ["a /files"]}}
    after["files"] = ["a", "b"]
    after["steps"].append({"step": "d"})
    found = {(each.step, each.field): each.kind for each in compare_recordings(before, after)}
    assert found == {
        ("a", "body"): "changed",
        ("a", "body.size"): "changed",
        ("a", "body.detail"): "wording",
        ("a", "body.more"): "added",
        ("b", "stdout.rows[1][1]"): "changed",
        ("c", "status"): "changed",
        ("c", "body.title"): "wording",
        ("c", "body.targets"): "removed",
        ("d", "step"): "added",
        ("files", "files"): "added",
    }


def test_a_recording_contains_no_value_of_its_own_run(recording: dict[str, Any], tmp_path_factory: Any) -> None:
    text = json.dumps(recording)
    assert str(Path(tmp_path_factory.getbasetemp())) not in text
    assert not re.search(r"ds_[a-z]+_\w{8}", text)
    assert "127.0.0.1:" not in text
