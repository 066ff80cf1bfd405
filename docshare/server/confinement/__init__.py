"""Confinement layers that separate a process that reads untrusted files from the rest of the host.

``kernel`` makes system calls. ``namespaces``, ``landlock`` and ``seccomp`` (with its table ``syscalls``) implement one
layer each.
"""
