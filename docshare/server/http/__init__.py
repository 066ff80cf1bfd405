"""The HTTP listener and the steps of every request: parsing, early verdicts, uploads, health.

Read ``listener`` first, then follow a request through ``channel``, ``request_parser``, ``fair_queue`` and ``tasks``;
``parking`` lets it wait without a thread. Modules of the listener do not import Flask, and only ``health`` and
``metrics`` import services, which import nothing from here.

**The path of an upload.** When the headers of a request are complete, ``verdicts`` asks the application whether it
would be accepted (credential, scope, free slot, size, disk space), before any byte of the body is read. Then
``multipart`` writes the file once, from the socket to a partial file of the store, and computes its hash. The store
renames that file, so each byte is written to the disk once. The row is written last, and a blob without a row is
deleted at the next start.
"""
