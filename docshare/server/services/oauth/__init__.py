"""OAuth 2.0: ``clients`` are registered apps, ``grants`` what accounts allowed them."""
