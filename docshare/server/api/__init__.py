"""Everything under /api: translate a request, call one service, translate back."""
