"""``python -m service``: the same as ``normbench``."""

from service.cli import main

if __name__ == "__main__":
    main()
