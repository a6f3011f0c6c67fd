"""One file that says who a receiver is, whom it trusts for what, and what it allows.

Source: SPEC section 9 (``taskseal.toml``).
"""

from taskseal.config.config import Config
from taskseal.config.read import load_config

__all__ = ["Config", "load_config"]
