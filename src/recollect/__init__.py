"""recollect: memory for agents that remembers what was said and can say why it recalled it."""

__version__ = "0.1.0"
