"""docshare: share documents as links and know who read them."""

__version__ = "0.1.0"
