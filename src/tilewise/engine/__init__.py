"""The verbs: climbing the ladder and multiplying matrices."""
