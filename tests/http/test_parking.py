"""Requests that wait without a thread: when they run again, and what becomes of their claims."""

from pathlib import Path
from typing import Any

import pytest

from docshare.server.http import parking
from docshare.server.http.parking import ParkableRequest, RequestParked
from tests.http.harness import ListenerHarness, RawConnection, build_request, wait_until


class RecordedClaim:
    """A claim that counts how often it was ended."""

    def __init__(self) -> None:
        self.ended = 0

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def runs() -> list[ParkableRequest]:
    """Return the list of the restarts of ``request_``."""
    return []


@pytest.fixture
def request_(runs: list[ParkableRequest]) -> ParkableRequest:
    made = ParkableRequest(lambda: runs.append(made), lambda: None)
    return made


def park(request: ParkableRequest, claim: RecordedClaim) -> None:
    with request.run():
        request.claim = claim
        raise RequestParked


def test_a_parked_request_runs_again_once_when_it_is_resumed(
    request_: ParkableRequest, runs: list[ParkableRequest]
) -> None:
    claim = RecordedClaim()
    park(request_, claim)
    assert (runs, claim.ended) == ([], 0)
    request_.resume()
    assert (runs, claim.ended) == ([request_], 0)


def test_a_request_that_is_resumed_before_it_is_parked_runs_again_at_once(
    request_: ParkableRequest, runs: list[ParkableRequest]
) -> None:
    with request_.run():
        request_.resume()
        assert runs == []
        raise RequestParked
    assert runs == [request_]
    park(request_, RecordedClaim())
    assert runs == [request_]


def test_the_claim_ends_with_the_response(request_: ParkableRequest) -> None:
    claim = RecordedClaim()
    park(request_, claim)
    with request_.run():
        assert parking.has_waited()
    assert claim.ended == 1


def test_the_claim_ends_with_a_failure(request_: ParkableRequest) -> None:
    claim = RecordedClaim()
    park(request_, claim)
    with pytest.raises(OSError, match="broken"), request_.run():
        raise OSError("broken")
    assert claim.ended == 1


def test_only_a_request_that_runs_can_wait(request_: ParkableRequest) -> None:
    with request_.run():
        assert parking.current_request() is request_
        assert not parking.has_waited()
    assert parking.current_request() is None
    assert not parking.has_waited()


class WaitingHarness(ListenerHarness):
    """A listener whose requests to ``/wait`` wait without a thread; ``parked`` has them in order."""

    def __init__(self, root: Path) -> None:
        self.parked: list[ParkableRequest] = []
        super().__init__(root, threads=1)

    def application(self, environ: dict[str, Any], start_response: Any) -> Any:
        request = parking.current_request()
        if environ["PATH_INFO"] == "/wait" and request is not None and not parking.has_waited():
            request.claim = PassingClaim(self.parked)
            self.parked.append(request)
            raise RequestParked
        return super().application(environ, start_response)


class PassingClaim:
    """A claim that passes to the last of ``requests`` when it ends."""

    def __init__(self, requests: list[ParkableRequest]) -> None:
        self._requests = requests

    def end(self) -> None:
        self._requests[-1].resume()


def test_a_server_stops_although_a_queued_request_passes_its_claim_on(tmp_path: Path) -> None:
    """Without a free thread, it is canceled in the queue, and the next one is queued by that."""
    rig = WaitingHarness(tmp_path)
    with RawConnection(rig.port) as one, RawConnection(rig.port) as two, RawConnection(rig.port) as slow:
        for number, wire in enumerate((one, two), start=1):
            wire.send(build_request("GET", "/wait"))
            assert wait_until(lambda: len(rig.parked) == number)  # noqa: B023 - called in this iteration only
        slow.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        rig.parked[0].resume()
        rig.server.stop(0)
        rig.thread.join(10)
        stopped = not rig.thread.is_alive()
        rig.gate.set()
    assert stopped
