"""The command line loads ``requests`` without what guesses encodings, and takes it from nobody else."""

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
def test_requests_does_without_and_says_nothing_of_it(code: str) -> None:
    done = _run_python(LOADING + code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_requests_that_is_there_already_stays_as_it_is() -> None:
    done = _run_python("import requests; before = requests.compat.chardet\n" + LOADING + "assert before is not None\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_with_the_client_library_keeps_it() -> None:
    done = _run_python(
        "from docshare import Client\nClient('http://127.0.0.1:9', 'token')\n"
        "import requests\nassert requests.compat.chardet is not None\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
