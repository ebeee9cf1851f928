"""Files made to hurt: bombs, paths that lead outside, claims of gigabytes, endless entities."""

import functools
import gzip
import io
import os
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from connectome_files import COUNTS, SAMPLES
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes


def gzip_bomb(path: Path) -> Path:
    """Two gigabytes in many members, of which only one had to be packed."""
    path.write_bytes(gzip.compress(b"0," * 2**24, 6) * 64)
    return path


@functools.cache
def zipped_zeros() -> bytes:
    """A zip of 64 megabytes of nothing."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sub-01_connectome.csv", bytes(2**26))
    return buffer.getvalue()


def zip_bomb(path: Path) -> Path:
    path.write_bytes(zipped_zeros())
    return path


def lying_zip(path: Path, claim: int = 10) -> Path:
    """A zip whose directory claims that 64 megabytes are ten bytes."""
    path.write_bytes(
        zipped_zeros().replace((2**26).to_bytes(4, "little"), claim.to_bytes(4, "little"))
    )
    return path


def claiming_zip(path: Path) -> Path:
    """A zip whose directory claims more than is ever unpacked."""
    return lying_zip(path, 640 * 2**20)


def mat_bomb(path: Path) -> Path:
    """A packed variable of 3,600 × 3,600, as large inside as it says."""
    size = 3_600 * 3_600 * 8
    flags = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 3_600, 3_600)
    head = flags + struct.pack("<HH4s", 1, 2, b"cm") + struct.pack("<II", 9, size)
    packer = zlib.compressobj(6)
    parts = [packer.compress(struct.pack("<II", 14, len(head) + size) + head)]
    parts += [packer.compress(bytes(2**20)) for _ in range(size // 2**20 + 1)]
    packed = b"".join([*parts, packer.flush()])
    title = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(title + struct.pack("<II", 15, len(packed)) + packed)
    return path


def npz_bomb(path: Path) -> Path:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("counts.npy", "w", force_zip64=True) as member,
    ):
        shape = (13, 1000, 1000)
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        for _ in range(104):
            member.write(bytes(1_000_000))
    return path


def gifti_bomb(path: Path) -> Path:
    """A small matrix whose packed data are much larger than it says."""
    import base64

    packed = base64.b64encode(zlib.compress(bytes(2**26))).decode()
    path.write_text(
        '<GIFTI Version="1.0"><DataArray DataType="NIFTI_TYPE_FLOAT32" Dimensionality="2" '
        'Dim0="6" Dim1="6" Encoding="GZipBase64Binary" Endian="LittleEndian">'
        f"<Data>{packed}</Data></DataArray></GIFTI>"
    )
    return path


BOMBS = {
    "sub-01_connectome.csv.gz": gzip_bomb,
    "bomb.zip": zip_bomb,
    "lying.zip": lying_zip,
    "claiming.zip": claiming_zip,
    "bomb.mat": mat_bomb,
    "bomb.npz": npz_bomb,
    "sub-01_full-connectome.shape.gii": gifti_bomb,
}


def test_bombs_are_refused_within_a_gigabyte(tmp_path: Path) -> None:
    """In a process of its own, whose memory is limited by the system."""
    paths = [str(make(tmp_path / name)) for name, make in BOMBS.items()]
    program = textwrap.dedent("""
        import resource, sys, time
        from stillome.exceptions import StillomeError
        from stillome.io.connectomes import read_connectomes
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
        for path in sys.argv[1:]:
            started = time.process_time()
            try:
                read_connectomes(path)
            except StillomeError as error:
                assert "\\n" not in str(error), error
            else:
                raise SystemExit(f"{path} was read")
            assert time.process_time() - started < 5, path
        print("all refused")
    """)
    result = subprocess.run(
        [sys.executable, "-c", program, *paths],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert result.stdout.strip() == "all refused", result.stderr[-2000:]


@pytest.mark.parametrize(
    "name", ["../../etc/sub-01.csv", "/etc/sub-01.csv", "a\\..\\..\\sub-01.csv", "c:sub-01.csv"]
)
def test_names_that_lead_outside_an_archive_are_refused(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), "0,1\n1,0\n")
    with pytest.raises(FileError, match="leads outside the archive"):
        read_connectomes(tmp_path / "x.zip")


def test_links_in_an_archive_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("sub-01_connectome.csv")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(FileError, match="leads outside the archive"):
        read_connectomes(tmp_path / "x.zip")


def test_encrypted_archives_are_refused(tmp_path: Path) -> None:
    path = SAMPLES["zipped_csv"].make(tmp_path)
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        while start >= 0:
            data[start + place] |= 1
            start = data.find(mark, start + 1)
    path.write_bytes(data)
    with pytest.raises(FileError, match="damaged archive"):
        read_connectomes(path)


def test_an_archive_in_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("inner.zip", b"PK\x03\x04" + bytes(40))
    with pytest.raises(FileError, match="no connectome files in this archive"):
        read_connectomes(tmp_path / "x.zip")


@pytest.mark.parametrize("name", ["sub-01_full-connectome.shape.gii", "sub-01.graphml"])
def test_endless_entities_are_refused(name: str, tmp_path: Path) -> None:
    entities = "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha" * 10}">' for i in range(9)
    )
    root = "GIFTI" if name.endswith("gii") else "graphml"
    (tmp_path / name).write_text(f"<!DOCTYPE x [{entities}]><{root}>&e8;</{root}>")
    with pytest.raises(FileError, match="entities of its own"):
        read_connectomes(tmp_path / name)


def test_endless_entities_in_cifti_are_refused(tmp_path: Path) -> None:
    folder = SAMPLES["cifti"].make(tmp_path)
    path = min(folder.glob("*.pconn.nii"))
    path.write_bytes(path.read_bytes().replace(b"<Parcel ", b'<!ENTITY a "b"><Parcel ', 1))
    with pytest.raises(FileError, match="entities of its own"):
        read_connectomes(path)


def test_gifti_does_not_open_other_files(tmp_path: Path) -> None:
    path = tmp_path / "sub-01_full-connectome.shape.gii"
    path.write_text(
        '<GIFTI Version="1.0"><DataArray DataType="NIFTI_TYPE_FLOAT32" Dimensionality="2" '
        'Dim0="6" Dim1="6" Encoding="ExternalFileBinary" Endian="LittleEndian" '
        'ExternalFileName="/etc/passwd"><Data/></DataArray></GIFTI>'
    )
    with pytest.raises(FileError, match="'ExternalFileBinary' is not read"):
        read_connectomes(path)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-32"])
def test_text_that_is_not_utf_8_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "sub-01.csv"
    path.write_bytes("région,insula\n0,5\n5,0\n".encode(encoding))
    with pytest.raises(FileError, match=r"not UTF-8|zero bytes|not recognised"):
        read_connectomes(path)


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "sub-01.csv"
    path.write_bytes(b"\xef\xbb\xbf0,5\r\n5,0\r\n")
    np.testing.assert_array_equal(read_connectomes(path).connectomes[0], [[0, 5], [5, 0]])


def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sub-01.csv")
    for path in (tmp_path / "sub-01.csv", Path("/dev/zero")):
        with pytest.raises(FileError, match="neither a file nor a folder"):
            read_connectomes(path)


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    folder = SAMPLES["mrtrix_blanks"].make(tmp_path / "data")
    (folder / "again").symlink_to(folder)
    assert read_connectomes(folder).n_subjects == len(COUNTS)


def test_a_header_may_not_claim_more_than_the_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", COUNTS)
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data.replace(b"(4, 6, 6), }", b"(4000, 6, 6)}"))
    with pytest.raises(FileError, match="cut off"):
        read_connectomes(tmp_path / "x.npy")


def test_gzip_in_several_members_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "sub-01.csv.gz"
    path.write_bytes(gzip.compress(b"0,5\n") + gzip.compress(b"5,0\n"))
    np.testing.assert_array_equal(read_connectomes(path).connectomes[0], [[0, 5], [5, 0]])
