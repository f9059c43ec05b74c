"""Take contents out of the folders in which hf_xet stored them for clients.

``python xet_read.py FOLDER OUT < ["sha256", …]`` writes each content to ``OUT/<sha256>``, stores it in
``FOLDER/kept`` and prints ``{"sha256": "Xet hash"}``. A program of its own, because hf_xet keeps the lock of a folder
until its process ends.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER_SIZE = 48
RECORD_SIZE = 48
HAS_VERIFICATION = 0x80000000
HAS_METADATA = 0x40000000
FAR_FUTURE = 4102444800


@dataclass(frozen=True)
class Content:
    """A file that a shard describes."""

    xet_hash: str
    size: int
    sha256: str


def hexadecimal(hash_: bytes) -> str:
    """A hash as Xet writes it: four little-endian words of 64 bits."""
    return "".join(hash_[i : i + 8][::-1].hex() for i in range(0, 32, 8))


def contents_of(shard: bytes) -> Iterator[Content]:
    """The files of a shard.

    After a header of 48 bytes comes, for each file, a record (hash, flags, number of segments), as many records of
    segments (each with its length in bytes), as many of verification if a flag says so, and one of metadata with the
    SHA-256 if another does. A record of ones ends the list.
    """
    at = HEADER_SIZE
    while at + RECORD_SIZE <= len(shard):
        file_hash = shard[at : at + 32]
        if file_hash == b"\xff" * 32:
            return
        flags, segments = struct.unpack_from("<II", shard, at + 32)
        at += RECORD_SIZE
        size = sum(struct.unpack_from("<I", shard, at + RECORD_SIZE * i + 36)[0] for i in range(segments))
        at += RECORD_SIZE * segments * (2 if flags & HAS_VERIFICATION else 1)
        if flags & HAS_METADATA:
            yield Content(hexadecimal(file_hash), size, hexadecimal(shard[at : at + 32]))
            at += RECORD_SIZE


def contents_in(folder: Path) -> Iterator[Content]:
    """The files that a client stored in a folder."""
    for path in sorted((folder / "xet" / "xorbs" / "shards").glob("*.mdb")):
        yield from contents_of(path.read_bytes())


def collect(folder: Path, out: Path, wanted: set[str]) -> dict[str, str]:
    """Write the wanted contents to a folder and keep them; returns the Xet hashes of those found."""
    import hf_xet

    session = hf_xet.XetSession()
    login = {"token": "xet", "token_expiry_unix_secs": FAR_FUTURE}
    found: dict[str, str] = {}
    for writer in sorted(folder.glob("writer-*")):
        new = {c.sha256: c for c in contents_in(writer) if c.sha256 in wanted and c.sha256 not in found}
        if not new:
            continue
        with tempfile.TemporaryDirectory() as copy:  # the client may still hold the lock
            shutil.copytree(writer, copy, dirs_exist_ok=True)
            with session.new_file_download_group(endpoint=f"local://{copy}", **login) as group:
                for content in new.values():
                    file = hf_xet.XetFileInfo(content.xet_hash, content.size)
                    group.start_download_file(file, str(out / content.sha256))
        found |= {content.sha256: content.xet_hash for content in new.values()}
    if found:
        (folder / "kept").mkdir(exist_ok=True)
        with session.new_upload_commit(endpoint=f"local://{folder / 'kept'}", **login) as commit:
            for sha256 in found:
                commit.start_upload_file(str(out / sha256), sha256=sha256)
    return found


if __name__ == "__main__":
    print(json.dumps(collect(Path(sys.argv[1]), Path(sys.argv[2]), set(json.load(sys.stdin)))))
