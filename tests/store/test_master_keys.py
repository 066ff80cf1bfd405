"""Master keys come from a file or from a command, and appear in no message."""

import base64
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docshare.server.store import master_keys
from docshare.server.store.master_keys import KeyCommand, KeyFile, MasterKeyError, parse_keys

FIRST, SECOND, THIRD = (bytes([start + number for number in range(32)]) for start in (0, 100, 200))


def write_hex(*keys: bytes) -> bytes:
    return b"".join(key.hex().encode() + b"\n" for key in keys)


def write_base64(*keys: bytes) -> bytes:
    return b"".join(base64.b64encode(key) + b"\n" for key in keys)


def write_command(script: str) -> str:
    """Return the line of a command that runs a Python script."""
    return shlex.join([sys.executable, "-c", script])


def print_command(content: bytes) -> str:
    """Return the line of a command that prints ``content``."""
    return write_command(f"import sys; sys.stdout.buffer.write({content!r})")


def fail_to_load(keys: KeyFile | KeyCommand) -> str:
    with pytest.raises(MasterKeyError) as failure:
        keys.load()
    return str(failure.value)


ONE_KEY = [FIRST, write_hex(FIRST), write_hex(FIRST).strip(), write_hex(FIRST).upper(), write_base64(FIRST)]
SEVERAL_KEYS = [
    FIRST + SECOND + THIRD,
    write_hex(FIRST, SECOND, THIRD),
    write_base64(FIRST, SECOND, THIRD),
    write_hex(FIRST) + b"\n" + write_base64(SECOND) + write_hex(THIRD).strip(),
    b"  ".join([FIRST.hex().encode(), SECOND.hex().encode()]) + b"\r\n" + write_base64(THIRD),
]
WRONG = [
    b"",
    b"\n",
    FIRST[:31],
    FIRST + b"\n",
    FIRST + SECOND[:31],
    write_hex(FIRST)[:-3],
    write_hex(FIRST) + b"# the old key",
    write_hex(FIRST) + write_hex(SECOND[:30]),
    base64.b64encode(FIRST[:31]),
    base64.b64encode(FIRST + SECOND),
    base64.urlsafe_b64encode(b"\xff" * 32).rstrip(b"="),
    b"the password of the operator",
    b"".join(bytes([number]) * 32 for number in range(9)),
    write_hex(*(bytes([number]) * 32 for number in range(9))),
]


@pytest.mark.parametrize("content", ONE_KEY)
def test_one_key_is_read_in_every_notation(content: bytes) -> None:
    assert parse_keys(content, "here") == (FIRST,)


@pytest.mark.parametrize("content", SEVERAL_KEYS)
def test_several_keys_are_read_in_their_order(content: bytes) -> None:
    assert parse_keys(content, "here") == (FIRST, SECOND, THIRD)


def test_eight_keys_are_read() -> None:
    keys = tuple(bytes([number]) * 32 for number in range(8))
    assert parse_keys(b"".join(keys), "here") == parse_keys(write_hex(*keys), "here") == keys


@pytest.mark.parametrize("content", WRONG)
def test_wrong_content_is_refused_and_not_shown(content: bytes) -> None:
    with pytest.raises(MasterKeyError, match=r"^/etc/keys has no usable key: expected 32 random bytes") as failure:
        parse_keys(content, "/etc/keys")
    assert_not_shown(str(failure.value), content)


@pytest.mark.parametrize("content", [write_hex(FIRST, SECOND[:31]), write_hex(FIRST[:31]) + b"\n"])
def test_text_with_a_missing_digit_is_not_taken_for_raw_keys(content: bytes) -> None:
    with pytest.raises(MasterKeyError):
        parse_keys(content, "here")


@pytest.mark.parametrize("content", [FIRST + SECOND + FIRST, write_hex(FIRST, FIRST), write_hex(FIRST).lower() * 2])
def test_the_same_key_twice_is_refused(content: bytes) -> None:
    with pytest.raises(MasterKeyError, match=r"^here has the same key twice$"):
        parse_keys(content, "here")


def assert_not_shown(message: str, content: bytes) -> None:
    for word in content.split():
        assert len(word) < 4 or repr(word)[2:-1] not in message
        assert len(word) < 4 or word.hex() not in message


