"""What a waiting line is: queues, tickets, the order, estimates, tokens. Nothing here awaits."""
