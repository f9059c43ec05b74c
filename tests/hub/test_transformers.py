"""A tiny checkpoint pushed and loaded by id, in fresh processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN, STRANGER_TOKEN
from .clients import client_environment, run_client

pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("transformers", reason="the extra train is not installed")

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .server import HubServer

PUSH = """
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer, BertConfig, BertForTokenClassification
from transformers import BertTokenizer
from huggingface_hub import HfApi, ModelCard
from huggingface_hub.utils import get_session

repo = {repo!r}
torch.manual_seed(0)
config = BertConfig(
    vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=3
)
model = BertForTokenClassification(config)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "food", "好", "吃"]
with open("vocab.txt", "w", encoding="utf-8") as file:
    file.write("\\n".join(words) + "\\n")
tokenizer = BertTokenizer(vocab="vocab.txt")
model.push_to_hub(repo, private=True)
tokenizer.push_to_hub(repo)
ModelCard("---\\nlibrary_name: transformers\\n---\\n# Tagger\\n").push_to_hub(repo)
api = HfApi()
sha = api.model_info(repo).sha
model.push_to_hub(repo)
assert api.model_info(repo).sha == sha
api.create_tag(repo, tag="v1")

loaded = AutoModelForTokenClassification.from_pretrained(repo)
assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
assert AutoTokenizer.from_pretrained(repo)("good food")["input_ids"] == [2, 5, 6, 3]

log = api.endpoint + "/_hub/log"
get_session().delete(log)
AutoModelForTokenClassification.from_pretrained(repo)
print(get_session().get(log).text)

with torch.no_grad():
    model.classifier.bias += 1
model.push_to_hub(repo, revision="next")
changed = AutoModelForTokenClassification.from_pretrained(repo, revision="next")
assert torch.equal(changed.classifier.bias, model.classifier.bias)
kept = AutoModelForTokenClassification.from_pretrained(repo, revision="v1")
assert torch.equal(kept.classifier.bias, loaded.classifier.bias)

for token in {strangers!r}:
    try:
        AutoModelForTokenClassification.from_pretrained(repo, token=token, cache_dir="empty")
    except OSError as error:
        assert "is not a valid model identifier" in str(error), error
    else:
        raise AssertionError("a private model was loaded")
api.update_repo_settings(repo, visibility="public", gated="auto")
try:
    AutoModelForTokenClassification.from_pretrained(repo, token={stranger!r}, cache_dir="empty")
except OSError as error:
    assert "gated repo" in str(error), error
else:
    raise AssertionError("a gated model was loaded")
"""


def test_checkpoint_by_id(api: HfApi, hub: HubServer, unused_id: str, tmp_path: Path) -> None:
    code = PUSH.format(repo=unused_id, strangers=[STRANGER_TOKEN, False], stranger=STRANGER_TOKEN)
    done = run_client(code, client_environment(hub.endpoint, tmp_path, OWNER_TOKEN))
    assert done.code == 0, done.err
    info = api.model_info(unused_id)
    assert info.config is not None
    assert info.config["architectures"] == ["BertForTokenClassification"]
    assert info.library_name == "transformers"
    assert {ref.name for ref in api.list_repo_refs(unused_id).branches} == {"main", "next"}
    second_load = json.loads(done.out)
    assert [(entry["method"], entry["path"]) for entry in second_load] == [("GET", f"/api/models/{unused_id}")]
