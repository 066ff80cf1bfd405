"""Everything a browser opens: share pages, sign-in, and what they load."""
