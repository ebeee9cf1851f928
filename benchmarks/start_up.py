"""How long the command line takes to answer, beside Python's own start.

Each command is run in a new process, in turns with an empty Python program; the best round counts,
because other programs can only slow a round down. Exit code 1 if a help takes more than 0.5 s
longer than Python itself.

    python benchmarks/start_up.py                    10 rounds
    python benchmarks/start_up.py --rounds 3
"""

import argparse
import subprocess
import sys
import time

import pandas as pd

LIMIT_SECONDS = 0.5
EMPTY = "python -c pass"
COMMANDS = {
    EMPTY: ["-c", "pass"],
    "stillome --help": ["-m", "stillome", "--help"],
    "stillome run --help": ["-m", "stillome", "run", "--help"],
    "stillome --version": ["-m", "stillome", "--version"],
    "import stillome": ["-c", "import stillome"],
    "from stillome import InvFA": ["-c", "from stillome import InvFA"],
}


def seconds(arguments: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(rounds: int) -> pd.DataFrame:
    taken = [{name: seconds(words) for name, words in COMMANDS.items()} for _ in range(rounds)]
    best = pd.DataFrame(taken).min()
    return pd.DataFrame(
        {"seconds": best, "more than Python": best - best[EMPTY], "ratio": best / best[EMPTY]}
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    table = measure(parser.parse_args().rounds)
    print(table.round({"seconds": 3, "more than Python": 3, "ratio": 1}).to_string())
    helps = table.index.str.endswith("--help")
    return int((table.loc[helps, "more than Python"] > LIMIT_SECONDS).any())


if __name__ == "__main__":
    sys.exit(main())
