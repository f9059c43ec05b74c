"""The content of files on disk: git blobs by SHA-1, large files by SHA-256, parts of uploads that are under way."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def git_blob_id(data: bytes) -> str:
    """The id that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def lfs_pointer(sha256: str, size: int) -> bytes:
    """What git stores in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


@dataclass(frozen=True)
class File:
    """A file of a commit. A large one has the id of its pointer as ``oid`` and the id of its content as ``sha256``."""

    oid: str
    size: int
    sha256: str | None = None

    @classmethod
    def large(cls, sha256: str, size: int) -> File:
        return cls(git_blob_id(lfs_pointer(sha256, size)), size, sha256)

    @property
    def pointer(self) -> bytes:
        """The LFS pointer of a large file."""
        if self.sha256 is None:
            raise ValueError("only large files have a pointer")
        return lfs_pointer(self.sha256, self.size)

    @property
    def content_id(self) -> str:
        """What clients compare with the local file: SHA-256 for large files, the git blob id for others."""
        return self.sha256 or self.oid

    def to_json(self) -> dict[str, Any]:
        return {"oid": self.oid, "size": self.size} | ({"sha256": self.sha256} if self.sha256 else {})


def write_file(path: Path, data: bytes) -> None:
    """Write under another name and rename, so that no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(data)
    temporary.replace(path)


class ObjectStore:
    """Contents, each in a file named by its id."""

    def __init__(self, folder: Path) -> None:
        self._blobs = folder / "blobs"
        self._large = folder / "lfs"
        self._parts = folder / "parts"

    def put(self, data: bytes) -> File:
        """Store a regular file."""
        file = File(git_blob_id(data), len(data))
        write_file(self._blobs / file.oid, data)
        return file

    def put_large(self, sha256: str, data: bytes) -> bool:
        """Store a large file; false if the content is not what the id says."""
        if hashlib.sha256(data).hexdigest() != sha256:
            return False
        write_file(self._large / sha256, data)
        return True

    def size_of_large(self, sha256: str) -> int | None:
        """The size of a large file that is stored, else none."""
        path = self._large / sha256
        return path.stat().st_size if path.is_file() else None

    def read(self, file: File) -> bytes:
        """The content of a file."""
        return self.read_large(file.sha256) if file.sha256 else (self._blobs / file.oid).read_bytes()

    def read_large(self, sha256: str) -> bytes:
        return (self._large / sha256).read_bytes()

    def put_part(self, sha256: str, number: int, data: bytes) -> str:
        """Store a part of a multipart upload and return its ETag."""
        write_file(self._parts / sha256 / str(number), data)
        return f'"{hashlib.md5(data).hexdigest()}"'

    def join_parts(self, sha256: str, numbers: list[int]) -> bool:
        """Make a large file of its parts; false if one is missing or the whole is not what the id says."""
        folder = self._parts / sha256
        if not all((folder / str(number)).is_file() for number in numbers):
            return False
        if not self.put_large(sha256, b"".join((folder / str(number)).read_bytes() for number in numbers)):
            return False
        shutil.rmtree(folder)
        return True
