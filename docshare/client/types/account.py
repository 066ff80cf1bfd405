"""The account, its API keys, and the server."""

from typing import Any, Literal, NotRequired, TypedDict

Tier = Literal["free", "basic", "pro"]


class AccountLimits(TypedDict):
    """The limits of an account; ``maxActiveFiles`` is absent without a limit."""

    maxActiveFiles: NotRequired[int]
    maxUploadBytes: int
    activeFiles: int


class Account(TypedDict):
    """The account of a credential."""

    uuid: str
    name: str
    email: str
    subscription: Tier
    tier: Tier
    isAdmin: bool
    created_at: str
    limits: AccountLimits


class ApiKey(TypedDict):
    """An API key without its secret."""

    uuid: str
    name: str
    tail: str
    scopes: NotRequired[list[str]]
    fileUuid: NotRequired[str]
    createdAt: str
    expiresAt: NotRequired[str]
    lastUsedAt: NotRequired[str]


class NewApiKey(ApiKey):
    """A new API key; ``key`` is returned only once."""

    key: str


class SpecificationLink(TypedDict):
    """The address and version of the API description."""

    url: str
    version: str


class AuthenticationLane(TypedDict):
    """One kind of credential."""

    name: str
    scheme: NotRequired[str]
    field: NotRequired[str]
    description: str
    prefix: NotRequired[str]
    scopes: list[str]
    operations: NotRequired[list[str]]


class OAuthMetadataLinks(TypedDict):
    """The addresses of the OAuth metadata."""

    authorizationServer: str
    protectedResource: str


class AuthenticationMethods(TypedDict):
    """The kinds of credentials and the OAuth metadata."""

    lanes: list[AuthenticationLane]
    oauth: OAuthMetadataLinks


class RateLimitPolicy(TypedDict):
    """The rate limit and its headers."""

    policy: str
    headers: list[str]


class ErrorFormat(TypedDict):
    """The media type of errors."""

    mediaType: str


class Discovery(TypedDict):
    """The discovery document of a server."""

    name: str
    version: str
    specification: SpecificationLink
    documentation: str
    authentication: AuthenticationMethods
    rateLimit: RateLimitPolicy
    errors: ErrorFormat
    versioning: dict[str, Any]
    endpoints: dict[str, str]
