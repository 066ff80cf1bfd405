"""``docshare serve``: run the bundled server. ``share`` uploads the given files and prints the next steps."""
