"""Agvents that route themselves: a stop, the manager agent and its messages, a program that moves."""
