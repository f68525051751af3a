"""`python -m imapeval`: the command, where its script is not on the path."""

from imapeval.cli.main import run

if __name__ == "__main__":
    run()
