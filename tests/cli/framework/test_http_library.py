"""The command line loads ``requests`` without its encoding detection, and does not change it for other programs."""

import subprocess
import sys

import pytest


def _run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)


LOADING = (
    "from docshare.cli.framework.http_library import load_http_library; load_http_library(); import requests, sys\n"
)


@pytest.mark.parametrize(
    "code",
    [
        "assert requests.compat.chardet is None",
        "assert not {'chardet', 'charset_normalizer'} & sys.modules.keys()",
        "import charset_normalizer; assert charset_normalizer.from_bytes(b'word').best()",
        "answer = requests.Response(); answer._content = 'Zoë'.encode(); assert answer.text == 'Zoë'",
    ],
    ids=["none", "not loaded", "can be loaded", "utf-8"],
)
def test_requests_is_loaded_without_encoding_detection_and_without_warnings(code: str) -> None:
    done = _run_python(LOADING + code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_requests_module_that_is_already_loaded_is_not_changed() -> None:
    done = _run_python("import requests; before = requests.compat.chardet\n" + LOADING + "assert before is not None\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_uses_the_client_library_has_encoding_detection() -> None:
    done = _run_python(
        "from docshare import Client\nClient('http://127.0.0.1:9', 'token')\n"
        "import requests\nassert requests.compat.chardet is not None\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
