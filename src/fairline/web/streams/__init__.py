"""Open streams of server-sent events: those of tickets (the hub) and those of boards."""
