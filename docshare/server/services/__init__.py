"""Use cases, by noun: load, decide, write, emit. Never imports Flask, api or web; reads the clock once."""
