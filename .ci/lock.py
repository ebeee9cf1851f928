"""Write requirements.lock: every pinned package with the SHA-256 of all its files.

    python .ci/lock.py INDEX > requirements.lock

INDEX is the address of a package index, the one that pip uses. The pins are those of
constraints.txt, the build backend among them. `make verified` installs by the lock: pip refuses
a file whose hash is not in it.
"""

import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_FILE = re.compile(r'href="[^"#]*/([^"/#]+)#sha256=([0-9a-f]{64})')


def normal(text: str) -> str:
    """Return a name or version as it is compared."""
    return re.sub(r"[-_.]+", "-", text).lower()


def hashes(index: str, pin: str) -> list[str]:
    """Return the hashes of all files of ``name==version``; a marker may follow."""
    name, version = pin.partition(";")[0].strip().split("==")
    address = f"{index.rstrip('/')}/{normal(name)}/"
    if not address.startswith("https://"):
        sys.exit("Give the address of an index that starts with https://.")
    asked = urllib.request.Request(address, headers={"Accept": "text/html"})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - https, see above
        page = answer.read().decode("utf-8")
    begins = f"{normal(name)}-{normal(version)}-"
    found = {digest for file, digest in _FILE.findall(page) if normal(file).startswith(begins)}
    if not found:
        sys.exit(f"{pin}: no file of it in this index.")
    return sorted(found)


def main() -> None:
    """Print the lock."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pins = [line for line in Path("constraints.txt").read_text().splitlines() if "==" in line]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda pin: hashes(sys.argv[1], pin), pins))
    for pin, digests in zip(pins, found, strict=True):
        print(" \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in digests)]))


if __name__ == "__main__":
    main()
