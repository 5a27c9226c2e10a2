"""Simulations: a queue's evening in virtual time, on the real engine.

`people` loads quickly; `evening` loads the engine, so only what runs a simulation imports it.
"""
