"""Proofs that forms keep what they promise: random schemas, every keyword, hostile schemas, real catalogues."""
