"""The HTTP server: connections, the fast path, requests and responses, and errors as problem+json."""
