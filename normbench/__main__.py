"""``python -m normbench``: the same as ``normbench``."""

from normbench.cli import main

if __name__ == "__main__":
    main()
