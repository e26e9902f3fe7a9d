"""The frozen values that flow between all parts, and the errors a user can cause."""
