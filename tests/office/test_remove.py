"""Cleanup after a conversion: an entry that cannot be removed does not stop the rest."""

import os
from pathlib import Path

import pytest

from docshare.server.store import blobs
from docshare.server.store.trees import remove_tree


def list_remaining_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a directory with files at several depths; some are named ``locked`` and ``mounted``."""
    top = tmp_path / "office-x"
    for folder in ("a", "b/c/d", "e/mounted/f", "g"):
        (top / folder).mkdir(parents=True)
        for name in ("first", "locked" if folder in ("a", "b/c/d") else "second", "third"):
            (top / folder / name).touch()
    return top


def test_an_entry_that_cannot_be_removed_does_not_prevent_removing_others(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def reject(name: str, **where: int) -> None:
        if name == "locked":
            raise PermissionError("not yours")
        unlink(name, **where)

    with monkeypatch.context() as patch:
        patch.setattr(blobs.os, "unlink", reject)
        assert not remove_tree(tree)
        assert list_remaining_files(tree) == ["locked", "locked"]
    assert remove_tree(tree)
    assert not tree.exists()


@pytest.mark.parametrize("number", ["EACCES", "ENOSPC"])
def test_a_directory_that_cannot_be_moved_is_emptied_in_place(
    tree: Path, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    def reject(*_: object, **__: object) -> None:
        raise OSError(getattr(blobs.errno, number), "no")

    monkeypatch.setattr(blobs.os, "rename", reject)
    assert remove_tree(tree)
    assert not tree.exists()


def test_a_mounted_directory_is_not_emptied(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename

    def reject(name: str, new: str, **where: int) -> None:
        if name == "mounted":
            raise OSError(blobs.errno.EBUSY, "mounted")
        rename(name, new, **where)

    monkeypatch.setattr(blobs.os, "rename", reject)
    assert not remove_tree(tree)
    assert list_remaining_files(tree) == ["first", "second", "third"]
