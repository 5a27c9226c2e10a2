"""The calls for people who wait, for sites and for everyone."""
