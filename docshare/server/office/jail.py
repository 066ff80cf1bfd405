"""Runs one command in as small a world as the host allows; started as a process of its own, imported for its types.

The command sees no network and, at the highest level, only the programs of the host (read-only) and one directory it
may write to: neither documents of other people nor settings nor homes. All its processes end with it.

Protocol: one JSON object as the only argument (``Order``); the answer on standard output is one JSON line, either
``{"exit": status, "missing": {layer: reason}}`` of the command or ``{"setup": reason}`` when the world could not be
made. SIGTERM ends the command at once; so does the end of whoever started this process.
"""

import contextlib
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypedDict

from docshare.server.confinement import kernel, landlock, namespaces, seccomp
from docshare.server.office import usage

ISOLATION_LEVELS = ("jail", "network", "bare")
"""What is kept away from the command: all but programs and its directory; only the network; nothing."""

_SETUP_FAILED_STATUS = 125

_NAMESPACES = {
    "jail": namespaces.MOUNTS | namespaces.IPC | namespaces.PROCESSES | namespaces.NETWORK,
    "network": namespaces.NETWORK,
}
_MIN_UID = 1_900_000_000  # ids that nobody has: one for each command
_MORE_PROCESSES = 256  # and threads: LibreOffice has about twenty
_FIRST_BOUND = 64

# What programs need of a host. Nothing here is private: no passwd, no homes, no /var/lib, no /run.
_PROGRAM_PATHS = (
    "/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/var/cache/fontconfig",
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/libreoffice", "/etc/localtime", "/etc/papersize",
)  # fmt: skip
# Where a package of Debian keeps part of its installation; LibreOffice does without, but not with a refusal.
_PACKAGE_PATHS = ("/var/lib/libreoffice", "/var/spool/libreoffice")
_DEVICE_PATHS = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class JailJob(TypedDict):
    """``command``: what to run, ``env`` its whole environment, ``home`` the one directory it may write to, ``programs``
    directories it needs beyond the usual ones, ``limits`` pairs of resource name (``"AS"``) and value."""

    level: str
    command: list[str]
    env: dict[str, str]
    home: str
    programs: list[str]
    limits: dict[str, int]


def main() -> None:
    """Carry out the order in the first argument and answer on standard output."""
    order: JailJob = json.loads(sys.argv[1])
    answer: dict[str, object]
    try:
        _enter_namespaces(order["level"])
        answer = _run(order)
    except OSError as error:
        answer = {"setup": str(error)}
    print(json.dumps(answer), flush=True)  # noqa: T201 - the protocol


def _enter_namespaces(level: str) -> None:
    """Leave what ``level`` takes away; the process namespace holds for children only.

    Root leaves directly; others, and root in a container, leave through a user namespace.
    """
    if level != "bare":
        try:
            namespaces.unshare(_NAMESPACES[level])
        except OSError:
            itself = namespaces.OwnProcDirectory()
            namespaces.unshare(_NAMESPACES[level] | namespaces.USER)
            itself.map_own_ids()
            itself.close()
    if kernel.LINUX:  # after the change of rights, which would undo it
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)


def _run(order: JailJob) -> dict[str, object]:
    """Run the command in a child: the first process of its namespace, so when it ends the kernel ends the others."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    reader, writer = os.pipe()
    number = os.getpid()
    child = os.fork()
    if child == 0:
        _exec_command(order, writer, number)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)  # the child does the same: whoever comes first
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer: dict[str, object] = {}
        for line in pipe:  # closed by a successful exec
            answer |= json.loads(line)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _kill_group(child)
    usage.end_descendants()  # without a process namespace, some may have left the group
    return answer if "setup" in answer else {"exit": status, **answer}


def _kill_group(group: int) -> None:
    """Kill and collect what the command left behind; its orphans are children of this process."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.killpg(group, signal.SIGKILL)
        while True:
            os.waitpid(-group, 0)


def _exec_command(order: JailJob, report: int, number: int) -> NoReturn:
    try:
        os.setpgid(0, 0)
        home = Path(order["home"])
        if order["level"] == "jail":
            os.umask(0o022)  # another user than this one has to find its way in there
            _enter_root(home, order["programs"])
            os.umask(0o077)
        os.chdir(home)
        _redirect_standard_streams()
        for name, value in order["limits"].items():
            _set_limit(getattr(resource, f"RLIMIT_{name}"), value)
        missing = _drop_rights(order, _MIN_UID + number) if kernel.LINUX else {}
        _limit_processes()
        os.write(report, json.dumps({"missing": missing}).encode() + b"\n")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
        os.execve(order["command"][0], order["command"], order["env"])  # noqa: S606 - a fixed list
    except OSError as error:
        os.write(report, json.dumps({"setup": str(error)}).encode() + b"\n")
    finally:
        os._exit(_SETUP_FAILED_STATUS)


