"""The short form of ``office_hostile``: every eleventh document, and a small corpus."""

import random
from dataclasses import replace
from pathlib import Path
from xml.dom import minidom

from tests.support.documents import office
from tests.support.people.cast import World
from tests.torture import office_hostile
from tests.torture.document_variety import FlatOpenDocument, MarkupAuthor, PackageAuthor
from tests.torture.office_corpus import LEGACY_NAMES, list_directory


def test_hostile_documents_cause_no_problem(world: World, tmp_path: Path) -> None:
    figures = office_hostile.check_documents(world, tmp_path, every=11)
    assert figures.problems == []
    assert figures.documents >= 10
    assert len(figures.conversions_s) > 1


def test_documents_of_a_directory_are_uploaded_by_their_content(world: World, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "below").mkdir(parents=True)
    package = PackageAuthor(random.Random(1)).write_pptx()
    for name, data in {
        "slides.pptx": package,
        "below/the-same.pptx": package,
        "below/old.DOC": office.make_ole_container("WordDocument"),
        "old.docx": office.make_ole_container("1Table", "WordDocument"),
        "locked.docx": office.make_ole_container("EncryptedPackage", "WordDocument"),
        "text.doc": b"hello",
        "notes.txt": b"hello",
    }.items():
        (corpus / name).write_bytes(data)
    found = list_directory(corpus)
    assert sorted((each.kind, len(each.file_names)) for each in found) == [
        ("legacy", len(LEGACY_NAMES)), ("legacy", len(LEGACY_NAMES)), ("locked", 1), ("modern", 1), ("other", 1),
    ]  # fmt: skip
    assert [each.name for each in list_directory(corpus)] == [each.name for each in found]
    figures = office_hostile.check_documents(world, tmp_path, every=1000, corpus=found)
    assert figures.problems == []
    assert figures.answers["modern", 200] == 1


def test_an_unexpected_response_is_a_problem(world: World, tmp_path: Path) -> None:
    (tmp_path / "letter.docx").write_bytes(b"PK\x03\x04 word/")
    found = [replace(each, kind="made") for each in list_directory(tmp_path)]
    (problem,) = office_hostile.check_documents(world, tmp_path, every=1000, corpus=found).problems
    assert problem.startswith("made, letter.docx as x.docx: 422")


def test_a_seed_determines_the_sources_of_the_corpus() -> None:
    def write(seed: int) -> list[str]:
        chance = random.Random(seed)
        flat, markup = FlatOpenDocument(chance), MarkupAuthor(chance)
        sources = [flat.write_text(), flat.write_slides(), markup.write_html(), markup.write_rtf()]
        for source in sources[:2]:
            minidom.parseString(source)
        return sources

    assert write(1) == write(1)
    assert not set(write(1)) & set(write(2))


def test_slow_conversions_and_bombs_are_problems() -> None:
    figures = office_hostile.OfficeFigures(conversions_s=[1.0] * 90 + [7.0] * 10, slowest_bomb_s=2.0)
    assert office_hostile.find_slow(figures) == [
        "a bomb was not rejected within a second",
        "the p95 of conversions is 7.00 s",
    ]
    assert office_hostile.find_slow(office_hostile.OfficeFigures(conversions_s=[1.0] * 99 + [7.0])) == []
