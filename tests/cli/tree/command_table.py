"""Every command, listed by hand: its effect, and a command line that runs.

Names in braces are resources of the instance (``instance.py``), which creates each one when a command line needs it.
"""

from __future__ import annotations

from typing import NamedTuple

# Kinds of commands:
#   change   sends a change to the server         write    changes a file of the user on this machine
#   read     reads from the server                offline  neither; may write the requested output file
#   order    lets an operator change an instance  inspect  lets an operator inspect one
#   run      runs until it is stopped, then cleans up
#   other    reads many resources at once, and has tests of its own
KINDS = ("change", "read", "write", "offline", "order", "inspect", "run", "other")


class CommandCase(NamedTuple):
    """``line``: the command line without ``docshare``. ``operations``: the API operations that a successful run calls,
    in this order; ``code``: the exit code of that run."""

    kind: str
    line: str
    operations: str = ""
    code: int = 0

    @property
    def list_operations(self) -> list[str]:
        """Return the names of the operations."""
        return self.operations.split()


COMMANDS: dict[str, CommandCase] = {
    "upload": CommandCase("change", "upload {deck}", "files.upload"),
    "import": CommandCase("change", "import {source}", "files.import"),
    "files download": CommandCase("read", "files download {file} -o {out}", "files.download"),
    "files replace": CommandCase("change", "files replace {own} {deck} --yes", "files.replace"),
    "files list": CommandCase("read", "files list", "files.list"),
    "files show": CommandCase("read", "files show {file}", "files.get"),
    "files delete": CommandCase("change", "files delete {own} --yes", "files.delete"),
    "files restore": CommandCase("change", "files restore {trashed}", "files.restore"),
    "files wait": CommandCase("read", "files wait {file} --views 1 --timeout 1s", "files.get"),
    "settings get": CommandCase("read", "settings get {file}", "files.get"),
    "settings set": CommandCase("change", "settings set {own} viewLimit=3", "files.settings files.get"),
    "settings clear": CommandCase("change", "settings clear {own} viewLimit", "files.settings files.get"),
    "settings schema": CommandCase("offline", "settings schema viewLimit"),
    "settings export": CommandCase("read", "settings export {file}", "files.get"),
    "settings apply": CommandCase("change", "settings apply {own} -f {settings}", "files.settings files.get"),
    "settings copy": CommandCase(
        "change", "settings copy {file} {own}", "files.get files.get files.settings files.get"
    ),
    "ls": CommandCase("read", "ls", "files.list"),
    "show": CommandCase("read", "show {file}", "files.get"),
    "rm": CommandCase("change", "rm {own} --yes", "files.delete"),
    "download": CommandCase("read", "download {file} -o {out}", "files.download"),
    "replace": CommandCase("change", "replace {own} {deck} --yes", "files.replace"),
    "claim": CommandCase("change", "claim --token-file {claim}", "files.claim"),
    "variants create": CommandCase("change", "variants create {own} --label Bob", "variants.list variants.create"),
    "variants list": CommandCase("read", "variants list {file}", "variants.list"),
    "variants show": CommandCase("read", "variants show {variant} --file {file}", "variants.list"),
    "variants update": CommandCase(
        "change", "variants update {variant} --file {file} --label Ann", "variants.list variants.update"
    ),
    "variants revoke": CommandCase(
        "change", "variants revoke {guest} --file {file} --yes", "variants.list variants.update"
    ),
    "variants restore": CommandCase(
        "change", "variants restore {guest} --file {file}", "variants.list variants.update"
    ),
    "variants delete": CommandCase(
        "change", "variants delete {guest} --file {file} --yes", "variants.list variants.delete"
    ),
    "variants redact": CommandCase(
        "change", "variants redact {guest} --file {file} --yes", "variants.list variants.delete"
    ),
    "variants export": CommandCase("read", "variants export {file} --out {out}", "variants.list readership.report"),
    "invites list": CommandCase("read", "invites list {file}", "invites.list"),
    "invites create": CommandCase("change", "invites create {own} eve@example.com --no-mail", "invites.create"),
    "assets add": CommandCase("change", "assets add {own} {logo} --kind logo", "assets.create"),
    "design import": CommandCase(
        "change", "design import {source} --jwt-file {jwt} --design-token-file {design}", "design.import"
    ),
    "design status": CommandCase(
        "read", "design status --jwt-file {jwt} --design-token-file {published}", "design.status"
    ),
    "qr": CommandCase("read", "qr {file} -o {out}", "files.qr"),
    "push": CommandCase("change", "push {deck} --slug {slug}", "files.list account.get files.upload files.settings"),
    "apply": CommandCase(
        "change", "apply {sharing} --yes", "account.get files.list files.upload files.get files.settings files.get"
    ),
    "lint": CommandCase("other", "lint {deck}"),
    "public upload": CommandCase("change", "public upload {deck}", "public.upload"),
    "public metadata": CommandCase("read", "public metadata {link}", "public.metadata"),
    "public oembed": CommandCase("read", "public oembed {link}", "oembed.get"),
    "public qr": CommandCase("read", "public qr {link} -o {out}", "public.qr"),
    "open": CommandCase("read", "open {file}", "files.get"),
    "events list": CommandCase("read", "events list", "events.list"),
    "events tail": CommandCase("read", "events tail --once --from start", "events.list events.list"),
    "events cursor list": CommandCase("offline", "events cursor list"),
    "events cursor show": CommandCase("offline", "events cursor show {cursor}"),
    "events cursor set": CommandCase("write", "events cursor set {cursor} 5"),
    "events cursor reset": CommandCase("write", "events cursor reset {cursor}"),
    "gate list": CommandCase("read", "gate list", "gate.list"),
    "gate tail": CommandCase("read", "gate tail --once --from start", "gate.list gate.list"),
    "readership show": CommandCase("read", "readership show {file}", "readership.report"),
    "readership pages": CommandCase("read", "readership pages {file}", "readership.pages"),
    "readership sessions": CommandCase("read", "readership sessions {file}", "readership.sessions readership.sessions"),
    "readership marks": CommandCase("read", "readership marks {file}", "readership.marks"),
    "readership annotations": CommandCase("read", "readership annotations {file}", "readership.annotations"),
    "readership notes": CommandCase("read", "readership notes {file}", "readership.feedback"),
    "readership export": CommandCase(
        "read",
        "readership export {file} -o {out}",
        "readership.report readership.pages readership.sessions readership.sessions readership.feedback "
        "readership.marks readership.annotations variants.list",
    ),
    "readership report": CommandCase(
        "read",
        "readership report {file} -o {out}",
        "readership.report readership.pages readership.marks readership.annotations readership.feedback files.download",
    ),
    "pending": CommandCase(
        "read",
        "pending {file}",
        "files.get variants.list invites.list readership.sessions readership.sessions",
        code=13,
    ),
    "wait": CommandCase("read", "wait {file} --timeout 1s", "readership.sessions files.get"),
    "explain": CommandCase("read", "explain {visit} --file {file}", "readership.session"),
    "webhooks create": CommandCase("change", "webhooks create {hook} --all", "webhooks.create"),
    "webhooks list": CommandCase("read", "webhooks list", "webhooks.list"),
    "webhooks show": CommandCase("read", "webhooks show {webhook}", "webhooks.list"),
    "webhooks delete": CommandCase("change", "webhooks delete {spare} --yes", "webhooks.list webhooks.delete"),
    "webhooks enable": CommandCase("change", "webhooks enable {webhook}", "webhooks.list webhooks.enable"),
    "webhooks test": CommandCase("change", "webhooks test {webhook}", "webhooks.test"),
    "webhooks deliveries": CommandCase("read", "webhooks deliveries {webhook}", "webhooks.deliveries"),
    "webhooks redeliver": CommandCase("change", "webhooks redeliver {webhook} {delivery}", "webhooks.redeliver"),
    "webhooks prune": CommandCase("change", "webhooks prune --url-prefix {old} --yes", "webhooks.list webhooks.delete"),
    "webhooks listen": CommandCase("run", "webhooks listen"),
    "webhooks verify": CommandCase(
        "offline", "webhooks verify {body} --secret-file {secret} --signature {signature} --at 1790000000"
    ),
    "webhooks sign": CommandCase("offline", "webhooks sign {body} --secret-file {secret}"),
    "webhooks kinds": CommandCase("offline", "webhooks kinds"),
    "webhooks sample": CommandCase("offline", "webhooks sample file.viewed"),
    "webhooks replay": CommandCase("change", "webhooks replay {saved} --to {hook} --secret-file {secret}"),
    "whoami": CommandCase("read", "whoami", "account.get"),
    "serve": CommandCase("run", "serve --port 0"),
    "dashboard": CommandCase("order", "dashboard --print"),
    "trigger": CommandCase("order", "trigger file.viewed --file {file}"),
    "admin invite": CommandCase("order", "admin invite {file} ann@example.com"),
    "admin freeze": CommandCase("order", "admin freeze {file}"),
    "admin unfreeze": CommandCase("order", "admin unfreeze {file}"),
    "admin login-link": CommandCase("order", "admin login-link pia@example.com"),
    "admin sweep": CommandCase("order", "admin sweep"),
    "admin vault status": CommandCase("inspect", "admin vault status"),
    "admin vault rotate": CommandCase("order", "admin vault rotate"),
    "admin vault export": CommandCase("inspect", "admin vault export"),
    "admin backup": CommandCase("order", "admin backup {out}"),
    "admin restore": CommandCase("order", "admin restore {out}"),
    "admin check": CommandCase("order", "admin check --repair"),
    "admin move": CommandCase("order", "admin move --to-data {out}"),
    "admin account create": CommandCase("order", "admin account create ada@example.com --tier basic"),
    "admin account list": CommandCase("inspect", "admin account list"),
    "admin account usage": CommandCase("inspect", "admin account usage"),
    "admin account set-email": CommandCase("order", "admin account set-email pia@example.com new@example.com"),
    "admin account rename": CommandCase("order", "admin account rename pia@example.com Pia"),
    "admin account disable": CommandCase("order", "admin account disable pia@example.com"),
    "admin account enable": CommandCase("order", "admin account enable pia@example.com"),
    "admin account set-tier": CommandCase("order", "admin account set-tier pia@example.com free"),
    "admin account delete": CommandCase("order", "admin account delete pia@example.com"),
    "admin key create": CommandCase("order", "admin key create pia@example.com --name ci"),
    "admin key list": CommandCase("inspect", "admin key list pia@example.com"),
    "admin key revoke": CommandCase("order", "admin key revoke 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10"),
    "admin trash list": CommandCase("inspect", "admin trash list pia@example.com"),
    "admin trash restore": CommandCase("order", "admin trash restore {file}"),
    "admin trash purge": CommandCase("order", "admin trash purge {file}"),
    "admin outbox list": CommandCase("inspect", "admin outbox list"),
    "admin outbox show": CommandCase("inspect", "admin outbox show {mail}"),
    "admin hotspot add": CommandCase(
        "order", "admin hotspot add {file} --page 1 --rect 0,0,1,1 --link https://example.com"
    ),
    "admin hotspot list": CommandCase("inspect", "admin hotspot list {file}"),
    "admin hotspot remove": CommandCase("order", "admin hotspot remove 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10"),
    "admin deliveries list": CommandCase("inspect", "admin deliveries list"),
    "admin deliveries show": CommandCase("inspect", "admin deliveries show {delivery}"),
    "admin deliveries retry": CommandCase("order", "admin deliveries retry {delivery}"),
    "admin client create": CommandCase(
        "order", "admin client create Sales --redirect-uri https://sales.example.com/back"
    ),
    "admin client list": CommandCase("inspect", "admin client list"),
    "admin client remove": CommandCase("order", "admin client remove hV3kR9sQ2tWz7YbN4mXc"),
    "auth login": CommandCase("write", "auth login --with-token --profile mine"),
    "auth status": CommandCase("read", "auth status", "account.get"),
    "auth keys create": CommandCase("change", "auth keys create --scope files:read --name ci", "keys.create"),
    "auth keys list": CommandCase("read", "auth keys list", "keys.list"),
    "auth keys revoke": CommandCase("change", "auth keys revoke {key} --yes", "keys.list keys.revoke"),
    "auth token": CommandCase("offline", "auth token"),
    "auth refresh": CommandCase("write", "auth refresh --profile granted"),
    "auth logout": CommandCase("write", "auth logout --profile granted"),
    "config list": CommandCase("offline", "config list --origin"),
    "config get": CommandCase("offline", "config get url"),
    "config set": CommandCase("write", "config set format json"),
    "config unset": CommandCase("write", "config unset url"),
    "config path": CommandCase("offline", "config path"),
    "config edit": CommandCase("write", "config edit"),
    "doctor": CommandCase("other", "doctor"),
    "discover": CommandCase("read", "discover", "discovery.get"),
    "api": CommandCase("change", "api PUT /files/{own}/settings -F viewLimit=3", "files.settings"),
    "profile list": CommandCase("offline", "profile list"),
    "profile current": CommandCase("offline", "profile current --profile work"),
    "profile use": CommandCase("write", "profile use granted"),
    "profile add": CommandCase("write", "profile add fresh --url https://docs.example --with-token"),
    "profile remove": CommandCase("write", "profile remove work"),
    "completion": CommandCase("offline", "completion bash"),
    "help": CommandCase("offline", "help exit-codes"),
}

# Operations without a command of their own, and those that a command calls only with an option.
OTHER_LINES: dict[str, str] = {
    "activity.list": "events list --type activity",
    "openapi.get": "api GET /openapi.json",
    "session.files.upload": "api POST /api/account/files {session} --form file=@{deck}",
    "session.files.replace": "api POST /api/account/files/{own}/content {session} --form file=@{deck}",
    "session.assets.create": "api POST /api/account/files/{own}/assets {session} --form file=@{logo} --form kind=logo",
    "session.webhooks.list": "api GET /api/webhooks {session}",
    "session.webhooks.create": """api POST /api/webhooks {session} -f url={hook} -F 'events:=["file.viewed"]'""",
    "session.webhooks.delete": "api DELETE /api/webhooks/{spare} {session}",
    "session.webhooks.test": "api POST /api/webhooks/{webhook}/test {session}",
}
