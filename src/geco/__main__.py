"""``python -m geco`` is ``geco``."""

from geco.cli.main import main

if __name__ == "__main__":
    main()
