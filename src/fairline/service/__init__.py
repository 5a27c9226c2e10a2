"""The service layer: the use cases of people, sites, staff and the keeper."""
