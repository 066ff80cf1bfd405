"""Every error has one base class and a representation without secrets."""

import inspect

import pytest

import docshare
from docshare import Client, DocshareError, parse_event
from docshare.client import errors
from docshare.client.oauth import IssuedTokens
from docshare.client.options import Exchange
from docshare.contract.signing import sign
from tests.support.outside.fake_api import FakeApi, problem

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_has_the_base_class(kind: type[Exception]) -> None:
    assert issubclass(kind, DocshareError)


def test_the_codes_of_the_client_are_stable() -> None:
    assert {kind.__name__: kind.code for kind in CLASSES if issubclass(kind, errors.ClientError)} == {
        "ClientError": "error",
        "BadAddress": "bad_address",
        "BadSignature": "bad_signature",
        "MissingCredential": "missing_credential",
        "WaitTimedOut": "wait_timed_out",
        "LocalFileError": "local_file",
        "TransportError": "no_response",
        "NotConnected": "not_connected",
        "ConnectionLost": "connection_lost",
        "TimedOut": "timed_out",
        "Redirected": "redirected",
        "NotAnApi": "not_an_api",
        "UnknownOutcome": "unknown_outcome",
    }


def test_a_refusal_names_its_request(api: FakeApi, client: Client) -> None:
    answer = problem(404, "not_found", "no such file")
    answer.headers["X-Request-Id"] = "r-7"
    api.on("GET", "/user", answer)
    with pytest.raises(DocshareError) as caught:
        client.account.show()
    error = caught.value
    assert (error.status, error.code, error.request_id) == (404, "not_found", "r-7")
    assert repr(error) == "Refused(404, not_found, 'no such file', request_id='r-7')"


def test_an_error_without_a_response_has_no_status() -> None:
    error = errors.TimedOut("too slow", hint="Try again.")
    assert (error.status, error.request_id, error.hint) == (None, None, "Try again.")
    assert repr(error) == "TimedOut(timed_out, 'too slow')"


def test_no_representation_contains_a_secret(api: FakeApi) -> None:
    secret = "ds_live_" + "s" * 32
    seen: list[Exchange] = []
    api.on("GET", "/user", {"tier": "pro"})
    with Client(api.url, secret, on_exchange=seen.append) as client:
        client.account.show()
        nouns = [getattr(client, name) for name in dir(Client) if not name.startswith("_")]
        texts = [repr(client), *map(repr, nouns), repr(seen), repr(IssuedTokens(secret, secret, 60, "profile"))]
    assert secret in str(dict(seen[0].request_headers))
    assert not [text for text in texts if secret in text]


def test_an_event_is_returned_for_a_genuine_delivery_only() -> None:
    body = b'{"event":"webhook.test","timestamp":"2026-01-01T00:00:00.000Z","data":{"fileUuid":"u","fileName":"n"}}'
    now = round(Client("http://127.0.0.1:9").clock.wall() * 1000)
    event = parse_event("whsec_ab", body, sign("whsec_ab", body, now))
    assert event["event"] == "webhook.test"
    with pytest.raises(errors.BadSignature, match="not genuine"):
        docshare.parse_event("whsec_cd", body, sign("whsec_ab", body, now))
