"""The command line. `main` is the entry point; what it imports is imported when a command needs it."""

from .entry import main as main
