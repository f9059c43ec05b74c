"""The shared trainer: batches of every size of crew, checkpoints that a kill cut short."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import UsageError
from asqp_models.batches import Batches
from asqp_models.trainer import last_checkpoint
from tests.conftest import Asqp

LENGTHS = [(7 * i) % 31 + 1 for i in range(50)]


@pytest.mark.parametrize(("count", "size"), [(50, 16), (49, 16), (48, 16), (33, 16), (5, 16), (50, 7), (3, 3)])
def test_processes_share_the_same_batches(count: int, size: int) -> None:
    alone = list(Batches(LENGTHS[:count], size, seed=3))
    assert sorted(i for batch in alone for i in batch) == list(range(count))
    assert [len(batch) for batch in alone] == [size] * (count // size) + [count % size] * (count % size > 0)
    for processes in (2, 3):
        shares = [Batches(LENGTHS[:count], size, seed=3, rank=rank, processes=processes) for rank in range(processes)]
        rounds = list(zip(*shares, strict=True))  # as many updates in each process
        assert all(each for one_round in rounds for each in one_round)
        together = [sorted(i for share in one_round for i in share) for one_round in rounds]
        assert sorted(i for batch in together for i in batch) == list(range(count))
        whole = [sorted(batch) for batch in alone]
        if count % size % processes == 0 or count % size >= processes:
            assert together == whole
        else:  # a last batch that is too small for all of them goes with the one before
            assert together == [*whole[:-2], sorted(whole[-2] + whole[-1])]


def test_the_order_is_that_of_the_seed_and_the_epoch() -> None:
    def order(seed: int, epoch: int) -> list[list[int]]:
        batches = Batches(LENGTHS, 8, seed=seed)
        batches.set_epoch(epoch)
        return list(batches)

    assert order(0, 0) == order(0, 0)
    assert len({json.dumps(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4
    lengths = LENGTHS * 8
    spread = [max(each) - min(each) for each in ([lengths[i] for i in batch] for batch in Batches(lengths, 8, seed=0))]
    assert sum(spread) / len(spread) < 5  # grouped by length; neighbours in the list are 26 apart


def test_fewer_windows_than_processes_are_refused() -> None:
    for lengths, size in (([1], 8), ([1] * 9, 1)):
        with pytest.raises(UsageError, match=r"batch_size: found .* for 2 processes, expected one a process at least"):
            Batches(lengths, size, seed=0, processes=2)


def _checkpoint(folder: Path, step: int, best: int | None = None, without: str = "") -> Path:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        if name != without:
            with zipfile.ZipFile(path / name, "w") as file:
                file.writestr("data", b"x")
    state = {"best_global_step": best, "best_model_checkpoint": best and f"/elsewhere/checkpoint-{best}"}
    if without != "trainer_state.json":
        (path / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    return path


@pytest.mark.parametrize("without", ["optimizer.pt", "rng_state.pth", "trainer_state.json"])
def test_a_checkpoint_that_was_cut_short_is_passed_over(without: str, tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    good = _checkpoint(tmp_path, 9, best=9)
    cut = _checkpoint(tmp_path, 18, without=without)
    assert last_checkpoint(tmp_path) == str(good)
    assert not cut.exists()
    half = _checkpoint(tmp_path, 100)
    (half / "trainer_state.json").write_text('{"best_global', encoding="utf-8")
    (_checkpoint(tmp_path, 101) / "optimizer.pt").write_bytes(b"PK\3\4 half")
    assert last_checkpoint(tmp_path) == str(good)
    # The best model is found where the folder is now.
    assert json.loads((good / "trainer_state.json").read_text())["best_model_checkpoint"] == str(good)


TRAIN = str(Path(__file__).parents[2] / "train.py")
SETTINGS = ("encoder=scratch", "epochs=10", "learning_rate=1e-3", "negatives=true", "threshold=null", "batch_size=16")


def _train(dataset: Path, output: Path) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["--method", "extract-classify", "--dataset", str(dataset), "--output", str(output), *settings]


def _files(folder: Path) -> dict[str, bytes]:
    own = ("environment.json", "training_args.bin")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in own
    }


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of a few words, so that an epoch takes less than a second."""
    folder = tmp_path_factory.mktemp("dataset")
    for name, size in (("train", 67), ("dev", 8), ("test", 8)):
        lines = [
            f"第{i:02}次买味道{'好差'[i % 2]}####[['味道#x', '5,7', '7,8', '{2 - 2 * (i % 2)}']]\n" for i in range(size)
        ]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nothing disturbed."""
    output = tmp_path_factory.mktemp("whole") / "run"
    command = [sys.executable, TRAIN, *_train(dataset, output)]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True)
    return output


def test_a_training_that_was_killed_ends_as_one_that_was_not(dataset: Path, whole: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    command = [sys.executable, TRAIN, *_train(dataset, output)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for _ in range(2):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        checkpoints = tmp_path / ".run.unfinished" / "checkpoints"
        before = set(checkpoints.glob("checkpoint-*/trainer_state.json"))
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if set(checkpoints.glob("checkpoint-*/trainer_state.json")) - before:
                break
            time.sleep(0.02)
        time.sleep(0.3)  # into the epoch that follows
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not output.exists()
    subprocess.run(command, check=True, env=environment, capture_output=True)
    assert _files(output) == _files(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_two_processes_train_one_model(dataset: Path, whole: Path, tmp_path: Path, asqp: Asqp) -> None:
    pytest.importorskip("accelerate", reason="needs the train extra")
    output = tmp_path / "run"
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launch, TRAIN, *_train(dataset, output)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("extract-classify on ") == 1  # one process reports
    assert json.loads((output / "environment.json").read_text())["processes"] == 2

    def rows(folder: Path) -> list[dict[str, float]]:
        return [json.loads(line) for line in (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()]

    one, two = rows(whole), rows(output)
    assert [row["step"] for row in one] == [row["step"] for row in two]
    for a, b in zip(one, two, strict=True):
        if "loss" in a:  # the same windows in the same updates; dropout and the order of sums differ
            assert b["loss"] == pytest.approx(a["loss"], rel=0.1)
    # A second time the run is there: both processes end at once.
    again = subprocess.run(
        [*launch, TRAIN, *_train(dataset, output)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "done before" in again.stdout
    # Two processes predict the bytes of one.
    predict = ["predict", str(dataset), "--split", "all", "--model", str(output), "--batch-size", "32", "--out"]
    code, _, err = asqp(*predict, tmp_path / "one.jsonl")
    assert code == 0, err
    command = [*launch, "-m", "asqp_models.cli", *predict, str(tmp_path / "two.jsonl")]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "run", "two.jsonl"]
