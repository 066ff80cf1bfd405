"""Record the answers of a version of docshare to the tour: ``python -m tests.tour.record TREE OUT.json``.

``TREE`` is a checkout of the version. Its server runs on a free port with an empty data directory; its commands talk to
that server. ``compare`` shows the differences between two recordings.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cli.tree.command_table import COMMANDS
from tests.support.outside.import_source import http_response, make_certificate, open_source
from tests.support.outside.jwts import AUDIENCE, ISSUER, TokenMaker
from tests.support.outside.mail_server import FakeMailServer
from tests.support.outside.oauth_app import VERIFIER, make_challenge
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver, open_receiver
from tests.support.servers.server_process import make_env, run_docshare, start_server
from tests.tour.normalize import Normalizer, collect_short_ids
from tests.tour.walk import SAMPLES, Tour

SCRIPTS = ("api", "pages", "commands", "edges", "denials")
_PEOPLE = {"pia": "pro", "mal": "pro", "bea": "basic", "fay": "free"}


def record_tour(tree: Path, folder: Path) -> dict[str, Any]:
    """Walk all scripts with the version in ``tree``, with its data below ``folder``; return what was recorded."""
    with ExitStack() as stack:
        cert = make_certificate(folder, "127.0.0.1")
        source, keys = (stack.enter_context(open_source(cert)) for _ in range(2))
        mail = stack.enter_context(FakeMailServer())
        receiver = stack.enter_context(open_receiver())
        maker = TokenMaker(int(time.time()))
        source.respond = http_response(SAMPLES["deck"][1])
        keys.respond = http_response(maker.build_jwks())
        env = make_env(
            folder,
            PYTHONPATH=str(tree),
            PYTHONSAFEPATH="1",  # not the version in the working directory
            COLUMNS="100",
            EDITOR="true",
            DOCSHARE_RATE_LIMIT="1000000",
            DOCSHARE_ADDRESS_LIMIT="1000000",
            DOCSHARE_ANONYMOUS_UPLOADS="on",
            DOCSHARE_WEBHOOK_ALLOW=",".join(LOOPBACK_NETWORKS),
            DOCSHARE_IMPORT_HOSTS=f"127.0.0.1:{source.port}",
            DOCSHARE_CA_BUNDLE=str(cert),
            DOCSHARE_SMTP_URL=mail.url,
            DOCSHARE_DESIGN_USER_JWKS_URL=f"https://127.0.0.1:{keys.port}/keys",
            DOCSHARE_DESIGN_USER_ISSUER=ISSUER,
            DOCSHARE_DESIGN_USER_AUDIENCE=AUDIENCE,
        )
        names = {
            "unknown": "ds_live_unknown",
            "unknownFile": "00000000-0000-4000-8000-000000000000",
            "hook": receiver.url,
            "source": f"https://127.0.0.1:{source.port}/deck.pdf",
            "jwt": maker.sign_token(),
            "design": maker.sign_token(sub=None, designId="poster"),
            "folder": str(folder),
            "verifier": VERIFIER,
            "challenge": make_challenge(VERIFIER),
        }
        for name, tier in _PEOPLE.items():
            made = run_docshare("admin", "account", "create", f"{name}@example.com", "--tier", tier, "--json", env=env)
            assert made.returncode == 0, made.stderr
            names[name] = json.loads(made.stdout)["apiKey"]
        for name in ("jwt", "design"):
            (folder / f"{name}.txt").write_text(names[name])
        process, names["server"] = start_server("--port", "0", env=env)
        stack.callback(process.communicate, timeout=60)
        stack.callback(process.terminate)
        env |= {"DOCSHARE_URL": names["server"], "DOCSHARE_TOKEN": names["pia"]}
        tour = Tour([sys.executable], env, folder, names["server"], names)
        stack.callback(tour.close)
        for script in SCRIPTS:
            tour.walk((Path(__file__).parent / "script" / f"{script}.txt").read_text())
        tour.walk("\n".join(f"0 docshare {name} --help" for name in COMMANDS))
        recorded = {"steps": tour.steps, "deliveries": _describe_deliveries(receiver)}
    recorded["files"] = _list_files(folder)
    shown = {str(tree): "<tree>"} | {value: f"<{name}>" for name, value in names.items() if value != "missing"}
    shown |= {found: "<link>" for found in collect_short_ids(tour.steps) if found not in shown}
    normalized: dict[str, Any] = Normalizer(shown).apply(recorded)
    normalized["files"] = sorted(set(normalized["files"]))
    return normalized


def _describe_deliveries(receiver: FakeReceiver) -> dict[str, list[str]]:
    """Return the kinds of requests to the receiver, by event and the keys of their body, with their header names."""
    found = {}
    for hit in receiver.requests:
        body = json.loads(hit.body)
        keys = " ".join([*body, *body.get("data", ())])
        found[f"{hit.headers['webhook-event']}: {keys}"] = sorted(hit.headers)
    return dict(sorted(found.items()))


def _list_files(folder: Path) -> list[str]:
    """Return the paths of files below ``folder``. The cache is omitted: it depends on what was ready first."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in paths if path.parts[:2] != ("data", "cache")]


def main() -> None:
    tree, out = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        recorded = record_tour(tree.resolve(), Path(folder))
    out.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
