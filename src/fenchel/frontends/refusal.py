"""The end of a program that can't go on."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 (an end with a status; not every one is an error)
    """Ends a program with an exit status.

    Parameters
    ----------
    status : int
        The exit status, that of the original program.
    error : str
        What is printed to standard error, without the end of its line.
    output : str, default=""
        What is printed to standard output.
    """

    def __init__(self, status: int, error: str = "", output: str = "") -> None:
        super().__init__(error or output)
        self.status, self.error, self.output = status, error, output
