"""What reading a damaged archive of arrays (npz) raises."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib

#: of a damaged archive, a damaged array or text of the wrong kind; RuntimeError: encrypted, or another version of zip
DAMAGES = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RuntimeError, MemoryError),
    # the header of an array is parsed
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError),
)
