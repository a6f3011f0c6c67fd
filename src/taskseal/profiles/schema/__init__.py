"""JSON Schemas: the shipped ones and the users', compiled once, and the one fault to name.

Source: SPEC section 5.
"""

from taskseal.profiles.schema.check import Schema
from taskseal.profiles.schema.fault import SchemaFault

__all__ = ["Schema", "SchemaFault"]
