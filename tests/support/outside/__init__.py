"""The world outside of an instance: hosts, issuers of tokens, mail servers, receivers of webhooks, hostile texts.

Read ``receivers`` first; ``fake_api`` is a server for the command line. May import the other helpers.
"""
