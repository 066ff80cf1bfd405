"""Files on this machine: configuration, profiles, credentials, cached completion words.

Never imports a command. Read ``paths`` first, then ``storage``, which writes every file.
"""
