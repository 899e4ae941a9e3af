#!/usr/bin/env python3
"""Nothing goes up, no circles of calls: test/structure --check [ROOT]."""
import os
import subprocess
import sys

STRUCTURE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "structure")

sys.exit(subprocess.call([sys.executable, STRUCTURE, "--check"] + sys.argv[1:]))
