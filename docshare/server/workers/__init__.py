"""Background work: ``jobs`` runs what is due, ``dispatcher`` sends what is queued for webhooks."""
