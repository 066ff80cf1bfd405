"""The service of ``docshare help systemd`` works under systemd, with every layer of its sandbox."""

from pathlib import Path

import pytest

from tests.torture.systemd_unit import boot_container, build_root, find_obstacle, run_service

OBSTACLE = find_obstacle()


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
def test_the_unit_serves_documents_and_confines_their_workers(tmp_path: Path) -> None:
    build_root(tmp_path / "root")
    with boot_container(tmp_path / "root", tmp_path / "log") as container:
        result = run_service(container)
    assert result.shared == {"a.pdf": [200, 200, "ffd8"], "a.docx": [200, 200, "ffd8"]}
    assert [result.findings[f"instance.{name}"]["ok"] for name in ("confinement", "converter")] == [True, True]
    assert " warning " not in result.journal
    assert " error " not in result.journal
    assert result.key not in result.journal
    assert result.end.split() == ["Result=success", "NRestarts=0", "ExecMainStatus=0"]
