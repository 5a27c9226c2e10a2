"""What speaks HTTP: connections, the fast path, requests and responses, errors as problem+json."""
