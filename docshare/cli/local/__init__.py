"""What lives on this machine: configuration, profiles, credentials, cached words for completion.

Never imports a command. Read ``paths`` first, then ``storage``, through which every file is written.
"""
