"""Every connection of the server to another host: webhooks, imports, keys of token issuers, mail, Redis.

Read ``exchange`` first: it sends one request to one host. ``targets`` parses a URL once for both the check and the
connection; ``addresses`` defines which IP addresses are allowed. The package imports no service and no table.

**The outbound rule.** The client resolves a name once, because a second lookup could return another address. All
addresses of the name must be allowed. The client connects to one of them and checks the certificate for the name. It
never uses redirects, cookies, or proxies of the environment. It reads a response up to a limit. One deadline covers the
whole exchange, because the timeout of a socket starts again with every byte.
"""
