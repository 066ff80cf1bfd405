"""Open share links: requirements, variants, invites, share passwords, downloads. Read ``entry`` first."""
