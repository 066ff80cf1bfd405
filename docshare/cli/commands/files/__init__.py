"""``docshare files`` and its short names such as ``ls`` and ``rm``. Read ``group`` first."""
