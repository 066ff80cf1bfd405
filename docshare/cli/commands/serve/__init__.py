"""``docshare serve``: run the bundled server. ``share`` uploads the files it was given and greets the terminal."""
