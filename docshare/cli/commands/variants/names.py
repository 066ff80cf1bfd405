"""The notations for a variant: UUID, short id, link, ``label:TEXT``, and ``-`` for ids on stdin.

The API knows a variant by its file and its UUID only, so a name is looked up in the list of the file or, where no file
was named, in the lists of all files, the newest first.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.contract.fields import is_short_id, is_uuid

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = dict[str, Any]

VARIANT_HELP = "UUID, short id, link or label:TEXT."
VARIANTS_HELP = "UUID, short id, link, label:TEXT, or - for ids on stdin."
OF_FILE_HELP = "The file it belongs to; without it all files are searched."

_LABEL_PREFIX = "label:"
_UNANNOUNCED_LISTS = 3  # files whose lists are looked through without a word


class FileVariant(NamedTuple):
    """A Variant object and the id of its ``file``."""

    file: str
    variant: Row

    @property
    def uuid(self) -> str:
        """Its UUID, as paths want it."""
        return str(self.variant["uuid"])

    @property
    def name(self) -> str:
        """What a person calls it: its label or, where it has none, its short id."""
        return str(self.variant.get("label") or short_id(self.variant))


def short_id(variant: Row) -> str:
    """The short id of a Variant, or the UUID where a server sends none."""
    return str(variant.get("shortId") or variant.get("uuid", ""))


class VariantResolver:
    """Turns what the user wrote into variants; asks for each list at most once. ``file``: where to look, None for
    everywhere."""

    def __init__(self, context: "Context", client: "Client", file: str | None) -> None:
        self._ctx = context
        self._client = client
        self._file = None if file is None else FileResolver(context, client).one(file)
        self._lists: dict[str, list[Row]] = {}
        self._warned = False

    def one(self, word: str) -> FileVariant:
        """The variant that ``word`` means. Stop (2) if it means nothing or several, Stop (3) if there is none."""
        if word.startswith(_LABEL_PREFIX):
            return self._labelled(word.removeprefix(_LABEL_PREFIX).strip())
        name = _parse_id(word)
        for found in self._all():
            if name in (found.variant.get("shortId"), found.variant.get("uuid")):
                return found
        raise Stop(ExitCode.NOT_FOUND, f"no variant {word}", hint="See: docshare variants list FILE")

    def many(self, words: Sequence[str]) -> list[FileVariant]:
        """The variants for several words, without doubles, in order; ``-`` stands for the ids on stdin."""
        found: dict[str, FileVariant] = {}
        for word in words:
            for name in self._stdin_ids() if word == "-" else [word]:
                one = self.one(name)
                found[one.uuid] = one
        if not found:
            raise Stop(ExitCode.USAGE, "no variant was named")
        return list(found.values())

    def _stdin_ids(self) -> Iterator[str]:
        return (line.split()[0] for line in self._ctx.stdin if line.strip())

    def _labelled(self, label: str) -> FileVariant:
        found = [each for each in self._all() if each.variant.get("label") == label]
        if not found:
            raise Stop(ExitCode.NOT_FOUND, f"no variant with the label {label!r}", hint="See: docshare variants list")
        if len(found) > 1:
            ids = ", ".join(f"{short_id(each.variant)} (file {each.file})" for each in found)
            raise Stop(ExitCode.USAGE, f"{len(found)} variants have the label {label!r}: {ids}", hint="Name one by id.")
        return found[0]

    def _all(self) -> Iterator[FileVariant]:
        for file in self._files:
            for variant in self._variants(file):
                yield FileVariant(file, variant)

    @cached_property
    def _files(self) -> list[str]:
        if self._file is not None:
            return [self._file]
        files = self._client.files.list()
        cache.remember_files(self._ctx, files)
        return [str(file["uuid"]) for file in files]

    def _variants(self, file: str) -> list[Row]:
        if file not in self._lists:
            if len(self._lists) == _UNANNOUNCED_LISTS and not self._warned:
                self._warned = True
                self._ctx.note(f"searching {len(self._files)} files, a request each; quicker with --file FILE")
            self._client.pace()
            self._lists[file] = self._client.variants.list(file)
        return self._lists[file]


def _parse_id(word: str) -> str:
    """The id that ``word`` is, or that its link holds; Stop (2) for anything else."""
    name = word
    if word.startswith(("http://", "https://")):
        try:
            name = unquote(urlsplit(word).path).rstrip("/").rpartition("/")[2]
        except ValueError:
            name = ""
    if is_uuid(name):
        return name.lower()
    if is_short_id(name):
        return name
    raise Stop(ExitCode.USAGE, f"{word!r} names no variant", hint=f"A variant is given as {VARIANT_HELP}")
