"""A folder with ``share.yaml``, and builders for the text of that file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import Person
from tests.support.servers.lossy_proxy import LossyProxy
from tests.support.shell import CommandResult, Shell

ONE, TWO = simple_pdf(pages=3), simple_pdf(pages=4)
HOOK, CHAT = "http://127.0.0.1:9/d", "http://127.0.0.1:9/chat"
MINIMAL_YAML = "files: [{path: report.pdf}]"


def build_yaml_with_settings(**settings: Any) -> str:
    return f"files: [{{path: report.pdf, settings: {json.dumps(settings)}}}]"


def build_yaml_with_variants(*variants: dict[str, Any]) -> str:
    return f"files: [{{path: report.pdf, variants: {json.dumps(variants)}}}]"


def build_yaml_with_webhook(*events: str, **more: Any) -> str:
    hook = {"url": HOOK, "events": list(events), "secretFile": "hook.secret"} | more
    return f"files: [{{path: report.pdf}}]\nwebhooks: [{json.dumps(hook)}]"


class ApplyFolder:
    """A folder with ``share.yaml`` and one document, and a server that counts writes."""

    def __init__(self, shell: Shell, wire: LossyProxy, person: Person, folder: Path) -> None:
        self.shell = shell
        self.wire = wire
        self.person = person
        self.folder = folder
        shell.env["DOCSHARE_URL"] = wire.url
        self.write_document(ONE)

    def write_document(self, content: bytes, name: str = "report.pdf") -> None:
        (self.folder / name).write_bytes(content)

    def write_yaml(self, text: str) -> Path:
        path = self.folder / "share.yaml"
        path.write_text(f"version: 1\n{text}")
        return path

    def __call__(self, text: str, *more: str) -> CommandResult:
        """Apply ``text``, counting writes from 0."""
        self.wire.seen = 0
        return self.shell("apply", self.write_yaml(text), *more)

    def apply_and_list_actions(self, text: str, *more: str) -> list[tuple[str, str, str]]:
        """Apply ``text`` and return the actions: verb, kind, name."""
        ended = self(text, "--json", *more)
        assert ended.code == 0, ended.err
        return [(row["action"], row["kind"], row["name"]) for row in ended.json]

    @property
    def files(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.person.get("/api/v1/files").get_json()
        return found

    @property
    def only_file(self) -> dict[str, Any]:
        (found,) = self.files
        return found

    @property
    def variants(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.person.get(f"/api/v1/files/{self.only_file['uuid']}/variants").get_json()[
            "variants"
        ]
        return found

    @property
    def webhooks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.person.get("/api/v1/webhooks").get_json()["webhooks"]
        return found

    @property
    def state(self) -> Path:
        return self.folder / "share.state.json"
