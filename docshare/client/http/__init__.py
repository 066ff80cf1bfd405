"""One HTTP call and what belongs to it: request bodies, retries, pacing, and the translation of errors.

Read ``call`` first, a request as a value, then ``transport``, which sends every request of the library. ``retries``
decides what is sent again, and ``recovery`` finds out whether a write happened whose response was lost. It imports the
contract, ``requests``, and the modules ``address``, ``errors`` and ``options`` of the client.
"""
