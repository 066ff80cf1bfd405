"""``docshare doctor``, group "public": a real server behind a reverse proxy with one misconfiguration, which is
reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.outside.fake_api import BASE, FakeTime
from tests.support.servers.reverse_proxy import ReverseProxy, reverse_proxy
from tests.support.shell import CommandResult, Shell

if TYPE_CHECKING:
    from tests.support.people.cast import World

ADD_ADDRESS = "nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"


@pytest.fixture
def proxy() -> Iterator[ReverseProxy]:
    with reverse_proxy() as proxy_server:
        yield proxy_server


@dataclass
class ProxiedServer:
    """A server behind ``proxy``; ``run_doctor`` checks it."""

    proxy_server: ReverseProxy
    shell: Shell
    data: Path
    url: str

    def run_doctor(self, *args: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the exit code, and the rows grouped by check."""
        ended = self.run_command(*args, "--json")
        return ended.code, {row["check"].removeprefix("public."): row for row in ended.json}

    def run_command(self, *args: str) -> CommandResult:
        return self.shell("doctor", "--only", "public", "--data", self.data, *args)


@pytest.fixture
def proxied_server(
    make: Callable[..., World], proxy: ReverseProxy, time: FakeTime, tmp_path: Path
) -> Iterator[ProxiedServer]:
    from tests.support.servers.data_dir_owner import own_data_dir

    world = make(base_url=proxy.url, trusted_proxies=(ip_network("127.0.0.1/32"),))
    with own_data_dir(world) as url:
        proxy.upstream = url
        yield ProxiedServer(proxy, Shell(tmp_path / "home", proxy.url, time), world.rt.config.data_dir, url)


def test_a_correct_proxy_passes_every_check(proxied_server: ProxiedServer) -> None:
    code, rows = proxied_server.run_doctor()
    assert code == 0
    assert {name: row["ok"] for name, row in rows.items()} == {
        "address": True, "certificate": None, "reach": True, "readers": True, "host": True, "headers": True,
        "body": True, "clock": True,
    }  # fmt: skip
    assert all(row["fix"] == "" for row in rows.values())
    assert rows["body"]["detail"] == "uploads of 2 MB succeed"


