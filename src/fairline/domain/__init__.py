"""The rules of a waiting line: queues, tickets, order, estimates and tokens. Nothing here awaits or does I/O."""
