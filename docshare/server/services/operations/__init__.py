"""Running an instance: mails, notices, sweeps, diagnosis, instance secrets."""
