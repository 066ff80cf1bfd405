"""The scopes that each command needs, for help, man pages and hints; a test runs each command with only these.

Nothing is imported for it, so that help stays fast.
"""

from collections.abc import Sequence
from typing import NamedTuple

_READ, _WRITE = "files:read", "files:write"
_READERSHIP, _WEBHOOKS, _PROFILE = "readership:read", "webhooks:manage", "profile"


class Scopes(NamedTuple):
    """``needed``: without one of them the command exits with 5; ``useful``: used if present; ``is_personal``: the
    command needs a personal API key, whatever scopes another credential has."""

    needed: tuple[str, ...]
    useful: tuple[str, ...] = ()
    is_personal: bool = False

    def __str__(self) -> str:
        if self.is_personal:
            return "Needs a personal API key."
        more = f" Also uses {' and '.join(self.useful)} if granted." if self.useful else ""
        return f"Scopes: {', '.join(self.needed)}.{more}" if self.needed else f"Scopes: none.{more}"


_READS, _WRITES, _BOTH = Scopes((_READ,)), Scopes((_WRITE,)), Scopes((_READ, _WRITE))
_CHECKED = Scopes((_WRITE,), (_READ,))
_PERSONAL = Scopes((), (_PROFILE, _READ), is_personal=True)
_REPORTS, _HOOKS = Scopes((_READERSHIP,)), Scopes((_WEBHOOKS,))

BY_COMMAND: dict[str, Scopes] = {
    "upload": Scopes((_WRITE,), (_READ, _PROFILE)),
    "import": Scopes((_WRITE,), (_READ, _PROFILE)),
    "files list": _READS,
    "files show": _READS,
    "files download": _READS,
    "files replace": Scopes((_WRITE,), (_READ,)),
    "files delete": Scopes((_WRITE,), (_READ, _PROFILE)),
    "files restore": _WRITES,
    "files wait": _READS,
    "settings get": _READS,
    "settings set": _CHECKED,
    "settings clear": _CHECKED,
    "settings export": _READS,
    "settings apply": _CHECKED,
    "settings copy": _BOTH,
    "claim": Scopes((_WRITE,), (_PROFILE,)),
    "variants create": _CHECKED,
    "variants list": _READS,
    "variants show": _READS,
    "variants update": _BOTH,
    "variants revoke": _BOTH,
    "variants restore": _BOTH,
    "variants delete": _BOTH,
    "variants redact": _BOTH,
    "variants export": Scopes((_READ,), (_READERSHIP,)),
    "invites list": _REPORTS,
    "invites create": _WRITES,
    "assets add": _CHECKED,
    "qr": _READS,
    "push": Scopes((_READ, _WRITE), (_PROFILE,)),
    "apply": Scopes((_READ, _WRITE), (_PROFILE, _WEBHOOKS)),
    "open": _READS,
    "events list": Scopes((_READERSHIP,), (_READ,)),
    "events tail": Scopes((_READERSHIP,), (_READ, _PROFILE)),
    "gate list": Scopes((_READERSHIP,), (_READ,)),
    "gate tail": Scopes((_READERSHIP,), (_READ, _PROFILE)),
    "readership show": _REPORTS,
    "readership pages": _REPORTS,
    "readership sessions": _REPORTS,
    "readership marks": _REPORTS,
    "readership annotations": _REPORTS,
    "readership notes": _REPORTS,
    "readership export": Scopes((_READERSHIP,), (_READ,)),
    "readership report": Scopes((_READERSHIP,), (_READ,)),
    "pending": Scopes((_READ, _READERSHIP)),
    "wait": Scopes((_READ, _READERSHIP)),
    "explain": Scopes((_READERSHIP,), (_READ,)),
    "webhooks create": _HOOKS,
    "webhooks list": _HOOKS,
    "webhooks show": _HOOKS,
    "webhooks delete": _HOOKS,
    "webhooks enable": _HOOKS,
    "webhooks test": _HOOKS,
    "webhooks deliveries": _HOOKS,
    "webhooks redeliver": _HOOKS,
    "webhooks prune": _HOOKS,
    "webhooks listen": Scopes((), (_WEBHOOKS, _READERSHIP)),
    "whoami": Scopes((_PROFILE,)),
    "auth keys list": _PERSONAL,
    "auth keys create": _PERSONAL,
    "auth keys revoke": _PERSONAL,
    "auth status": Scopes((), (_PROFILE,)),
}
_ALIASES = {
    "ls": "files list",
    "show": "files show",
    "rm": "files delete",
    "download": "files download",
    "replace": "files replace",
}


def find_scopes(words: Sequence[str]) -> Scopes | None:
    """Return the scopes of the command that ``words`` begin with, or None if it needs no specific credential."""
    one, two, three = words[:1], words[:2], words[:3]
    name = _ALIASES.get(" ".join(one), "")
    found = (BY_COMMAND.get(each) for each in (name, " ".join(three), " ".join(two), " ".join(one)))
    return next((scopes for scopes in found if scopes), None)
