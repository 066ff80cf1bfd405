"""Expected scopes, credential types and routes, written by hand."""

import pytest

from docshare.contract.scopes import (
    CHALLENGE,
    CREDENTIAL_CHARS,
    LANES,
    OPERATIONS,
    SCOPES,
    Lane,
    held_scopes,
    scope_problem,
)

EXPECTED_SCOPES = {"files:read", "files:write", "readership:read", "webhooks:manage", "profile"}
DAY = 86_400_000

# name, method, path, scope, extension
ROUTES = """
discovery.get           GET    /api/v1                                             -                no
openapi.get             GET    /api/v1/openapi.json                                -                no
files.upload            POST   /api/v1/files                                       files:write      no
files.list              GET    /api/v1/files                                       files:read       no
files.import            POST   /api/v1/files/import                                files:write      no
files.claim             POST   /api/v1/files/claim                                 files:write      no
files.get               GET    /api/v1/files/{uuid}                                files:read       no
files.delete            DELETE /api/v1/files/{uuid}                                files:write      no
files.settings          PUT    /api/v1/files/{uuid}/settings                       files:write      no
files.download          GET    /api/v1/files/{uuid}/content                        files:read       no
files.replace           POST   /api/v1/files/{uuid}/content                        files:write      no
files.qr                GET    /api/v1/files/{uuid}/qr-code                        files:read       no
files.restore           POST   /api/v1/files/{uuid}/restore                        files:write      yes
assets.create           POST   /api/v1/files/{uuid}/assets                         files:write      no
account.get             GET    /api/v1/user                                        profile          no
keys.list               GET    /api/v1/keys                                        profile          yes
keys.create             POST   /api/v1/keys                                        profile          yes
keys.revoke             DELETE /api/v1/keys/{uuid}                                 profile          yes
design.import           POST   /api/v1/design-tool/import                          -                no
design.status           POST   /api/v1/design-tool/design/status                   -                no
variants.list           GET    /api/v1/files/{uuid}/variants                       files:read       no
variants.create         POST   /api/v1/files/{uuid}/variants                       files:write      no
variants.update         PUT    /api/v1/files/{uuid}/variants/{variantUuid}         files:write      no
variants.delete         DELETE /api/v1/files/{uuid}/variants/{variantUuid}         files:write      no
readership.report       GET    /api/v1/files/{uuid}/readership                     readership:read  no
readership.pages        GET    /api/v1/files/{uuid}/readership/pages               readership:read  no
readership.marks        GET    /api/v1/files/{uuid}/page-marks                     readership:read  no
readership.annotations  GET    /api/v1/files/{uuid}/annotations                    readership:read  no
readership.feedback     GET    /api/v1/files/{uuid}/feedback                       readership:read  yes
readership.sessions     GET    /api/v1/files/{uuid}/readership/sessions            readership:read  yes
readership.session      GET    /api/v1/files/{uuid}/readership/sessions/{sessionId} readership:read yes
invites.list            GET    /api/v1/files/{uuid}/invites                        readership:read  yes
invites.create          POST   /api/v1/files/{uuid}/invites                        files:write      yes
events.list             GET    /api/v1/events                                      readership:read  no
gate.list               GET    /api/v1/gate-responses                              readership:read  no
activity.list           GET    /api/v1/activity                                    readership:read  yes
webhooks.create         POST   /api/v1/webhooks                                    webhooks:manage  no
webhooks.list           GET    /api/v1/webhooks                                    webhooks:manage  no
webhooks.delete         DELETE /api/v1/webhooks/{uuid}                             webhooks:manage  no
webhooks.test           POST   /api/v1/webhooks/{uuid}/test                        webhooks:manage  no
webhooks.enable         POST   /api/v1/webhooks/{uuid}/enable                      webhooks:manage  yes
webhooks.deliveries     GET    /api/v1/webhooks/{uuid}/deliveries                  webhooks:manage  yes
webhooks.redeliver      POST   /api/v1/webhooks/{uuid}/deliveries/{id}/redeliver   webhooks:manage  yes
session.webhooks.create POST   /api/webhooks                                       webhooks:manage  no
session.webhooks.list   GET    /api/webhooks                                       webhooks:manage  no
session.webhooks.delete DELETE /api/webhooks/{uuid}                                webhooks:manage  no
session.webhooks.test   POST   /api/webhooks/{uuid}/test                           webhooks:manage  no
session.files.upload    POST   /api/account/files                                  files:write      yes
session.files.replace   POST   /api/account/files/{uuid}/content                   files:write      yes
session.assets.create   POST   /api/account/files/{uuid}/assets                    files:write      yes
public.qr               GET    /api/files/{uuid}/qr-code                           -                no
public.metadata         GET    /api/files/{uuid}/metadata                          -                no
public.upload           POST   /api/files                                          -                yes
oembed.get              GET    /oembed                                             -                no
oauth.authorize         GET    /oauth/authorize                                    -                no
oauth.token             POST   /oauth/token                                        -                no
oauth.revoke            POST   /oauth/revoke                                       -                no
oauth.device            POST   /oauth/device_authorization                         -                yes
oauth.server            GET    /.well-known/oauth-authorization-server             -                no
oauth.resource          GET    /.well-known/oauth-protected-resource               -                yes
"""

