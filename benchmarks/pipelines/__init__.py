"""Pipelines that people complain about: each a chain of ours, and what NumPy, torch and the tools in use today do."""
