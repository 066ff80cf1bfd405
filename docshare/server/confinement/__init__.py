"""The layers between a process that reads strangers' files and everything else on the host.

``kernel`` calls the kernel; ``namespaces``, ``landlock`` and ``seccomp`` (with its table ``syscalls``) are one each.
"""
