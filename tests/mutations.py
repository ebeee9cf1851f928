"""Ways in which files go wrong: cut off, flipped, filled with other things."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]


def rewrite(path: Path, data: bytes) -> None:
    """Replace a file's content in place; ext4 flushes to disk what is emptied and written anew."""
    with path.open("r+b") as stream:
        stream.write(data)
        stream.truncate()


def truncate(data: bytes, generator: np.random.Generator) -> bytes:
    return data[: int(generator.integers(0, max(1, len(data))))]


def flip_bits(data: bytes, generator: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(int(generator.integers(1, 20))):
        if changed:
            place = int(generator.integers(0, len(changed)))
            changed[place] ^= 1 << int(generator.integers(0, 8))
    return bytes(changed)


def flip_header(data: bytes, generator: np.random.Generator) -> bytes:
    """Headers stand at the beginning, where a single wrong bit says most."""
    changed = bytearray(data)
    if changed:
        changed[int(generator.integers(0, min(len(changed), 256)))] = int(
            generator.integers(0, 256)
        )
    return bytes(changed)


def huge_numbers(data: bytes, generator: np.random.Generator) -> bytes:
    """Sizes that claim gigabytes, in either byte order."""
    changed = bytearray(data)
    values = (2**31 - 1, 2**32 - 1, 2**30, 10**6)
    word = struct.pack(
        str(generator.choice(["<", ">"])) + "I", int(generator.choice(values))
    ) * int(generator.integers(1, 3))
    place = int(generator.integers(0, max(1, min(len(changed), 2048))))
    changed[place : place + len(word)] = word
    return bytes(changed)


def insert_noise(data: bytes, generator: np.random.Generator) -> bytes:
    place = int(generator.integers(0, len(data) + 1))
    return data[:place] + generator.bytes(int(generator.integers(1, 40))) + data[place:]


def remove_slice(data: bytes, generator: np.random.Generator) -> bytes:
    start = int(generator.integers(0, len(data) + 1))
    return data[:start] + data[start + int(generator.integers(1, 60)) :]


def odd_cell(data: bytes, generator: np.random.Generator) -> bytes:
    """A word where a number was, or a number that cannot be a count."""
    words = [
        b"nan",
        b"-3",
        b"1e400",
        b"inf",
        b"n/a",
        b"",
        b"0x1F",
        b"1,5",
        b"text",
        b"\xff\xfe",
        b"'",
    ]
    words += [b"1_000", b"9" * 400, b"5.", b"+7", b"\x00", "½".encode(), b"[1]", b"null", b"{}"]
    place = int(generator.integers(0, len(data) + 1))
    end = place + int(generator.integers(0, 4))
    return data[:place] + words[int(generator.integers(0, len(words)))] + data[end:]


def wrong_delimiter(data: bytes, generator: np.random.Generator) -> bytes:
    marks = [b",", b"\t", b" ", b";", b"|", b"\n"]
    left, right = generator.choice(len(marks), size=2, replace=False)
    return data.replace(marks[left], marks[right])


def repeat(data: bytes, generator: np.random.Generator) -> bytes:
    return data * int(generator.integers(2, 4))


def packed(data: bytes, generator: np.random.Generator) -> bytes:
    cut = gzip.compress(data)
    return cut if generator.random() < 0.5 else cut[: int(generator.integers(0, len(cut)))]


def other_type(data: bytes, generator: np.random.Generator) -> bytes:
    """Another dtype in a header that is text."""
    swaps = [
        (b"<f8", b"|O8"),
        (b"<f8", b"<f4"),
        (b"<f8", b"<c8"),
        (b"<i8", b"<M8"),
        (b"'<f8'", b"[]"),
    ]
    swaps += [
        (b"<f8", b"<U9"),
        (b"False", b"True"),
        (b"FLOAT32", b"FLOAT64"),
        (b"double", b"object"),
    ]
    old, new = swaps[int(generator.integers(0, len(swaps)))]
    return data.replace(old, new)


def nothing(data: bytes, generator: np.random.Generator) -> bytes:
    return [b"", b"\n", b"\x00" * 64, b"#\n#\n", b"\xef\xbb\xbf"][int(generator.integers(0, 5))]


MUTATIONS: tuple[Mutation, ...] = (
    truncate,
    flip_bits,
    flip_header,
    huge_numbers,
    insert_noise,
    remove_slice,
    odd_cell,
    odd_cell,
    wrong_delimiter,
    repeat,
    packed,
    other_type,
    nothing,
)