def test_a_new_file_is_private_and_has_one_random_key(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        keys = KeyFile(tmp_path / "vault.key", os.urandom)
        assert not keys.exist()
        assert keys.version() is None
        (made,) = keys.load()
    finally:
        os.umask(umask)
    assert (len(made), made == bytes(32)) == (32, False)
    assert keys.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["vault.key"]
    assert keys.exist()
    assert keys.load() == KeyFile(keys.path, os.urandom).load() == (made,)


@pytest.mark.parametrize("content", [*ONE_KEY, *SEVERAL_KEYS])
def test_an_existing_file_is_read_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vault.key"
    path.write_bytes(content)
    assert KeyFile(path, os.urandom).load() == parse_keys(content, "here")
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", WRONG)
def test_a_file_with_wrong_content_is_named_and_not_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vault.key"
    path.write_bytes(content)
    message = fail_to_load(KeyFile(path, os.urandom))
    assert message.startswith(f"{path} has no usable key")
    assert_not_shown(message.removeprefix(str(path)), content)
    assert path.read_bytes() == content


def test_a_replaced_file_is_private_and_has_the_new_keys(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "vault.key", os.urandom)
    before, version = keys.load(), keys.version()
    umask = os.umask(0)
    try:
        keys.replace([FIRST, *before])
    finally:
        os.umask(umask)
    assert keys.load() == (FIRST, *before)
    assert keys.version() != version
    assert keys.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["vault.key"]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_replacement_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    keys = KeyFile(tmp_path / "vault.key", os.urandom)
    before = keys.load()

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(OSError, match="No space"):
            keys.replace([FIRST, *before])
    assert keys.load() == before
    assert [path.name for path in tmp_path.iterdir()] == ["vault.key"]


def test_the_new_file_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, steps = KeyFile(tmp_path / "vault.key", os.urandom), []
    keys.load()
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: steps.append(_name(handle)) or sync(handle))
    monkeypatch.setattr(Path, "replace", lambda self, to: steps.append("rename") or replace(self, to))
    keys.replace([FIRST])
    assert [steps[0].endswith(".new"), *steps[1:]] == [True, "rename", tmp_path.name]


def _name(handle: int) -> str:
    return Path(os.readlink(f"/proc/self/fd/{handle}")).name


@pytest.mark.parametrize("content", [*ONE_KEY, *SEVERAL_KEYS])
def test_the_output_of_a_command_is_read_like_a_file(content: bytes) -> None:
    keys = KeyCommand(print_command(content))
    assert keys.exist()
    assert keys.version() is None
    assert keys.load() == parse_keys(content, "here")


def test_a_command_runs_once(tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); print({FIRST.hex()!r})"
    keys = KeyCommand(write_command(script))
    assert keys.load() == keys.load() == (FIRST,)
    assert (tmp_path / "runs").read_text() == "x"


def test_a_command_runs_without_a_shell_and_without_input(tmp_path: Path) -> None:
    script = (
        f"import sys; print({FIRST.hex()!r} if sys.argv[1:] == ['$HOME', ';', 'a b'] and not sys.stdin.read() else 0)"
    )
    assert KeyCommand(f"{write_command(script)} '$HOME' ';' 'a b'").load() == (FIRST,)


@pytest.mark.parametrize("content", WRONG)
def test_wrong_output_of_a_command_is_refused_and_not_shown(content: bytes) -> None:
    message = fail_to_load(KeyCommand(print_command(content)))
    assert message.startswith("the output of the key command has no usable key")
    assert_not_shown(message.removeprefix("the output of the key command"), content)


def test_the_same_key_twice_in_the_output_is_refused() -> None:
    message = fail_to_load(KeyCommand(print_command(write_hex(FIRST, FIRST))))
    assert message == "the output of the key command has the same key twice"


@pytest.mark.parametrize("code", [1, 7, 255])
def test_a_command_that_fails_is_reported_with_its_exit_code_only(code: int) -> None:
    message = fail_to_load(KeyCommand(write_command(f"print({FIRST.hex()!r}); raise SystemExit({code})")))
    assert message == f"the key command failed with exit code {code}"


def test_a_command_that_was_killed_is_reported() -> None:
    message = fail_to_load(
        KeyCommand(write_command(f"import os; print({FIRST.hex()!r}, flush=True); os.kill(os.getpid(), 9)"))
    )
    assert message == "the key command failed with exit code -9"


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    message = fail_to_load(KeyCommand(f"{tmp_path / 'absent'} --decrypt"))
    assert message == f"the key command cannot be started: No such file or directory: {tmp_path / 'absent'}"


def test_a_program_that_may_not_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes(write_hex(FIRST))
    message = fail_to_load(KeyCommand(str(tmp_path / "keys.txt")))
    assert message == f"the key command cannot be started: Permission denied: {tmp_path / 'keys.txt'}"


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give commands little time; assert that the test does not wait for the command."""
    monkeypatch.setattr(master_keys, "_COMMAND_TIMEOUT_S", 0.5)
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < 15


@pytest.mark.usefixtures("short_limit")
def test_a_command_that_does_not_end_is_reported() -> None:
    script = f"import time; print({FIRST.hex()!r}, flush=True); time.sleep(30)"
    assert fail_to_load(KeyCommand(write_command(script))) == "the key command did not end within 0.5 seconds"


def test_a_command_that_failed_is_run_again(tmp_path: Path) -> None:
    script = (
        f"import os; path = {str(tmp_path / 'again')!r}; late = os.path.exists(path); open(path, 'w').close(); "
        f"print({FIRST.hex()!r} if late else '')"
    )
    keys = KeyCommand(write_command(script))
    fail_to_load(keys)
    assert keys.load() == (FIRST,)


def test_a_rotation_deletes_what_a_killed_one_left_behind(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "vault.key", os.urandom)
    keys.load()
    (tmp_path / "vault.key.0123456789abcdef.new").write_bytes(FIRST)
    (tmp_path / "vault.key.old").write_bytes(SECOND)  # a copy of the owner
    keys.replace([THIRD])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vault.key", "vault.key.old"]
    assert keys.load() == (THIRD,)
