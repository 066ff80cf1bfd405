"""``docshare doctor``, groups "program" and "settings": the checks that need no server."""

import os
import re
import stat
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from docshare import __version__
from docshare.cli.commands.doctor.checks import CheckContext, DoctorCheck
from docshare.cli.completion.places import find_place, has_bash_loader
from docshare.cli.completion.shells import find_shell, loads_completion
from docshare.cli.local import credentials
from docshare.cli.terminal.capabilities import is_enabled
from docshare.client.address import is_loopback
from docshare.contract.findings import (
    DiagnosticFinding,
    error_finding,
    passed_finding,
    skipped_finding,
    warning_finding,
)

_MIN_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)([<>=!~,\d.]*)")
_VERSION_BOUND = re.compile(r"(>=|<)([\d.]+)")
# Where each shell looks for completions: below the prefix of the installation, and below $HOME.
_COMPLETIONS = {
    "bash": ("share/bash-completion/completions/docshare", ".local/share/bash-completion/completions/docshare"),
    "zsh": ("share/zsh/site-functions/_docshare", ".zfunc/_docshare"),
    "fish": ("share/fish/vendor_completions.d/docshare.fish", ".config/fish/completions/docshare.fish"),
}
_START_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
_DATA_DIRS = "/usr/local/share:/usr/share"
_LOADER_FIXES = {
    "bash": 'Install bash-completion, or add to ~/.bashrc: eval "$(docshare completion bash)"',
    "zsh": "Add to ~/.zshrc: fpath=(~/.zfunc $fpath); autoload -U compinit; compinit",
    "fish": "",
}
_PREFIXES = (Path(sys.prefix), Path("/usr/local"), Path("/usr"))
_PROXIES = ("http", "https", "all")


def _check_python(check_context: CheckContext) -> DiagnosticFinding:  # noqa: ARG001 - the signature of every check
    words = f"docshare {__version__} on Python {sys.version.split()[0]}, {sys.platform}"
    if sys.version_info < _MIN_PYTHON:
        return error_finding(words, "Install docshare with Python 3.11 or later.")
    return passed_finding(words)


def _check_libraries(check_context: CheckContext) -> DiagnosticFinding:  # noqa: ARG001 - the signature of every check
    try:
        required = [_REQUIREMENT.match(line) for line in metadata.requires("docshare") or [] if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        return skipped_finding("docshare runs from source, not as an installed package")
    wrong = []
    for match in filter(None, required):
        try:
            version = metadata.version(match[1])
        except metadata.PackageNotFoundError:
            wrong.append(f"{match[1]} is missing")
            continue
        if not _is_compatible(version, match[2]):
            wrong.append(f"{match[1]} {version} does not match {match[2]}")
    if wrong:
        return error_finding("; ".join(wrong), "Reinstall docshare in a separate environment.")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("typer", "rich", "requests"))
    return passed_finding(f"{versions} and {len(required) - 3} others are compatible")


def _is_compatible(version: str, bounds: str) -> bool:
    have = _parse_version(version)
    return all(have >= _parse_version(bound) if sign == ">=" else have < _parse_version(bound)
               for sign, bound in _VERSION_BOUND.findall(bounds))  # fmt: skip


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _check_output(check_context: CheckContext) -> DiagnosticFinding:
    encoding = getattr(check_context.ctx.stdout, "encoding", None) or "unknown"
    if check_context.ctx.out_screen.unicode:
        return passed_finding(f"standard output is {encoding}")
    return warning_finding(f"standard output is {encoding}; file names may show as ?", "Set PYTHONIOENCODING=utf-8.")


def _check_completion(check_context: CheckContext) -> DiagnosticFinding:
    shell = Path(check_context.ctx.env.get("SHELL", "")).name
    if shell not in _COMPLETIONS:
        return skipped_finding(f"completion is not checked for {shell or 'an unknown shell'}")
    loads = loads_completion(shell, check_context.ctx.env)
    if loads:
        return passed_finding(f"completion for {shell} is installed")
    content = _read_start_file(Path(check_context.ctx.env.get("HOME", "~")).expanduser() / _START_FILES[shell])
    by_line = "docshare completion" in content
    mine, shared = _find_scripts(shell, check_context.ctx.env)
    if not (by_line or mine or shared):
        return skipped_finding(f"completion for {shell} is not installed; run: docshare completion install {shell}")
    missing = "" if by_line else _find_missing_loader(shell, content, mine=mine)
    if missing:
        return warning_finding(f"completion for {shell} is installed, but {missing}", _LOADER_FIXES[shell])
    if loads is None:
        why = "did not respond" if find_shell(shell, check_context.ctx.env) else "is not installed"
        return skipped_finding(f"completion for {shell} is installed, but cannot be checked, because {shell} {why}")
    if by_line:
        file = _START_FILES[shell]
        return warning_finding(
            f"completion for {shell} does not work, although {file} loads it",
            f"Check that {shell} reaches this line of ~/{file}, and that it finds the program docshare.",
        )
    return warning_finding(
        f"completion for {shell} is installed, but {shell} does not load it",
        _LOADER_FIXES[shell] or f"Check that {shell} finds the program docshare.",
    )


def _find_scripts(shell: str, env: Mapping[str, str]) -> tuple[bool, bool]:
    """Return whether the user has a completion script of their own, and whether the system has one."""
    shared, own = _COMPLETIONS[shell]
    home = Path(env.get("HOME", "~")).expanduser()
    # A shell searches the data directories of the system, not the prefix of a virtual environment.
    folders = [Path(folder) for folder in (env.get("XDG_DATA_DIRS") or _DATA_DIRS).split(os.pathsep)]
    mine = find_place(shell, env).path.is_file() or (home / own).is_file()
    return mine, any((folder / shared.removeprefix("share/")).is_file() for folder in folders)


