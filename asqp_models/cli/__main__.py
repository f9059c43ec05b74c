"""``python -m asqp_models.cli`` is ``asqp``."""

from asqp_models.cli import main

if __name__ == "__main__":
    main()
