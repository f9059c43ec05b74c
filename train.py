"""What ``accelerate launch train.py CONFIG …`` runs: the same as ``asqp train CONFIG …``."""

import sys

from asqp_models.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "train")
    main()
