"""What is measured, and how Prometheus reads it."""
