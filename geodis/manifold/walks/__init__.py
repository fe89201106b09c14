"""Traversals: moving along one factor while the others are fixed."""
