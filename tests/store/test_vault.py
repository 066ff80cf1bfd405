"""The vault encrypts secrets; they cannot be decrypted without the key file."""

import threading
from pathlib import Path

import pytest

from docshare.server.runtime import random_bytes
from docshare.server.store.vault import Vault

SECRET = "whsec_" + "0123456789abcdef" * 4


def test_a_sealed_secret_can_be_opened_by_a_later_process(tmp_path: Path) -> None:
    sealed = Vault(tmp_path / "vault.key", random_bytes).seal(SECRET, "one")
    assert Vault(tmp_path / "vault.key", random_bytes).open(sealed, "one") == SECRET


def test_a_sealed_secret_does_not_contain_the_text(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    sealed = vault.seal(SECRET, "one")
    assert b"whsec" not in sealed
    assert b"0123" not in sealed
    assert vault.seal(SECRET, "one") != sealed


def test_a_sealed_secret_cannot_be_opened_for_another_name(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    with pytest.raises(ValueError, match=r"vault\.key"):
        vault.open(vault.seal(SECRET, "one"), "two")


@pytest.mark.parametrize("at", [0, 11, 12, -1])
def test_a_changed_byte_is_detected(tmp_path: Path, at: int) -> None:
    vault = Vault(tmp_path / "vault.key", random_bytes)
    sealed = bytearray(vault.seal(SECRET, "one"))
    sealed[at] ^= 1
    with pytest.raises(ValueError, match=r"vault\.key"):
        vault.open(bytes(sealed), "one")


def test_a_sealed_secret_cannot_be_opened_with_another_key(tmp_path: Path) -> None:
    sealed = Vault(tmp_path / "a.key", random_bytes).seal(SECRET, "one")
    with pytest.raises(ValueError, match=r"b\.key"):
        Vault(tmp_path / "b.key", random_bytes).open(sealed, "one")


def test_the_key_file_is_private_and_no_temporary_file_remains(tmp_path: Path) -> None:
    Vault(tmp_path / "vault.key", random_bytes).seal(SECRET, "one")
    (key,) = tmp_path.iterdir()
    assert key.name == "vault.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_vaults_that_start_concurrently_share_one_key(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    start, sealed = threading.Barrier(8), []

    def seal() -> None:
        vault = Vault(path, random_bytes)
        start.wait()
        sealed.append(vault.seal(SECRET, "one"))

    threads = [threading.Thread(target=seal) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Vault(path, random_bytes).open(each, "one") for each in sealed] == [SECRET] * 8
