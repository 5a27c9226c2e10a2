"""The keeper: the work on all queues that needs no request, such as admission, sweeping, deliveries and stock."""
