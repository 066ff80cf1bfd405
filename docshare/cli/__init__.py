"""The commands. They read the contract and the client library; only ``serve`` and ``admin`` reach the server."""
