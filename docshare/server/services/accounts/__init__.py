"""Who may use an instance: accounts, passwords, sign-in links, sessions, and who is calling."""
