"""The entry script."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

if __name__ == "__main__":  # and not where a process of workers looks for it, which needs nothing of the pages
    from app.pages import main

    main()
