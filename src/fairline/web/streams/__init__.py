"""Open streams of server-sent events: of tickets and of boards."""
