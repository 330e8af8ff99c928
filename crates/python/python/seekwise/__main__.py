"""`python -m seekwise`: the program."""

import sys

from seekwise._program import main

sys.exit(main())
