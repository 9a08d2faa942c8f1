"""`python -m antiphon`: the command `antiphon`."""

from antiphon.cli.main import main

if __name__ == "__main__":
    main()
