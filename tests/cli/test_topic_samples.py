"""The files that ``docshare help TOPIC --file NAME`` prints: the program that reads each file checks it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests
import yaml

from docshare import __version__
from docshare.cli import topics
from docshare.contract.plans import MB, PLAN_LIMITS
from docshare.server.config import OPTIONS
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.import_source import make_certificate
from tests.support.repository import ROOT
from tests.support.servers.server_process import run_server
from tests.support.shell import Shell

_KNOWN = {f"DOCSHARE_{key.upper()}" for key in OPTIONS} | {
    "DOCSHARE_HOST",
    "DOCSHARE_PORT",
    "DOCSHARE_URL",
    "DOCSHARE_TOKEN",
}

_CONTAINERFILE = topics.load_sample("Containerfile").splitlines()


@pytest.mark.parametrize("name", [name for names in topics.SAMPLES.values() for name in names])
def test_every_variable_in_a_sample_file_is_a_known_option(name: str) -> None:
    assert set(re.findall("DOCSHARE_[A-Z_]+[A-Z]", topics.load_sample(name))) <= _KNOWN


@pytest.mark.parametrize(("topic", "names"), topics.SAMPLES.items())
def test_a_topic_lists_its_sample_files_and_help_prints_them_unchanged(
    shell: Shell, topic: str, names: tuple[str, ...]
) -> None:
    for name in names:
        assert f"docshare help {topic} --file {name}" in topics.load(topic)
        assert shell("help", topic, "--file", name).out == topics.load_sample(name)


def test_every_sample_file_belongs_to_one_topic() -> None:
    folder = Path(topics.__file__).parent / "samples"
    assert sorted(path.name for path in folder.iterdir()) == sorted(sum(topics.SAMPLES.values(), ()))


@pytest.mark.parametrize("line", [["docker", "--file", "none"], ["--file", "nginx.conf"], ["plans", "--file", "x"]])
def test_an_unknown_sample_file_is_an_error_that_lists_the_known_ones(shell: Shell, line: list[str]) -> None:
    ended = shell("help", *line)
    assert ended.code == 2
    assert "Containerfile" in ended.err or "cluster, docker" in ended.err


def test_systemd_accepts_the_template_unit_as_an_instance(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this system has no systemd")
    text = topics.load_sample("docshare@.service").replace("/opt/docshare/%i/bin/docshare", sys.executable)
    unit = tmp_path / "docshare@8801.service"
    unit.write_text(text)
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "docshare@" in line]) == (0, [])


def test_a_shell_reads_the_settings_of_a_cluster_as_the_service_does(tmp_path: Path) -> None:
    """An operator reads the file for ``docshare admin``; ``&`` in an address would end a command of the shell."""
    lines = topics.load("cluster").partition("/etc/docshare.env with mode")[2].splitlines()
    written = [line.strip() for line in lines if re.match(r"    DOCSHARE_(?!METRICS)\w+=", line)]
    assert len(written) == 4
    settings = tmp_path / "docshare.env"
    settings.write_text("\n".join(written))
    script = ["sh", "-c", f"set -a; . {settings}; set +a; env"]
    done = subprocess.run(script, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60)
    read = {line for line in done.stdout.splitlines() if line.startswith("DOCSHARE_")}
    assert (read, done.stderr) == ({line.replace("'", "") for line in written}, "")


def test_the_template_unit_has_the_same_sandbox_as_the_unit_of_a_single_server() -> None:
    single = {line.strip() for line in topics.load("systemd").splitlines() if re.match(r"    [A-Z]\w+=", line)}
    template = {line for line in topics.load_sample("docshare@.service").splitlines() if re.match(r"[A-Z]\w+=", line)}
    assert {line.partition("=")[0] for line in single ^ template} == {
        "Description", "Environment", "ExecReload", "ExecStart", "EnvironmentFile", "StateDirectory",
    }  # fmt: skip


def test_nginx_accepts_the_configuration(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    assert nginx is not None, "nginx is not installed"
    text = topics.load_sample("nginx.conf")
    certificate = make_certificate(tmp_path, "docs.example.com")
    text = re.sub(r"ssl_certificate .*;", f"ssl_certificate {certificate};", text)
    text = re.sub(r"ssl_certificate_key .*;", f"ssl_certificate_key {certificate.parent}/key.pem;", text)
    (tmp_path / "site.conf").write_text(text)
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ access_log off; "
        f"client_body_temp_path {tmp_path}/a; proxy_temp_path {tmp_path}/b; fastcgi_temp_path {tmp_path}/c; "
        f"uwsgi_temp_path {tmp_path}/d; scgi_temp_path {tmp_path}/e; include {tmp_path}/site.conf; }}"
    )
    done = subprocess.run([nginx, "-t", "-c", str(whole)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr


def test_nginx_accepts_the_largest_upload_and_hides_the_metrics() -> None:
    text = topics.load_sample("nginx.conf")
    size = re.search(r"client_max_body_size (\d+)m;", text)
    assert size is not None
    assert int(size[1]) * MB > max(plan.stored_bytes for plan in PLAN_LIMITS.values())
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
    assert re.search(r"location = /metrics \{\s+return 404;", text)


def test_the_compose_file_sets_up_everything_that_the_server_needs() -> None:
    found = yaml.safe_load(topics.load_sample("compose.yaml"))
    services = found["services"]
    assert set(services) == {"server", "postgres", "objects", "redis"}
    assert set(services["server"]["depends_on"]) == set(services) - {"server"}
    mounted = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    assert mounted == set(found["volumes"])
    assert services["server"]["ports"] == ["127.0.0.1:8787:8787"]
    assert not [name for name, service in services.items() if name != "server" and "ports" in service]
    settings = services["server"]["environment"]
    gateway = found["networks"]["default"]["ipam"]["config"][0]["gateway"]
    assert settings["DOCSHARE_TRUSTED_PROXIES"] == f"{gateway}/32"
    assert set(found["secrets"]) == set(services["server"]["secrets"])


def test_the_image_runs_as_an_unprivileged_user_and_reads_its_settings_from_variables() -> None:
    lines = _CONTAINERFILE
    words = [line.partition(" ")[0] for line in lines if re.match("[A-Z]+ ", line)]
    assert words[0] == "FROM"
    assert set(words) <= {"FROM", "RUN", "COPY", "USER", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert words.index("USER") < words.index("CMD")
    assert "USER docshare" in lines
    assert "ENV DOCSHARE_HOST=0.0.0.0 DOCSHARE_PORT=8787 DOCSHARE_DATA_DIR=/data" in lines


def copy_into_image(checkout: Path, folder: Path) -> None:
    """Copy what the image copies from a checkout of the repository below ``/src``."""
    for *sources, target in (words[1:] for words in map(str.split, _CONTAINERFILE) if words[:1] == ["COPY"]):
        for source in sources:
            assert target.startswith("/src/"), target
            place = folder / target.removeprefix("/src/")
            if (checkout / source).is_dir():
                shutil.copytree(checkout / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(checkout / source, place)


def test_the_image_has_no_secrets_that_lie_in_the_checkout(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns("tests", ".*", "__pycache__"))
    for secret in (".env", "secret.key"):
        (checkout / secret).write_text("CHANGE-ME")
    copy_into_image(checkout, tmp_path / "src")
    assert {".env", "secret.key"} & {path.name for path in (tmp_path / "src").rglob("*")} == set()


def test_the_image_installs_the_program_with_the_packages_of_a_cluster(tmp_path: Path) -> None:
    """Without a network: the command of the image, but for the dependencies, which the tests have already."""
    line = next(line for line in _CONTAINERFILE if line.startswith("RUN pip install"))
    command_line = line.removeprefix("RUN ").removesuffix(" && rm -rf /src")
    source, target = tmp_path / "src", tmp_path / "installed"
    copy_into_image(ROOT, source)
    program, *words = shlex.split(command_line.replace("/src", str(source)))
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    command = [sys.executable, "-m", program, *words, *offline, "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "does not provide the extra" in done.stderr) == (0, False), done.stderr
    installed = {"PYTHONPATH": str(target), "PYTHONSAFEPATH": "1", "PATH": ""}
    shown = subprocess.run(
        [sys.executable, target / "bin/docshare", "--version"],
        capture_output=True, text=True, env=installed, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert (shown.returncode, __version__ in shown.stdout) == (0, True), shown.stderr


def test_the_health_check_of_the_image_asks_the_server(tmp_path: Path) -> None:
    words = re.search(r"^ +CMD (\[.*\])$", "\n".join(_CONTAINERFILE), re.MULTILINE)
    assert words is not None
    program, option, code = json.loads(words[1])
    assert (program, option) == ("python", "-c")
    with run_server(tmp_path, DOCSHARE_BASE_URL="https://docs.example.com") as server:
        checked = code.replace("http://127.0.0.1:8787", server.process_url)
        assert subprocess.run([sys.executable, option, checked], capture_output=True, timeout=30).returncode == 0
    assert subprocess.run([sys.executable, option, checked], capture_output=True, timeout=30).returncode == 1


def read_scopes(name: str) -> list[str]:
    """Return the scopes of the key that the comment of a workflow asks for."""
    found = re.search(r"auth keys create --scope (\S+)", topics.load_sample(name))
    assert found is not None
    return found[1].split(",")


def test_the_workflow_for_cron_publishes_with_the_key_that_it_names(tmp_path: Path) -> None:
    script, document = tmp_path / "publish.sh", tmp_path / "daily.pdf"
    script.write_text(topics.load_sample("publish.sh"))
    document.write_bytes(simple_pdf(pages=2))
    (tmp_path / "docshare" / "bin").mkdir(parents=True)
    (tmp_path / "docshare" / "bin" / "docshare").symlink_to(Path(sys.executable).with_name("docshare"))
    with run_server(tmp_path / "server") as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        body = {"name": "cron", "scopes": read_scopes("publish.sh")}
        key = requests.post(f"{server.url}/api/v1/keys", json=body, headers=headers, timeout=20).json()["key"]
        (tmp_path / ".docshare-key").write_text(f"{key}\n")
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DOCSHARE_URL": server.url, "CI": "1"}
        env["PYTHONPATH"] = str(ROOT)
        for _ in range(2):
            done = subprocess.run(["sh", script, document], env=env, capture_output=True, text=True, timeout=120)
            assert (done.returncode, done.stdout) == (0, f"{server.url}/daily-report\n"), done.stderr


@pytest.mark.parametrize(
    ("name", "place"), [("github.yml", ("jobs", "publish", "steps")), ("gitlab.yml", ("publish",))]
)
def test_the_other_workflows_install_this_version_and_run_the_same_command(name: str, place: tuple[str, ...]) -> None:
    found = yaml.safe_load(topics.load_sample(name))
    for key in place:
        found = found[key]
    lines = found["script"] if isinstance(found, dict) else [step["run"] for step in found if "run" in step]
    assert any(line.endswith(f"install docshare=={__version__}") for line in lines)
    assert lines[-1] == "docshare push build/manual.pdf --slug manual"
    assert read_scopes(name) == ["files:read", "files:write"]
