"""OAuth 2.0: registered clients, and what accounts granted to them."""
