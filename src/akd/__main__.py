"""``python -m akd`` is the command line."""

from akd.cli import main

if __name__ == "__main__":
    main()
