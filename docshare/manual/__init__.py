"""The manual as a website: topics, commands and the API in, pages out.

Read ``site`` first. The server shows the pages at ``/docs``, ``docshare help --web`` on this machine or as files, from
the same code. ``operations`` reads the API description, ``examples`` makes up values of its types. Topics and commands
come from ``reference.json``, which ``python -m docshare.cli.reference`` writes. Of docshare, it imports only the
contract.
"""

from docshare.manual.site import POLICY, load_site, media_type

__all__ = ["POLICY", "load_site", "media_type"]
