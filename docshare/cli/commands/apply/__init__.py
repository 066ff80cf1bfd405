"""``docshare apply``: make an account match ``share.yaml``.

Read ``run`` first, then follow the order of work: ``yaml_file`` and ``parse`` build a ``model``, ``match`` finds its
files on the server, ``plan`` decides, ``actions`` carry it out, ``state`` records it, and ``diff`` describes it. It
imports modules of ``browse``, ``push``, ``settings``, ``upload`` and ``webhooks``, and never the server.
"""
