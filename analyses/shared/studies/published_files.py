"""Published data sets that a user has the files of, as a command line names them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from geodis.base import InputError


def files_of(pairs: Sequence[str], known: Collection[str], such_as: str) -> dict[str, str]:
    """Paths of published sets by name, from NAME=PATH, all of which must be there.

    Looked at before anything else takes its minutes.

    Parameters
    ----------
    pairs : sequence of str
    known : collection of str
        Names that there are.
    such_as : str
        An example, for the sentence that refuses another.

    Examples
    --------
    >>> files_of([], ["cars3d"], "cars3d=cars.mat")
    {}
    """
    files = {}
    for pair in pairs:
        name, _, path = pair.partition("=")
        if name not in known or not path:
            raise InputError(
                f"--published must be one of {', '.join(known)} and its path, such as {such_as}; "
                f"got {pair}."
            )
        # Halves of SmallNORB come after a colon.
        if not any(Path(one).exists() for one in (path, path.rpartition(":")[0] or path)):
            raise InputError(f"{path} must be the file or folder of {name}; there is none.")
        files[name] = path
    return files
