"""The command line: thin over the public library."""

from taskseal.cli.main import main

__all__ = ["main"]
