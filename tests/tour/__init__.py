"""A recorded tour of every route and every command, to compare two versions of docshare.

Read ``record`` first; ``script`` contains the requests and command lines. May import the helpers of ``tests.support``.
"""
