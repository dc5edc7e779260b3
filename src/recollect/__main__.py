"""`python -m recollect` is `recollect`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
