"""Every connection of the server to another host: webhooks, imports, keys of token issuers, mail.

Read ``exchange`` first: one request to one host. ``targets`` parses a URL the same way for the check and for the
connection, ``addresses`` defines which IP addresses are allowed. It imports no service and no table.

**The outbound rule.** A name is resolved once. Every address that it resolves to must be allowed, and the connection
uses exactly one of these, with the certificate checked for the name: a second lookup could return another address.
Redirects, proxies of the environment and cookies are never used, responses are read up to a limit, and one deadline
covers the whole exchange, because a socket's timeout starts again with every byte.
"""
