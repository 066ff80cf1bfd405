"""Share links: who may open one, variants, invites, share passwords, downloads. Read ``entry`` first."""
