"""Simulations: a queue's evening in virtual time, on the real engine."""

from fairline.simulation.evening import Outcome, Simulation, simulate
from fairline.simulation.people import Scenario, scenario

__all__ = ["Outcome", "Scenario", "Simulation", "scenario", "simulate"]
