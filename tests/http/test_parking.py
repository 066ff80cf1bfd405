"""Requests that wait without a thread: when they run again, and what becomes of their claims."""

import pytest

from docshare.server.http import parking
from docshare.server.http.parking import ParkableRequest, RequestParked


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
    made = ParkableRequest(lambda: runs.append(made))
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
