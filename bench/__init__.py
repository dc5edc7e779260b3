"""The benchmark of docs/performance.md. Run it with scripts/bench; it is not part of the package."""
