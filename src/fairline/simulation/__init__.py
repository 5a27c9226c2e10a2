"""Simulations: a queue's evening in virtual time, on the real engine."""
