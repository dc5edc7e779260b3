"""Other embedded engines, each in one module, for comparison only: bench/requirements.txt, never the package's."""

NAMES = ("zvec", "qdrant_edge", "lancedb")
