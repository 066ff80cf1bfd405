"""``docshare lint``: check PDFs before sharing. ``command`` runs a confined worker, ``report`` prints."""
