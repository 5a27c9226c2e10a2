"""Metrics: what the workers count and measure, and the page on which Prometheus reads it."""
