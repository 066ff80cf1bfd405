"""Exercise a client generated from the API description: python -m tests.benchmarks.generated_client

The OpenAPI generator validates the description and generates a Python client, which is then
used on a running server: upload, settings, list, a variant, readership, events, a webhook, and deletion of all.
The client of docshare is not involved. The generator requires Java 11 or newer.
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
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server

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
        # The webhooks are never called; their host only has to resolve.
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
    """Exercise the client in ``package``; return one line per result. Raises AssertionError on errors."""
    client = package.ApiClient(package.Configuration(host=server.url, access_token=server.token))
    files, hooks = package.FilesApi(client), package.WebhooksApi(client)
    results = [f"account: {package.AccountApi(client).account_get().tier}"]
    content = simple_pdf(pages=3)
    created = files.files_upload(file=("report.pdf", content))
    uuid, until = str(created.uuid), datetime(2040, 1, 1, tzinfo=UTC)
    files.files_settings(uuid, file_settings=package.FileSettings(allowDownload=False, showExpiry=False))
    files.files_settings(uuid, file_settings=package.FileSettings(viewerMode="flipbook", deleteAt=until))
    (listed,) = files.files_list()
    assert (listed.short_id, listed.viewer_mode, listed.delete_at) == (created.short_id, "flipbook", until)
    preserved = (listed.allow_download, listed.show_expiry)
    assert preserved == (False, False), "settings that were omitted have changed"
    assert files.files_get(created.short_id).revisions[0].size == len(content)
    assert bytes(files.files_download(uuid)) == content
    assert bytes(files.files_qr(uuid)).startswith(b"\x89PNG")
    results.append(f"file: {listed.original_name}, {listed.total_pages} pages, {listed.viewer_mode}")
    results += (
        _exercise_variants(package, client, uuid)
        + _exercise_readership(package, client, uuid)
        + _exercise_webhooks(package, hooks)
    )
    assert files.files_delete(uuid).trashed
    assert files.files_restore(uuid).short_id == created.short_id
    assert not files.files_delete(uuid, purge="1").trashed
    try:
        files.files_get(uuid)
    except package.exceptions.NotFoundException as error:
        results.append(f"gone: {error.status}, {error.data.code}")
    assert files.files_list() == []
    return results


def _exercise_variants(package: Any, client: Any, uuid: str) -> list[str]:
    variants = package.VariantsApi(client)
    created = variants.variants_create(uuid, variant_create=package.VariantCreate(label="Ada"))
    name = str(created.uuid)
    changed = variants.variants_update(uuid, name, variant_update=package.VariantUpdate(revoked=True))
    assert (changed.label, changed.revoked) == ("Ada", True)
    variants.variants_delete(uuid, name)
    assert variants.variants_list(uuid).variants == []
    return [f"variant: {created.label}, created, revoked and deleted"]


def _exercise_readership(package: Any, client: Any, uuid: str) -> list[str]:
    readership, events = package.ReadershipApi(client), package.EventsApi(client)
    report = readership.readership_report(uuid)
    pages = readership.readership_pages(uuid)
    assert (report.summary.total_views, len(pages.pages)) == (0, 3)
    assert events.events_list(type="view") == []
    assert [row.event for row in events.activity_list(kind=["file.viewed"])] == []
    return [f"readership: {report.tier}, {pages.total_pages} pages; the streams are empty"]


def _exercise_webhooks(package: Any, hooks: Any) -> list[str]:
    new_webhook = package.NewWebhook(url="https://127.0.0.1:9/in", events=["file.viewed"])
    created = hooks.webhooks_create(new_webhook=new_webhook)
    assert [row.uuid for row in hooks.webhooks_list().webhooks] == [created.webhook.uuid]
    name = str(created.webhook.uuid)
    delivery = hooks.webhooks_test(name)
    hooks.webhooks_delete(name)
    assert hooks.webhooks_list().webhooks == []
    return [f"webhook: {created.webhook.format}, delivered {delivery.delivered}; deleted"]


if __name__ == "__main__":
    sys.exit(main())
