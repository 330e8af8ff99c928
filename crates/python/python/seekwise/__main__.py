"""`python -m seekwise`: the program."""

import sys

from seekwise._program import main

if __name__ == "__main__":
    sys.exit(main())
