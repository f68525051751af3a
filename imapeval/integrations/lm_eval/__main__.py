"""`python -m imapeval.integrations.lm_eval` prints a task file to start from."""

from imapeval.integrations.lm_eval import TEMPLATE

if __name__ == "__main__":
    print(TEMPLATE.read_text(encoding="utf-8"), end="")
