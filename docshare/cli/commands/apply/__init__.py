"""``docshare apply``: bring an account to the state that ``share.yaml`` describes.

Read ``command`` first, then follow the order of work: ``yaml_file`` and ``parse`` make a ``model``, ``match`` finds its
files on the server, ``plan`` decides, ``actions`` change, ``state`` remembers.
"""
