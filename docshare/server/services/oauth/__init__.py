"""OAuth 2.0 for apps that act for an account: registered clients, authorization codes, rotating tokens.

Read ``grants`` first: what an account approved, from the code to the revocation. ``clients`` registers the apps;
``devices`` logs in programs without a browser. The protocol (parameters, redirects, error codes) is in
``web/oauth_server`` and ``rules/oauth``. Of the services, this package imports only ``services.accounts``.
"""
