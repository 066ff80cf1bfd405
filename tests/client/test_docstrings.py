"""Every public name has a docstring, and the examples in docstrings run against a real server."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import pytest

import docshare
import docshare.client
from docshare import Client
from docshare.client.http.clock import Clock
from docshare.contract.signing import sign
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server

NOUNS = sorted(name for name, value in vars(Client).items() if name[0] != "_" and hasattr(value, "attrname"))
EXAMPLE = re.compile(r"Example::\n\n((?:    .*\n|\n)+)")
SECRET, BODY = "whsec_ab", b'{"event":"file.viewed","data":{"timeMs":7}}'
# A design tool has issuers of its own, and this server has none.
NEEDS_DESIGN_TOOL = {"docshare.client.design.DesignApi"}


class NothingHappensError(Exception):
    """An example waits for an event."""


def iterate_documented() -> Iterator[tuple[str, str]]:
    """Yield the name and docstring of every public class, function and method of the client."""
    modules = [import_module(f"docshare.client.{found.name}") for found in iter_modules(docshare.client.__path__)]
    for module in [*modules, import_module("docshare.contract.problems")]:
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != module.__name__ or not callable(value):
                continue
            yield f"{module.__name__}.{name}", inspect.getdoc(value) or ""
            for method, found in vars(value).items() if inspect.isclass(value) else ():
                if not method.startswith("_") and (inspect.isfunction(found) or hasattr(found, "attrname")):
                    yield f"{module.__name__}.{name}.{method}", getattr(found, "__doc__", None) or ""


DOCUMENTED = dict(iterate_documented())
EXAMPLES = {name: EXAMPLE.search(inspect.cleandoc(text) + "\n") for name, text in DOCUMENTED.items()}
RUNNABLE = sorted(name for name, found in EXAMPLES.items() if found is not None and name not in NEEDS_DESIGN_TOOL)


def test_every_public_name_has_a_docstring() -> None:
    assert len(DOCUMENTED) > 100
    assert [name for name, text in DOCUMENTED.items() if not text] == []


def test_every_noun_and_every_exported_name_has_an_example() -> None:
    named = {name.rsplit(".", 1)[1] for name, found in EXAMPLES.items() if found is not None}
    exported = {name for name in docshare.__all__ if not name.startswith("_")}
    nouns = {type(getattr(Client("http://127.0.0.1:9"), name)).__name__ for name in NOUNS}
    assert len(nouns) == 16
    assert exported | nouns <= named


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server"), DOCSHARE_WEBHOOK_ALLOW="127.0.0.1") as running:
        yield running


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_example_runs(server: ServerProcess, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        raise NothingHappensError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCSHARE_URL", server.url)
    monkeypatch.setenv("DOCSHARE_TOKEN", server.token)
    (tmp_path / "offer.pdf").write_bytes(simple_pdf(pages=3))
    (tmp_path / "logo.png").write_bytes(make_picture())
    found = EXAMPLES[name]
    assert found is not None
    code = textwrap.dedent(found.group(1)).replace("https://hooks.example", "https://127.0.0.1")
    with Client(server.url, server.token, clock=Clock(sleep=sleep)) as client:
        header = {"X-Service-Signature": sign(SECRET, BODY, round(client.clock.wall() * 1000))}
        names: dict[str, Any] = {
            "docshare": docshare,
            "client": client,
            "link": client.files.upload("offer.pdf")["shareUrl"],
            "secret": SECRET,
            "request": SimpleNamespace(headers=header, get_data=lambda: BODY),
        }
        try:
            exec(compile(code, name, "exec"), names)
        except NothingHappensError:
            assert name.endswith((".follow", ".wait"))
