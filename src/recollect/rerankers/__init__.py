"""Rerankers: a question and some texts in, how well each answers it out, behind the one port of `ports.Reranker`."""

from .opening import NAMES, chosen, open_reranker

__all__ = ["NAMES", "chosen", "open_reranker"]
