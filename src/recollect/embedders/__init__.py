"""Embedders: text into vectors, offline or over the network, behind the one port of `ports.Embedder`."""

from .opening import NAMES, apart, chosen, embedder_of, open_embedder, profile_of

__all__ = ["NAMES", "apart", "chosen", "embedder_of", "open_embedder", "profile_of"]
