"""The processes of a running server: the supervisor, its workers, their sockets and secrets."""