def _read_start_file(path: Path) -> str:
    """Return the lines of a startup file without comments."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _find_missing_loader(shell: str, content: str, *, mine: bool) -> str:
    """Return why the shell does not load an installed completion, or nothing if the startup file does not say."""
    if shell == "bash" and not has_bash_loader():
        return "the package bash-completion, which loads it, is missing"
    if shell != "zsh":
        return ""
    if "compinit" not in content:
        return ".zshrc does not call compinit"
    if mine and ".zfunc" not in content:
        return ".zshrc does not add ~/.zfunc to fpath"
    if mine and content.index(".zfunc") > content.rindex("compinit"):
        return ".zshrc adds ~/.zfunc to fpath after it calls compinit"
    return ""


def _check_manual(check_context: CheckContext) -> DiagnosticFinding:
    paths = [Path(folder) for folder in check_context.ctx.env.get("MANPATH", "").split(os.pathsep) if folder]
    folders = [*paths, *(prefix / "share/man" for prefix in _PREFIXES)]
    found = next((folder for folder in folders if (folder / "man1/docshare.1").is_file()), None)
    return (
        passed_finding(f"manual pages are in {found}")
        if found
        else skipped_finding("no manual pages; docshare help has the same text")
    )


def _check_file(check_context: CheckContext) -> DiagnosticFinding:
    for folder in (check_context.ctx.config_dir, check_context.ctx.env.get("HOME")):
        check_context.mask(folder, "<path>")
    config = check_context.ctx.config  # raises Stop with a hint if it cannot be read
    for name in config.profiles:
        check_context.mask(name, "<profile>")
    if config.unknown_keys:
        return warning_finding(
            f"{config.path}: unknown keys {', '.join(config.unknown_keys)}", "Correct or remove them."
        )
    return (
        passed_finding(f"{config.path} is valid")
        if config.path.exists()
        else skipped_finding(f"{config.path} does not exist")
    )


def _check_permissions(check_context: CheckContext) -> DiagnosticFinding:
    folder = check_context.ctx.config_dir
    secret = folder / credentials.FILE_NAME
    if os.name != "posix" or not folder.exists():
        return skipped_finding("no credentials are stored")
    if credentials.is_readable_by_others(folder):
        return error_finding(f"others on this machine can read {secret}", f"chmod 600 {secret}")
    if stat.S_IMODE(folder.stat().st_mode) & 0o022:
        return error_finding(f"others on this machine can change {folder}", f"chmod 700 {folder}")
    return passed_finding(f"only you can read {secret}" if secret.exists() else "no credential is stored")


def _check_address(check_context: CheckContext) -> DiagnosticFinding:
    connection = check_context.ctx.connection
    name = connection.profile.value
    check_context.mask(name, "<profile>")
    of_profile = f" (profile {name} by {connection.profile.origin})" if name else ""
    words = f"{connection.url.value} from {connection.url.origin}{of_profile}"
    if connection.origin.startswith("http://") and not is_loopback(_host_of(connection.origin)):
        return warning_finding(f"{words}; requests are not encrypted", "Use the https address of the server.")
    return passed_finding(words)


def _host_of(origin: str) -> str:
    return urlsplit(origin).hostname or ""


def _check_credential(check_context: CheckContext) -> DiagnosticFinding:
    connection = check_context.ctx.connection
    if connection.token is None:
        return error_finding(f"no credential: {connection.source}", "Set DOCSHARE_TOKEN, or run: docshare auth login")
    return passed_finding(f"from {connection.source}")


def find_proxy(check_context: CheckContext) -> str | None:
    """Return the HTTP proxy for requests to the current server, or None."""
    from requests.utils import get_environ_proxies, select_proxy

    url = str(check_context.ctx.connection.url.value)
    return select_proxy(url, get_environ_proxies(url))


def _check_proxy(check_context: CheckContext) -> DiagnosticFinding:
    proxy = find_proxy(check_context)
    if proxy:
        return passed_finding(f"requests use the proxy {_strip_login(proxy)}")
    names = [f"{kind}_proxy" for kind in _PROXIES]
    env = check_context.ctx.env
    if any(is_enabled(env, name) or is_enabled(env, name.upper()) for name in names):
        return passed_finding("a proxy is set, but not for this server")
    return passed_finding("requests go directly to the server")


def _strip_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _check_netrc(check_context: CheckContext) -> DiagnosticFinding:
    from requests.utils import get_netrc_auth

    if get_netrc_auth(str(check_context.ctx.connection.url.value)) is None:
        return skipped_finding("~/.netrc has no login for this server")
    return passed_finding("~/.netrc has a login for this server, which is never used")


PROGRAM_CHECKS = (
    DoctorCheck("python", _check_python),
    DoctorCheck("libraries", _check_libraries),
    DoctorCheck("output", _check_output),
    DoctorCheck("completion", _check_completion),
    DoctorCheck("manual", _check_manual),
)
SETTINGS_CHECKS = (
    DoctorCheck("file", _check_file),
    DoctorCheck("permissions", _check_permissions),
    DoctorCheck("address", _check_address, needs=("file",)),
    DoctorCheck("credential", _check_credential, needs=("address",)),
    DoctorCheck("proxy", _check_proxy, needs=("address",)),
    DoctorCheck("netrc", _check_netrc, needs=("address",)),
)
