"""Background threads. ``jobs`` runs periodic jobs, ``dispatcher`` sends deliveries. They import services only."""
