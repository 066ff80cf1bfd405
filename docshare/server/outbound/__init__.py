"""The one way out of the server: requests to hosts that others chose, by addresses that were vetted first."""
