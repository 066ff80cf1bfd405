"""Secrets that must be read again: encrypted, and worth nothing without the key file."""

import threading
from pathlib import Path

import pytest

from docshare.server.runtime import random_bytes
from docshare.server.store.vault import Vault

TEXT = "whsec_" + "0123456789abcdef" * 4


def test_what_was_sealed_is_read_by_a_later_process(tmp_path: Path) -> None:
    sealed = Vault(tmp_path / "vault.key", random_bytes).seal(TEXT, "one")
    assert Vault(tmp_path / "vault.key", random_bytes).open(sealed, "one") == TEXT


def test_nothing_of_the_text_stands_in_what_is_stored(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    sealed = vault.seal(TEXT, "one")
    assert b"whsec" not in sealed
    assert b"0123" not in sealed
    assert vault.seal(TEXT, "one") != sealed


def test_it_opens_for_nothing_else(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    with pytest.raises(ValueError, match=r"vault\.key"):
        vault.open(vault.seal(TEXT, "one"), "two")


@pytest.mark.parametrize("at", [0, 11, 12, -1])
def test_a_changed_byte_is_noticed(tmp_path: Path, at: int) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    sealed = bytearray(vault.seal(TEXT, "one"))
    sealed[at] ^= 1
    with pytest.raises(ValueError, match=r"vault\.key"):
        vault.open(bytes(sealed), "one")


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    sealed = Vault(tmp_path / "a.key", random_bytes).seal(TEXT, "one")
    with pytest.raises(ValueError, match=r"b\.key"):
        Vault(tmp_path / "b.key", random_bytes).open(sealed, "one")


def test_the_key_is_for_its_owner_alone_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    Vault(tmp_path / "vault.key", random_bytes).seal(TEXT, "one")
    (key,) = tmp_path.iterdir()
    assert key.name == "vault.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_two_that_start_at_once_share_one_key(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    start, sealed = threading.Barrier(8), []

    def seal() -> None:
        vault = Vault(path, random_bytes)
        start.wait()
        sealed.append(vault.seal(TEXT, "one"))

    threads = [threading.Thread(target=seal) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Vault(path, random_bytes).open(each, "one") for each in sealed] == [TEXT] * 8
