"""The Python examples of the README and of ``docshare help python`` run."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import docshare
from docshare import Client
from docshare.cli import topics
from docshare.contract.signing import REPLAY_WINDOW_MS, SignatureVerdict, sign
from tests.docs.test_docs import README
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_server

Names = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    # The URL of the example does not exist; ``run_examples`` replaces it with a local address.
    with run_server(tmp_path_factory.mktemp("server"), DOCSHARE_WEBHOOK_ALLOW="127.0.0.1") as running:
        yield running


@pytest.fixture
def example_server(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """Set up the examples: a report in the working directory and a server in the environment."""
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=3))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCSHARE_URL", server.url)
    monkeypatch.setenv("DOCSHARE_TOKEN", server.token)
    return server


def read_topic_code() -> str:
    """Return all Python of the topic in one piece. Lines with a larger indent belong to a table."""
    blocks = re.findall(r"(?:^    (?! {12}).*\n|^\n(?=\n*    ))+", topics.load("python"), re.MULTILINE)
    return "\n".join(textwrap.dedent(block) for block in blocks if not block.strip().startswith("docshare "))


def read_readme_code() -> str:
    """Return all Python of the README's section."""
    section = README.split("\n## The API and the Python library\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))


def run_examples(code: str) -> Names:
    """Run the examples like a script; return the names that they define."""
    names: Names = {"__name__": "__main__"}
    exec(compile(code.replace("https://hooks.example.com", "http://127.0.0.1"), "examples", "exec"), names)
    return names


def test_the_examples_of_the_topic_run(example_server: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_examples(read_topic_code())
    output = capsys.readouterr().out
    assert output.startswith("pro\n")
    assert "\n100\n" in output
    assert "404 not_found" in output
    assert output.count("version 2\n") == 2, "from the replacement and from the activity feed"
    assert "[False]\n" in output
    assert "nobody has read" in output
    assert "Ann Lee never http" in output
    assert Path("copy.pdf").read_bytes() == Path("report.pdf").read_bytes()
    assert names["secret"].startswith("whsec_")
    with Client(example_server.url, example_server.token) as client:
        made = client.files.show(names["file"]["uuid"])
        labels = [row["label"] for row in client.variants.list(made["uuid"])]
    assert (made["originalName"], made["allowDownload"], labels) == ("Q3 report.pdf", False, ["Bob Ray", "Ann Lee"])


def test_the_receiver_of_the_topic_accepts_only_valid_signatures(
    example_server: ServerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run_examples(read_topic_code())
    http, body = names["app"].test_client(), b'{"event":"file.viewed","data":{"fileName":"Q3 report.pdf","timeMs":7}}'
    now = names["client"].clock.wall() * 1000
    sent = {"Content-Type": "application/json", "X-Service-Signature": sign(names["secret"], body, int(now))}
    assert http.post("/docshare", data=body, headers=sent).status_code == 204
    assert capsys.readouterr().out.endswith("Q3 report.pdf 7 ms\n")
    assert http.post("/docshare", data=body + b"\n", headers=sent).status_code == 400
    assert http.post("/docshare", data=body).status_code == 400
    late = sent | {"X-Service-Signature": sign(names["secret"], body, int(now) - REPLAY_WINDOW_MS - 5_000)}
    assert http.post("/docshare", data=body, headers=late).status_code == 400


def test_the_examples_of_the_readme_run(example_server: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_examples(read_readme_code())
    assert names["link"].startswith(example_server.url)
    assert names["link"] in capsys.readouterr().out


def test_a_signature_is_verified_with_the_given_clock() -> None:
    from docshare.client.http.clock import Clock

    body, at = b"{}", Clock(wall=lambda: 1_790_000_000.0)
    header = sign("whsec_ab", body, 1_790_000_000_000)
    assert docshare.verify_signature("whsec_ab", body, header, clock=at) is SignatureVerdict.GENUINE
    late = Clock(wall=lambda: 1_790_000_301.0)
    assert docshare.verify_signature("whsec_ab", body, header, clock=late) is SignatureVerdict.TOO_OLD
    assert docshare.verify_signature("whsec_ab", body, header, window=600, clock=late)
    assert docshare.verify_signature("whsec_ab", body, None, clock=at) is SignatureVerdict.MALFORMED


def test_only_the_public_names_of_the_library_can_be_imported() -> None:
    assert set(docshare.__all__) <= set(dir(docshare))
    assert all(getattr(docshare, name).__name__ == name for name in docshare.__all__ if not name.startswith("_"))
    with pytest.raises(AttributeError, match="no attribute 'Server'"):
        docshare.Server  # noqa: B018 - the look-up is what is tested


def test_importing_the_package_loads_no_other_module() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; old = set(sys.modules); import docshare; print(set(sys.modules) - old)"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(docshare.__file__).parents[1])},
    )
    assert done.stdout.strip() == "{'docshare'}"
