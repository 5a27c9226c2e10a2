"""The store on Valkey, Redis, or a cluster of either."""
