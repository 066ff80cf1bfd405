"""The short form of ``mutants``: the listed tests exist, and they detect two changes of the signature code."""

from tests.torture import mutants


def exists(test: str) -> bool:
    """Return whether ``test`` exists: a path, or one test of a file as ``path::name``."""
    path, _, name = test.partition("::")
    place = mutants.ROOT / path
    return place.exists() and (not name or f"def {name}(" in place.read_text(encoding="utf-8"))


def test_every_guard_and_its_tests_exist() -> None:
    for guard in mutants.MODULES.values():
        assert [path for path in (guard.path, *guard.tests) if not exists(path)] == []


def test_changes_of_the_signature_code_are_detected() -> None:
    result = mutants.run_mutants(mutants.MODULES["signing"], most=2)
    assert (result.total, result.survivors) == (2, [])
