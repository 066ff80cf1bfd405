"""A client that a machine wrote from the API description: python -m tests.benchmarks.generated_client

The generator of the OpenAPI project first judges the description, then makes a Python client of it, and the client is
used on a running server: upload, settings, list, a variant, readership, events, a webhook, and all of it away again.
Nothing of docshare's own client takes part. The generator needs Java 11 or newer.
"""

import importlib
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

import docshare
from tests.support.pdfs import simple_pdf
from tests.support.server_process import ServerProcess, run_server

DESCRIPTION = Path(docshare.__file__).with_name("server") / "api" / "openapi.yaml"
PACKAGE = "docshare_generated"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operations = sum(
            "operationId" in row for path in _load_paths() for row in path.values() if isinstance(row, dict)
        )
        print(_run("validate", "-i", str(DESCRIPTION)).strip().splitlines()[-1])
        _run("generate", "-g", "python", "-o", str(folder / "client"), "-i", str(DESCRIPTION),
             f"--additional-properties=packageName={PACKAGE}")  # fmt: skip
        print(f"client generated for {operations} operations")
        sys.path.insert(0, str(folder / "client"))
        # Its webhooks are called by nobody here; the address only has to be found.
        with run_server(folder, DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8") as server:
            for line in exercise_client(importlib.import_module(PACKAGE), server):
                print(" ", line)
    return 0


def _load_paths() -> list[dict[str, Any]]:
    return list(yaml.safe_load(DESCRIPTION.read_text(encoding="utf-8"))["paths"].values())


def _run(*args: str) -> str:
    command = Path(sys.executable).with_name("openapi-generator-cli")
    return subprocess.run([str(command), *args], check=True, capture_output=True, text=True).stdout


def exercise_client(package: Any, server: ServerProcess) -> list[str]:
    """Do everything with the client in ``package``; what was found, one line each. Raises where anything is wrong."""
    client = package.ApiClient(package.Configuration(host=server.url, access_token=server.token))
    files, hooks = package.FilesApi(client), package.WebhooksApi(client)
    told = [f"account: {package.AccountApi(client).account_get().tier}"]
    content = simple_pdf(pages=3)
    made = files.files_upload(file=("report.pdf", content))
    uuid, until = str(made.uuid), datetime(2040, 1, 1, tzinfo=UTC)
    files.files_settings(uuid, file_settings=package.FileSettings(allowDownload=False, showExpiry=False))
    files.files_settings(uuid, file_settings=package.FileSettings(viewerMode="flipbook", deleteAt=until))
    (listed,) = files.files_list()
    assert (listed.short_id, listed.viewer_mode, listed.delete_at) == (made.short_id, "flipbook", until)
    kept = (listed.allow_download, listed.show_expiry)
    assert kept == (False, False), "settings that were left out have changed"
    assert files.files_get(made.short_id).revisions[0].size == len(content)
    assert bytes(files.files_download(uuid)) == content
    assert bytes(files.files_qr(uuid)).startswith(b"\x89PNG")
    told.append(f"file: {listed.original_name}, {listed.total_pages} pages, {listed.viewer_mode}")
    told += (
        _exercise_variants(package, client, uuid)
        + _exercise_readership(package, client, uuid)
        + _exercise_webhooks(package, hooks)
    )
    assert files.files_delete(uuid).trashed
    assert files.files_restore(uuid).short_id == made.short_id
    assert not files.files_delete(uuid, purge="1").trashed
    try:
        files.files_get(uuid)
    except package.exceptions.NotFoundException as error:
        told.append(f"gone: {error.status}, {error.data.code}")
    assert files.files_list() == []
    return told


def _exercise_variants(package: Any, client: Any, uuid: str) -> list[str]:
    variants = package.VariantsApi(client)
    made = variants.variants_create(uuid, variant_create=package.VariantCreate(label="Ada"))
    name = str(made.uuid)
    changed = variants.variants_update(uuid, name, variant_update=package.VariantUpdate(revoked=True))
    assert (changed.label, changed.revoked) == ("Ada", True)
    variants.variants_delete(uuid, name)
    assert variants.variants_list(uuid).variants == []
    return [f"variant: {made.label}, made, revoked and deleted"]


def _exercise_readership(package: Any, client: Any, uuid: str) -> list[str]:
    readership, events = package.ReadershipApi(client), package.EventsApi(client)
    report = readership.readership_report(uuid)
    pages = readership.readership_pages(uuid)
    assert (report.summary.total_views, len(pages.pages)) == (0, 3)
    assert events.events_list(type="view") == []
    assert [row.event for row in events.activity_list(kind=["file.viewed"])] == []
    return [f"readership: {report.tier}, {pages.total_pages} pages; the streams are empty"]


def _exercise_webhooks(package: Any, hooks: Any) -> list[str]:
    wish = package.NewWebhook(url="https://127.0.0.1:9/in", events=["file.viewed"])
    made = hooks.webhooks_create(new_webhook=wish)
    assert [row.uuid for row in hooks.webhooks_list().webhooks] == [made.webhook.uuid]
    name = str(made.webhook.uuid)
    trial = hooks.webhooks_test(name)
    hooks.webhooks_delete(name)
    assert hooks.webhooks_list().webhooks == []
    return [f"webhook: {made.webhook.format}, delivered {trial.delivered}; deleted"]


if __name__ == "__main__":
    sys.exit(main())
