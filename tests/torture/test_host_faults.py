"""The short form of ``host_faults``: each fault once, in one server."""

from tests.torture.host_faults import (
    FAULTS,
    FaultFigures,
    check_stopped_server,
    inject_fault,
    restart_on_full_disk,
    run_small_disk_server,
)


def test_faults_of_the_host_are_503_and_pass_without_a_restart() -> None:
    """No 500, no traceback, nothing half written, and the server recovers by itself."""
    figures = FaultFigures()
    with run_small_disk_server() as server:
        for fault in FAULTS:
            inject_fault(server, fault, 2, figures)
            assert 503 in figures.answers["settings"] or fault == "no descriptors", fault
        restart_on_full_disk(server, figures)
        check_stopped_server(server, figures)
    assert figures.wrong == []
    assert figures.answers["detail"].keys() == {200}
    assert figures.answers["upload"][503] > 0
