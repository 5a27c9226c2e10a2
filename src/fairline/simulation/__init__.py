"""An evening in virtual time, on the real engine."""
