"""Files of skops: fitted estimators without pickles, read where all types in them are known to be harmless."""

from __future__ import annotations

import os
from typing import Any

from latticework.errors import FormatError, MissingPackageError, SecurityError


def load_skops(path: str | os.PathLike[str], trust: bool = False) -> Any:
    """The estimator of a `.skops` file, for `from_sklearn`.

    trust   that the file was made by somebody who may execute code here: types that skops does not know may
    raises  SecurityError, without trust, for a file with such types, with their names; FormatError for what is no such
            file; MissingPackageError without skops
    """
    try:
        import skops.io
    except ImportError:
        raise MissingPackageError("reading .skops files takes the package skops: pip install skops") from None
    name = os.fspath(path)
    try:
        unknown = skops.io.get_untrusted_types(file=name)
        if unknown and not trust:
            raise SecurityError(
                f"{name} holds types that may execute code when they are read: {', '.join(unknown[:8])}; with "
                "trust=True it is read, if you know who made it"
            )
        return skops.io.load(name, trusted=unknown)
    except (SecurityError, OSError):
        raise
    except Exception as error:
        raise FormatError(
            f"{name} is no .skops file that this version of skops reads ({type(error).__name__}: {error}); save the "
            "estimator anew with skops.io.dump"
        ) from error
