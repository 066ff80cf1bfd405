"""Run one command confined as tightly as the host allows. Runs as a separate process; imported only for its types.

The command has no network. At the highest level, it sees only the programs of the host, read-only, and one writable
directory: no documents, settings or home directories. All of its processes end with it.

Protocol: the only argument is a JSON object (``JailJob``). The process prints one line of JSON: ``{"exit": status,
"cpu_s": processor seconds, "missing": {layer: reason}}``, or ``{"setup": reason}`` if the command could not be
confined. SIGTERM kills the command at once, and so does the end of the parent process.
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
"""From strictest to weakest: only programs and one directory are visible; no network; no isolation."""

_SETUP_FAILED_STATUS = 125

_NAMESPACES = {
    "jail": namespaces.MOUNTS | namespaces.IPC | namespaces.PROCESSES | namespaces.NETWORK,
    "network": namespaces.NETWORK,
}
_MIN_UID = 1_900_000_000  # unused user IDs, one per command
_MORE_PROCESSES = 256  # including threads; LibreOffice needs about twenty
_FIRST_BOUND = 64

# The files that programs need. Nothing here is private: no passwd, no home directories, no /var/lib, no /run.
_PROGRAM_PATHS = (
    "/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/var/cache/fontconfig",
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/libreoffice", "/etc/localtime", "/etc/papersize",
)  # fmt: skip
# Parts of the Debian package. LibreOffice works if they do not exist, but not if access to them is denied.
_PACKAGE_PATHS = ("/var/lib/libreoffice", "/var/spool/libreoffice")
_DEVICE_PATHS = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class JailJob(TypedDict):
    """A command and its confinement: ``level`` is one of ``ISOLATION_LEVELS``; ``env`` the complete environment;
    ``home`` the only writable directory; ``programs`` further readable directories; ``limits`` maps resource names
    (``"AS"``) to limits."""

    level: str
    command: list[str]
    env: dict[str, str]
    home: str
    programs: list[str]
    limits: dict[str, int]


def main() -> None:
    """Run the job in the first argument and print the result."""
    job: JailJob = json.loads(sys.argv[1])
    answer: dict[str, object]
    try:
        _enter_namespaces(job["level"])
        answer = _run(job)
    except OSError as error:
        answer = {"setup": str(error)}
    print(json.dumps(answer), flush=True)  # noqa: T201 - the protocol


def _enter_namespaces(level: str) -> None:
    """Leave the namespaces of the host as required by ``level``. A new process namespace applies only to children.

    Root leaves directly. Other users, and root in a container, need a user namespace.
    """
    if level != "bare":
        try:
            namespaces.unshare(_NAMESPACES[level])
        except OSError:
            itself = namespaces.OwnProcDirectory()
            namespaces.unshare(_NAMESPACES[level] | namespaces.USER)
            itself.map_own_ids()
            itself.close()
    if kernel.LINUX:  # after the privileges changed, because that resets these settings
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)


def _run(job: JailJob) -> dict[str, object]:
    """Run the command in a child, the first process of its namespace: when it ends, the kernel kills all others."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    reader, writer = os.pipe()
    number = os.getpid()
    child = os.fork()
    if child == 0:
        _exec_command(job, writer, number)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)  # the child does the same, to avoid a race
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
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return answer if "setup" in answer else {"exit": status, "cpu_s": used.ru_utime + used.ru_stime, **answer}


