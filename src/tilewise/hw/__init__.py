"""Devices as tables of numbers, each with its source."""