KEY_OR_TOKEN = {Lane.API_KEY, Lane.OAUTH}
OTHER_LANES = {
    "files.settings": KEY_OR_TOKEN | {Lane.MANAGE},
    "files.replace": KEY_OR_TOKEN | {Lane.MANAGE},
    "design.import": {Lane.DESIGN},
    "design.status": {Lane.DESIGN},
    "session.files.upload": {Lane.SESSION},
    "session.files.replace": {Lane.SESSION},
    "session.assets.create": {Lane.SESSION},
    "session.webhooks.create": KEY_OR_TOKEN | {Lane.SESSION},
    "session.webhooks.list": KEY_OR_TOKEN | {Lane.SESSION},
    "session.webhooks.delete": KEY_OR_TOKEN | {Lane.SESSION},
    "session.webhooks.test": KEY_OR_TOKEN | {Lane.SESSION},
}


def parse_routes() -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in ROUTES.strip().splitlines()}


def test_there_are_five_scopes_with_a_description_for_the_consent_page() -> None:
    assert set(SCOPES) == EXPECTED_SCOPES
    assert all(SCOPES.values())


@pytest.mark.parametrize("name", parse_routes())
def test_operation_has_the_expected_method_path_and_scope(name: str) -> None:
    row = OPERATIONS[name]
    shown = [row.method, row.path, row.scope or "-", "yes" if row.is_extension else "no"]
    assert shown == parse_routes()[name]


def test_every_operation_is_in_the_table() -> None:
    assert set(OPERATIONS) == set(parse_routes())


@pytest.mark.parametrize("name", parse_routes())
def test_operation_accepts_the_expected_credential_types(name: str) -> None:
    public = set() if parse_routes()[name][2] == "-" else KEY_OR_TOKEN
    assert OPERATIONS[name].lanes == OTHER_LANES.get(name, public)


@pytest.mark.parametrize(
    ("lane", "prefix", "bearer", "lifetime"),
    [
        (Lane.API_KEY, "ds_live_", True, None),
        (Lane.OAUTH, "ds_at_", True, 3_600_000),
        (Lane.REFRESH, "ds_rt_", False, 90 * DAY),
        (Lane.MANAGE, "ds_mt_", True, 30 * DAY),
        (Lane.CLAIM, "ds_ct_", False, 30 * DAY),
        (Lane.DESIGN, None, True, None),
        (Lane.SESSION, None, False, None),
    ],
)
def test_credential_type_has_the_expected_prefix_and_lifetime(
    lane: Lane, prefix: str | None, bearer: bool, lifetime: int | None
) -> None:
    row = LANES[lane]
    assert (row.prefix, row.bearer, row.lifetime_ms) == (prefix, bearer, lifetime)


def test_every_credential_type_is_listed_and_no_prefix_starts_another() -> None:
    assert set(LANES) == set(Lane)
    prefixes = [row.prefix for row in LANES.values() if row.prefix]
    assert not [(a, b) for a in prefixes for b in prefixes if a != b and b.startswith(a)]


def test_a_credential_has_at_least_128_random_bits() -> None:
    assert CREDENTIAL_CHARS >= 32
    assert 62**CREDENTIAL_CHARS > 2**128


def test_an_api_key_has_every_scope() -> None:
    assert held_scopes(Lane.API_KEY) == EXPECTED_SCOPES
    assert held_scopes(Lane.API_KEY, ["profile"]) == EXPECTED_SCOPES


def test_an_access_token_has_only_granted_scopes_that_exist() -> None:
    assert held_scopes(Lane.OAUTH, ["files:read", "profile", "moon:fly"]) == {"files:read", "profile"}
    assert held_scopes(Lane.OAUTH) == frozenset()


@pytest.mark.parametrize("lane", [Lane.REFRESH, Lane.MANAGE, Lane.CLAIM, Lane.DESIGN])
def test_other_credentials_have_no_scope(lane: Lane) -> None:
    assert held_scopes(lane, EXPECTED_SCOPES) == frozenset()


def test_a_missing_scope_is_named_in_the_detail_and_the_challenge() -> None:
    problem = scope_problem("files:write")
    assert (problem.code, problem.status) == ("insufficient_scope", 403)
    assert "files:write" in problem.detail
    assert problem.headers == {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="files:write"'}
    assert CHALLENGE == "Bearer"
