"""A metric's Space, loaded by evaluate by its name, in fresh processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN
from .clients import client_environment, run_client

pytest.importorskip("evaluate")

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer

MAIN = """
import datasets
import evaluate

from .scoring import share


class Tiny(evaluate.Metric):
    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references):
        return {"share": share(predictions, references)}
"""

SCORING = """
def share(predictions, references):
    return sum(p == r for p, r in zip(predictions, references, strict=True)) / len(references)
"""

LOAD = """
import evaluate

metric = evaluate.load({name!r})
print(metric.compute(predictions=["a", "b", "c", "d"], references=["a", "b", "x", "y"]))
"""

LIST = """
print(sorted({{{own!r}, "tiny"}} & set(evaluate.list_evaluation_modules("metric"))))
"""


def test_space_by_both_names(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    """``asqp/name`` is the Space of that name; a bare ``name`` is looked for in evaluate's own namespace.

    First the revision ``v<version of evaluate>`` is tried: it must be 404, or main is never asked for.
    """
    api.create_repo("evaluate-metric/tiny", repo_type="space", space_sdk="gradio", exist_ok=True)
    own = new_repo(repo_type="space", space_sdk="gradio")
    name = own.split("/")[1]
    for repo, main in ((own, f"{name}.py"), ("evaluate-metric/tiny", "tiny.py")):
        folder = tmp_path / repo
        folder.mkdir(parents=True)
        (folder / main).write_text(MAIN)
        (folder / "scoring.py").write_text(SCORING)
        (folder / "README.md").write_text("---\nsdk: gradio\ntags: [evaluate, metric]\n---\n")
        api.upload_folder(folder_path=folder, repo_id=repo, repo_type="space")
    code = LOAD.format(name=own) + LOAD.format(name="tiny") + LIST.format(own=own)
    done = run_client(code, client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN))
    assert (done.code, done.out) == (0, "{'share': 0.5}\n" * 2 + f"{sorted([own, 'tiny'])}\n"), done.err
    asked = [(entry.path, entry.status) for entry in hub.requests("", f"/spaces/{own}/resolve/v")]
    assert asked
    assert {status for _, status in asked} == {404}
    assert hub.requests("GET", f"/spaces/{own}/resolve/main/scoring.py$")