def test_an_untrusted_proxy_is_reported_with_the_setting_that_trusts_it(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.source = "127.0.0.2"
    code, rows = proxied_server.run_doctor()
    assert (code, rows["readers"]["ok"], rows["readers"]["level"]) == (13, False, "error")
    assert "127.0.0.2" in rows["readers"]["detail"]
    assert "DOCSHARE_TRUSTED_PROXIES=127.0.0.2/32" in rows["readers"]["fix"]


def test_a_proxy_without_x_forwarded_for_is_reported_with_the_missing_line(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.adds_forwarded_for, proxied_server.proxy_server.hidden_headers = (
        False,
        ("X-Forwarded-For",),
    )
    code, rows = proxied_server.run_doctor()
    assert (code, rows["readers"]["ok"], rows["readers"]["fix"]) == (13, False, ADD_ADDRESS)
    assert "all readers appear as 127.0.0.1" in rows["readers"]["detail"]


def test_an_untrusted_proxy_without_x_forwarded_for_gets_both_fixes(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.adds_forwarded_for, proxied_server.proxy_server.source = False, "127.0.0.2"
    _, rows = proxied_server.run_doctor()
    assert rows["readers"]["fix"] == f"{ADD_ADDRESS} then set DOCSHARE_TRUSTED_PROXIES=127.0.0.2/32"


def test_a_proxy_that_forwards_addresses_claimed_by_readers_is_reported(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.adds_forwarded_for = False
    code, rows = proxied_server.run_doctor()
    assert (code, rows["readers"]["fix"]) == (13, ADD_ADDRESS)
    assert "readers can claim any address" in rows["readers"]["detail"]


def test_a_proxy_that_rejects_large_bodies_is_reported_with_its_limit(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.max_body_bytes = 1 << 20
    code, rows = proxied_server.run_doctor()
    assert (code, rows["body"]["ok"]) == (13, False)
    assert rows["body"]["detail"] == "an upload of 2 MB fails (status 413)"
    assert "client_max_body_size" in rows["body"]["fix"]
    assert rows["readers"]["ok"] is True


def test_the_body_option_sends_larger_bodies_until_the_first_failure(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.max_body_bytes = 12 << 20
    _, rows = proxied_server.run_doctor("--body", "200MB")
    assert rows["body"]["detail"] == "an upload of 101 MB fails (status 413)"
    assert proxied_server.proxy_server.requests == ["GET", "POST", "POST", "POST"]


def test_a_proxy_that_changes_the_host_header_is_a_warning(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.host = "backend:8787"
    code, rows = proxied_server.run_doctor()
    assert (code, rows["host"]["ok"], rows["host"]["level"]) == (0, False, "warning")
    assert "backend:8787" in rows["host"]["detail"]
    assert "proxy_set_header Host" in rows["host"]["fix"]


@pytest.mark.parametrize(
    ("lost", "level", "why"), [("Authorization", "error", "sign in"), ("Range", "warning", "resume")]
)
def test_a_proxy_that_removes_request_headers_is_reported(
    proxied_server: ProxiedServer, lost: str, level: str, why: str
) -> None:
    proxied_server.proxy_server.hidden_headers = (lost,)
    _, rows = proxied_server.run_doctor()
    assert (rows["headers"]["ok"], rows["headers"]["level"], rows["headers"]["fix"]) == (
        False, level, f"Configure it to forward {lost}.",
    )  # fmt: skip
    assert why in rows["headers"]["detail"]


def test_an_address_of_another_server_is_reported(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.fixed_answer = (200, "")
    code, rows = proxied_server.run_doctor()
    assert (code, rows["reach"]["ok"]) == (13, False)
    assert rows["reach"]["detail"] == f"another server responds at {proxied_server.proxy_server.url} (status 200)"
    assert proxied_server.url in rows["reach"]["fix"]
    assert "readers" not in rows


def test_the_fix_for_a_proxy_that_does_not_reach_the_server_names_its_address(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.fixed_answer = (502, "")
    code, rows = proxied_server.run_doctor()
    assert (code, rows["reach"]["fix"]) == (13, f"Forward requests to {proxied_server.url}")


def test_an_address_that_only_redirects_is_reported_with_the_target(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.fixed_answer = (301, "https://docs.example")
    _, rows = proxied_server.run_doctor()
    assert rows["reach"]["fix"] == "Set DOCSHARE_BASE_URL=https://docs.example"


def test_a_proxy_whose_clock_is_an_hour_off_is_reported(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.date = BASE - 3600
    code, rows = proxied_server.run_doctor()
    assert (code, rows["clock"]["detail"]) == (13, "the clocks differ by 3600 s; webhook signatures look too old")


def test_the_token_of_the_probe_is_never_printed(proxied_server: ProxiedServer) -> None:
    proxied_server.proxy_server.fixed_answer = (301, "https://docs.example")
    proxied_server.shell.tty = True
    ended = proxied_server.run_command("-vv")
    assert "probe=" not in ended.out + ended.err


@pytest.mark.parametrize(("host", "ok"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_links_to_loopback_are_a_warning_only_if_the_server_listens_on_other_addresses(
    make: Callable[..., World], time: FakeTime, tmp_path: Path, host: str, ok: bool
) -> None:
    from tests.support.servers.data_dir_owner import own_data_dir

    world = make(base_url="http://127.0.0.1:9")
    with own_data_dir(world, host) as url:
        shell = Shell(tmp_path / "home", url, time)
        ended = shell("doctor", "--only", "public", "--data", world.rt.config.data_dir, "--json")
    rows = {row["check"]: row for row in ended.json}
    assert rows["public.address"]["ok"] is ok
    assert ok or "DOCSHARE_BASE_URL" in rows["public.address"]["fix"]
    assert (ended.code, rows["public.reach"]["ok"]) == (13, False)
    assert "connection refused" in rows["public.reach"]["detail"]


def test_a_server_without_a_proxy_is_warned_about_trusted_proxies(
    make: Callable[..., World], time: FakeTime, tmp_path: Path
) -> None:
    from docshare.server.app import set_runtime
    from tests.support.servers.data_dir_owner import own_data_dir

    world = make(trusted_proxies=(ip_network("127.0.0.0/8"),))
    with own_data_dir(world) as url:
        set_runtime(world.app, replace(world.rt, config=replace(world.rt.config, base_url=url)))
        announced = world.rt.config.data_dir / "server.json"
        announced.write_text(announced.read_text().replace(world.rt.config.base_url, url))
        shell = Shell(tmp_path / "home", url, time)
        ended = shell("doctor", "--only", "public", "--data", world.rt.config.data_dir, "--json")
    rows = {row["check"]: row for row in ended.json}
    assert (rows["public.readers"]["ok"], rows["public.readers"]["fix"]) == (
        False, "Unset DOCSHARE_TRUSTED_PROXIES.",
    )  # fmt: skip
    assert rows["public.reach"]["ok"] is True


def test_a_request_with_an_invalid_probe_token_is_handled_as_usual(proxied_server: ProxiedServer) -> None:
    import requests

    assert requests.get(f"{proxied_server.url}/healthz?probe=nobody", timeout=10).text == "ok\n"
    assert requests.post(f"{proxied_server.url}/healthz?probe=nobody", data=b"x", timeout=10).status_code == 404
    assert (
        requests.post(f"{proxied_server.url}/healthz?probe=nobody", data=b"x" * (2 << 20), timeout=10).status_code
        == 413
    )
