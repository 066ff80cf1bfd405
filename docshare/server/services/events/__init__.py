"""Events: the activity record, the feeds that are polled, listeners, simulated events. Read ``activity`` first."""
