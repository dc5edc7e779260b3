"""Embedders: text into vectors, offline or over the network, behind the one port of `ports.Embedder`."""

from .opening import NAMES, chosen, embedder_of, open_embedder, profile_of

__all__ = ["NAMES", "chosen", "embedder_of", "open_embedder", "profile_of"]