def _kill_group(group: int) -> None:
    """Kill and reap the processes that the command left; orphans are children of this process."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.killpg(group, signal.SIGKILL)
        while True:
            os.waitpid(-group, 0)


def _exec_command(job: JailJob, report: int, number: int) -> NoReturn:
    try:
        os.setpgid(0, 0)
        home = Path(job["home"])
        if job["level"] == "jail":
            os.umask(0o022)  # a different user must be able to enter the new root
            _enter_root(home, job["programs"])
            os.umask(0o077)
        os.chdir(home)
        _redirect_standard_streams()
        for name, value in job["limits"].items():
            _set_limit(getattr(resource, f"RLIMIT_{name}"), value)
        missing = _drop_rights(job, _MIN_UID + number) if kernel.LINUX else {}
        _limit_processes()
        os.write(report, json.dumps({"missing": missing}).encode() + b"\n")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
        os.execve(job["command"][0], job["command"], job["env"])  # noqa: S606 - a fixed list
    except OSError as error:
        os.write(report, json.dumps({"setup": str(error)}).encode() + b"\n")
    finally:
        os._exit(_SETUP_FAILED_STATUS)


def _enter_root(home: Path, programs: list[str]) -> None:
    """Create a root directory with the programs of the host, read-only, and ``home``; make it the root."""
    namespaces.mount("none", "/", None, namespaces.REC | namespaces.PRIVATE)
    root = home / ".root"
    root.mkdir(exist_ok=True)
    namespaces.mount("tmpfs", str(root), "tmpfs", namespaces.NOSUID | namespaces.NODEV, "mode=755,size=1m")
    (root / "tmp").mkdir()
    # LibreOffice creates a socket in /tmp.
    namespaces.mount("tmpfs", str(root / "tmp"), "tmpfs", namespaces.SAFE_MOUNT_FLAGS, "mode=1777,size=1m")
    (root / "proc").mkdir()
    namespaces.mount(
        "proc", str(root / "proc"), "proc", namespaces.SAFE_MOUNT_FLAGS
    )  # shows only the processes of the namespace
    for name in (*_PROGRAM_PATHS, *programs):
        _bind_from_host(root, Path(name), namespaces.ATTR_RDONLY | namespaces.ATTR_NOSUID | namespaces.ATTR_NODEV)
    for name in _DEVICE_PATHS:
        _bind_from_host(root, Path(name), namespaces.ATTR_NOSUID | namespaces.ATTR_NOEXEC)
    only_data = namespaces.ATTR_NOSUID | namespaces.ATTR_NODEV | namespaces.ATTR_NOEXEC
    namespaces.bind_mount(home, namespaces.path_beneath(root, home), namespaces.BIND, only_data)
    namespaces.move_to_root(root)


def _bind_from_host(root: Path, source: Path, attributes: int) -> None:
    """Mount ``source`` of the host under ``root`` with the restrictions ``attributes``. Skip it if it is missing."""
    target = namespaces.path_beneath(root, source)
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.exists() and not target.exists():
        namespaces.bind_mount(source, target, namespaces.BIND | namespaces.REC, attributes)


def _redirect_standard_streams() -> None:
    """Redirect the standard streams to /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _set_limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (bound, bound))


def _limit_processes() -> None:
    """Limit the user of this process to at least ``_MORE_PROCESSES`` more processes and threads than it has.

    The current number is unknown: containers do not see each other's processes, and whether a user namespace counts
    separately depends on the kernel. Therefore the limit is found by trying. The kernel does not enforce it for the
    root user of the host.
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


def _drop_rights(job: JailJob, uid: int) -> dict[str, str]:
    """Give up the user, capabilities, files and system calls; return the missing layers with their reasons."""
    missing = {}
    rules = seccomp.build_program_rules(sockets_apart=job["level"] == "jail")
    home, program = Path(job["home"]), Path(job["command"][0])
    steps: dict[str, Callable[[], object]] = {
        "user": lambda: (
            _change_user(home, program, [Path(name) for name in job["programs"]], uid)
            if job["level"] == "jail" and os.geteuid() == 0
            else None
        ),
        "capabilities": kernel.drop_capabilities,
        "landlock": lambda: landlock.restrict_thread(_readable_paths(job), _writable_paths(job)),
        "seccomp": lambda: seccomp.install_filter(seccomp.assemble_filter(rules, rest_allowed=True)),
    }
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    for name, step in steps.items():
        try:
            step()
        except OSError as error:
            missing[name] = str(error.strerror or error)
        if name == "capabilities":
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel clears it when the user changes
    return missing


def _change_user(home: Path, program: Path, installation: list[Path], uid: int) -> None:
    """Switch to the user ID ``uid``, which will own only ``home``. Raises OSError, also if ``uid`` cannot run
    ``program``."""
    if not all(path.stat().st_mode & stat.S_IXOTH for path in (program, program.parent, *installation)):
        raise OSError(f"not all users can execute {program}")
    for folder, _, names in os.walk(home):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, uid, uid, follow_symlinks=False)
    kernel.switch_user((uid,))


def _readable_paths(job: JailJob) -> list[tuple[Path, int]]:
    readable = [(Path(name), landlock.READ_RIGHTS) for name in (*_PACKAGE_PATHS, *_DEVICE_PATHS)]
    own = ["/proc"] if job["level"] == "jail" else []  # mounted in the jail, without processes of the host
    return [(Path(name), landlock.RUN_RIGHTS) for name in (*_PROGRAM_PATHS, *job["programs"], *own)] + readable


def _writable_paths(job: JailJob) -> list[Path]:
    own = [Path("/tmp")] if job["level"] == "jail" else []  # noqa: S108 - private to the jail
    return [Path(job["home"]), Path("/dev/null"), *own]


if __name__ == "__main__":
    main()
