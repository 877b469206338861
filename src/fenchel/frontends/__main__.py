"""``python -m fenchel.frontends liblinear train ...``: what the installed executables call."""

import sys

from fenchel.frontends.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
