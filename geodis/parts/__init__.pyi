"""Public names, and where each lives: what runs and what type checkers read."""

from .factorise_parts import factorise_parts as factorise_parts
from .map_part import open_parts as open_parts, PartsFolder as PartsFolder
from .map_part import map_part as map_part, PartTask as PartTask
