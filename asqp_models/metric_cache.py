"""The metric where ``evaluate.load("asqp_f1")`` finds it, from any directory and without a network.

``evaluate`` looks a bare name up on the Hub, and failing that in its module cache. The module put there hands on
the metric of the installed package, so that it stays current when the package is upgraded; a copy beside it
serves environments that share the cache but have no such package.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

NAMES = ("evaluate-metric--asqp_f1", "asqp--asqp_f1")
"""What the module cache calls ``asqp_f1`` and ``asqp/asqp_f1``."""

_MAIN = '''"""Hands on the metric of the installed package `asqp`; the copy beside it where there is none."""

try:
    from asqp_f1.asqp_f1 import AsqpF1
except ImportError:
    from .bundled.asqp_f1 import AsqpF1

__all__ = ["AsqpF1"]
'''


def metric_folder() -> Path:
    """The folder of the metric's module, for ``evaluate.load(path)``."""
    with as_file(files("asqp_f1")) as folder:
        return Path(folder)


def module_cache() -> Path:
    """The folder where ``evaluate`` keeps metric modules; its environment variables are obeyed."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or Path(caches, "huggingface")
    modules = os.environ.get("HF_MODULES_CACHE") or Path(home, "modules")
    return Path(modules).expanduser() / "evaluate_modules" / "metrics"


def install() -> list[Path]:
    """Put the metric into the module cache; what an older version put there is replaced.

    Returns:
        The files that ``evaluate.load("asqp_f1")`` and ``evaluate.load("asqp/asqp_f1")`` will import.
    """
    sources = sorted(path for path in metric_folder().glob("*.py") if path.name not in ("__init__.py", "app.py"))
    content = hashlib.sha256(_MAIN.encode())
    for path in sources:
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return [_install(module_cache() / name, content.hexdigest(), sources) for name in NAMES]


def _install(home: Path, digest: str, sources: list[Path]) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    target = home / digest
    main = target / "asqp_f1.py"
    if not _is_whole(target, sources):
        work = Path(tempfile.mkdtemp(prefix="installing-", dir=home))
        try:
            (work / "bundled").mkdir()
            for path in sources:
                shutil.copyfile(path, work / "bundled" / path.name)
            (work / main.name).write_text(_MAIN, encoding="utf-8")
            work.chmod(0o755)
            shutil.rmtree(target, ignore_errors=True)
            try:
                work.rename(target)
            except OSError:  # another process was first
                if not _is_whole(target, sources):
                    raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    os.utime(main)  # the newest one is taken
    for other in home.iterdir():
        if len(other.name) == len(digest) and other.name != digest and (other / "bundled").is_dir():
            shutil.rmtree(other, ignore_errors=True)
    return main


def _is_whole(target: Path, sources: list[Path]) -> bool:
    try:
        copies = all((target / "bundled" / path.name).read_bytes() == path.read_bytes() for path in sources)
        return copies and (target / "asqp_f1.py").read_text(encoding="utf-8") == _MAIN
    except (OSError, UnicodeDecodeError):
        return False
