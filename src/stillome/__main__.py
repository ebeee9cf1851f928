"""`python -m stillome` is the same as `stillome`."""

import sys

from stillome.cli import main

sys.exit(main())
