"""Background threads. ``jobs`` runs what is due by time, ``dispatcher`` sends deliveries. They import services only."""