def _enter_root(home: Path, programs: list[str]) -> None:
    """Make a root directory with the programs of the host, read-only, and ``home``; move into it."""
    namespaces.mount("none", "/", None, namespaces.REC | namespaces.PRIVATE)
    root = home / ".root"
    root.mkdir(exist_ok=True)
    namespaces.mount("tmpfs", str(root), "tmpfs", namespaces.NOSUID | namespaces.NODEV, "mode=755,size=1m")
    (root / "tmp").mkdir()
    # LibreOffice puts a socket there.
    namespaces.mount("tmpfs", str(root / "tmp"), "tmpfs", namespaces.SAFE_MOUNT_FLAGS, "mode=1777,size=1m")
    (root / "proc").mkdir()
    namespaces.mount(
        "proc", str(root / "proc"), "proc", namespaces.SAFE_MOUNT_FLAGS
    )  # shows the processes of the namespace only
    for name in (*_PROGRAM_PATHS, *programs):
        _bind_from_host(root, Path(name), namespaces.ATTR_RDONLY | namespaces.ATTR_NOSUID | namespaces.ATTR_NODEV)
    for name in _DEVICE_PATHS:
        _bind_from_host(root, Path(name), namespaces.ATTR_NOSUID | namespaces.ATTR_NOEXEC)
    only_data = namespaces.ATTR_NOSUID | namespaces.ATTR_NODEV | namespaces.ATTR_NOEXEC
    namespaces.bind_mount(home, namespaces.path_beneath(root, home), namespaces.BIND, only_data)
    namespaces.move_to_root(root)


def _bind_from_host(root: Path, source: Path, attributes: int) -> None:
    """Let ``source`` of the host appear under ``root`` with the restrictions ``attributes``; skip what is not there."""
    target = namespaces.path_beneath(root, source)
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.exists() and not target.exists():
        namespaces.bind_mount(source, target, namespaces.BIND | namespaces.REC, attributes)


def _redirect_standard_streams() -> None:
    """Nothing comes in or goes out by the standard streams."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _set_limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (bound, bound))


def _limit_processes() -> None:
    """Allow at least ``_MORE_PROCESSES`` more processes and threads than the user of this one has.

    How many that are cannot be read everywhere: a container does not show those of another one, and a user namespace
    has a count of its own or not, depending on the kernel. So the bound is found by trying. The kernel lets the root
    user of the host pass it.
    """
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    bound = _FIRST_BOUND
    while hard == resource.RLIM_INFINITY or bound < hard:
        resource.setrlimit(resource.RLIMIT_NPROC, (bound, hard))
        with contextlib.suppress(BlockingIOError):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            break
        bound *= 2
    _set_limit(resource.RLIMIT_NPROC, bound + _MORE_PROCESSES)


def _drop_rights(order: JailJob, uid: int) -> dict[str, str]:
    """Give up users, capabilities, files and system calls; returns why a layer is missing, by its name."""
    missing = {}
    rules = seccomp.build_program_rules(sockets_apart=order["level"] == "jail")
    home, program = Path(order["home"]), Path(order["command"][0])
    steps: dict[str, Callable[[], object]] = {
        "user": lambda: (
            _change_user(home, program, [Path(name) for name in order["programs"]], uid)
            if order["level"] == "jail" and os.geteuid() == 0
            else None
        ),
        "capabilities": kernel.drop_capabilities,
        "landlock": lambda: landlock.restrict_thread(_readable_paths(order), _writable_paths(order)),
        "seccomp": lambda: seccomp.install_filter(rules, rest_allowed=True),
    }
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    for name, step in steps.items():
        try:
            step()
        except OSError as error:
            missing[name] = str(error.strerror or error)
        if name == "capabilities":
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of user makes the kernel forget it
    return missing


def _change_user(home: Path, program: Path, installation: list[Path], uid: int) -> None:
    """Take the id ``uid``, which owns nothing but ``home`` then, where that may run ``program``. Raises OSError."""
    if not all(path.stat().st_mode & stat.S_IXOTH for path in (program, program.parent, *installation)):
        raise OSError(f"only some users may run {program}")
    for folder, _, names in os.walk(home):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, uid, uid, follow_symlinks=False)
    kernel.switch_user((uid,))


def _readable_paths(order: JailJob) -> list[tuple[Path, int]]:
    readable = [(Path(name), landlock.READ_RIGHTS) for name in (*_PACKAGE_PATHS, *_DEVICE_PATHS)]
    own = ["/proc"] if order["level"] == "jail" else []  # there it shows no process of the host
    return [(Path(name), landlock.RUN_RIGHTS) for name in (*_PROGRAM_PATHS, *order["programs"], *own)] + readable


def _writable_paths(order: JailJob) -> list[Path]:
    own = [Path("/tmp")] if order["level"] == "jail" else []  # noqa: S108 - a private one
    return [Path(order["home"]), Path("/dev/null"), *own]


if __name__ == "__main__":
    main()
