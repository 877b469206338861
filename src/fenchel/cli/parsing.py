"""A parser of arguments whose errors are one line, which names what may have been meant."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import NoReturn

#: how similar a name must be to be suggested, as difflib counts: "--C" is to "-C" by 0.8
_SIMILAR = 0.7


class Parser(ArgumentParser):
    """A parser whose errors are one line."""

    #: those of the commands
    commands: Mapping[str, Parser] = {}
    #: the options of a command
    names: tuple[str, ...] = ()

    def parsed(self, arguments: Sequence[str] | None) -> Namespace:
        """The options; unknown ones are an error of the command that they were given to."""
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            command, option = self.commands[options.command], unknown[0]
            others = [f"`{name}`" for name, other in self.commands.items() if option in other.names]
            hint = f"; {option} is an option of {', '.join(others)}" if others else _near(option, command.names)
            command.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"argument COMMAND: invalid choice: '([\w-]+)", message)
        hint = _near(wrong[1], tuple(self.commands)) if wrong else ""
        self.exit(2, f"fenchel: {message}{hint}; see `{self.prog} --help`\n")


def _near(wrong: str, names: Sequence[str]) -> str:
    """What may have been meant by the name of a command or of an option that does not exist."""
    # here, since help takes less time without it
    from difflib import get_close_matches

    shorter = [name for name in names if name.startswith("--") and wrong.startswith(name)]
    near = shorter or get_close_matches(wrong, names, n=1, cutoff=_SIMILAR)
    return f" (did you mean {near[0]!r}?)" if near else ""
