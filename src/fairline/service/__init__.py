"""The use cases: what people, sites, staff and the keeper can do with a queue."""
