"""The time limits of checks."""

import pytest


@pytest.fixture(autouse=True)
def patient_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let checks take as long as a busy machine needs; a test of a limit sets its own."""
    for module in ("checks", "instance", "public"):
        monkeypatch.setattr(f"docshare.cli.commands.doctor.{module}.TIMEOUT_S", 60.0)
