"""Doors for agent frameworks: one file each, which imports its framework only when you import it and keeps to its types."""
