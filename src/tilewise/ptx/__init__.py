"""Reads PTX: syntax tree, control flow, source lines."""
