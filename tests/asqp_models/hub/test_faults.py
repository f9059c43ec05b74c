"""What goes wrong between here and the Hub: nothing lost, nothing half visible, one line, and a second run finishes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.sources import open_source
from asqp_models import AsqpPredictor
from asqp_models.hub.folders import dataset_contents
from asqp_models.hub.locate import locate
from asqp_models.hub.plan import Contents, Plan, Wishes
from asqp_models.hub.publish import publish
from tests.conftest import Asqp
from tests.hub.accounts import OWNER_READ_TOKEN, OWNER_TOKEN, READER_TOKEN, STRANGER_TOKEN
from tests.hub.clients import client_environment, run_command

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from tests.hub.server import HubServer

Login = Callable[[str | None], None]

pytestmark = pytest.mark.usefixtures("login")


def words(repo: str, **files: bytes) -> Contents:
    """A model of a few files: ``.bin`` goes by LFS, ``.json`` by the commit."""
    return Contents(repo, "model", "words", {name.replace("_", "."): content for name, content in files.items()})


def some(repo: str) -> Contents:
    return words(repo, a_json=b'{"repo": "%s"}' % repo.encode(), b_bin=b"b" + repo.encode(), c_bin=b"c" + repo.encode())


def check_published(hub: HubServer, api: HfApi, contents: Contents, commits: int = 2) -> None:
    assert {name: data for name, data in hub.files("models", contents.repo).items() if name in contents.files} == dict(
        contents.files
    )
    assert len(api.list_repo_commits(contents.repo)) == commits


STEPS = ["/repos/create$", "/tree/", "/preupload/", "/objects/batch$", "^/lfs/objects/", "/lfs/verify", "/commit/"]
FAULTS: list[dict[str, Any]] = [
    {"kind": "status", "status": 429, "headers": {"retry-after": "2"}},
    {"kind": "status", "status": 503},
    {"kind": "lost_request"},
    {"kind": "lost_reply"},
]


@pytest.mark.parametrize("fault", FAULTS, ids=["429", "503", "cut before", "cut after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_fault_that_passes(api: HfApi, hub: HubServer, repo: str, step: str, fault: dict[str, Any]) -> None:
    """At any step, twice: the same command gets through it, with one commit."""
    contents = some(repo)
    once = (step, fault["kind"]) == ("/commit/", "lost_reply")  # then all is there
    hub.fail(path=step, times=1 if once else 2, **fault)
    done = publish(contents)
    assert not hub.state.faults.to_json()
    check_published(hub, api, contents)
    assert done.commit == api.repo_info(repo).sha
    assert publish(contents).plan.empty


def test_a_hub_that_stays_down(api: HfApi, hub: HubServer, repo: str, asqp: Asqp, dataset: Path) -> None:
    hub.fail("status", "/commit/", status=503, times=999, message="Down for maintenance")
    code, _, err = asqp("publish", "dataset", dataset, "--repo", repo)
    assert (code, err) == (
        2,
        f"asqp: {repo}: the Hub is busy or down (503): Down for maintenance; run it again later\n",
    )
    assert hub.files("datasets", repo) == {}
    assert api.repo_info(repo, repo_type="dataset").private
    hub.forget()
    assert asqp("publish", "dataset", dataset, "--repo", repo)[0] == 0
    assert not hub.requests("PUT", "^/lfs/objects/")  # they were there
    assert len(api.list_repo_commits(repo, repo_type="dataset")) == 2


def test_no_token_is_ever_said(hub: HubServer, repo: str, dataset: Path, asqp: Asqp) -> None:
    other = "hf_" + "a1B2" * 8
    hub.fail("status", "/commit/", status=400, message=f"Bad request by {OWNER_TOKEN} and {other}")
    code, out, err = asqp("publish", "dataset", dataset, "--repo", repo)
    assert (code, err) == (2, f"asqp: {repo}: the Hub answers 400: Bad request by hf_… and hf_…\n")
    assert OWNER_TOKEN not in out


def test_an_upload_that_is_cut_sends_only_the_rest(api: HfApi, hub: HubServer, repo: str) -> None:
    contents = some(repo)
    hub.fail("status", "^/lfs/objects/", status=403, skip=1, times=99, message="Expired")
    with pytest.raises(DataError, match=rf"^{repo}: the Hub refuses it: .*"):
        publish(contents)
    assert hub.files("models", repo) == {}
    hub.forget()
    publish(contents)
    assert len(hub.requests("PUT", "^/lfs/objects/")) == 1
    check_published(hub, api, contents)


def test_a_publisher_that_is_killed(api: HfApi, hub: HubServer, repo: str, dataset: Path, tmp_path: Path) -> None:
    hub.fail("delay", "/commit/", seconds=1)
    command = [sys.executable, "-m", "asqp_models.cli", "publish", "dataset", str(dataset), "--repo", repo]
    environment = client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not hub.requests("POST", "/preupload/") and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.2)
    before = hub.files("datasets", repo)
    assert set(before) in (set(), {p.relative_to(dataset).as_posix() for p in dataset.rglob("*") if p.is_file()})
    again = run_command(command, environment)
    assert (again.code, again.err) == (0, "")
    assert set(hub.files("datasets", repo)) == {
        path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file()
    }
    assert len(api.list_repo_commits(repo, repo_type="dataset")) == 2


def test_somebody_elses_file_stays(api: HfApi, hub: HubServer, repo: str) -> None:
    contents = some(repo)
    hub.fail("stale_parent", "/commit/", times=2)
    publish(contents, Wishes(tag="1.0"))
    check_published(hub, api, contents, commits=4)
    assert hub.files("models", repo)["somebody-else.txt"] == b"somebody else was here\n"


def test_a_file_that_somebody_changes_meanwhile_is_not_touched(api: HfApi, hub: HubServer, repo: str) -> None:
    publish(some(repo))
    new = words(repo, a_json=b"new", b_bin=b"new b")

    def meanwhile(plan: Plan) -> None:
        api.upload_file(path_or_fileobj=b"theirs", path_in_repo="a.json", repo_id=repo, commit_message="Mine is better")

    with pytest.raises(
        DataError, match=r"a.json: olivia on .*, 'Mine is better' changed it while this was being published"
    ):
        publish(new, show=meanwhile)
    files = hub.files("models", repo)
    assert (files["a.json"], files["b.bin"]) == (b"theirs", b"b" + repo.encode())  # nothing of it, not half of it
    with pytest.raises(UsageError, match=r"a.json was last changed by .*'Mine is better'"):
        publish(new)  # a second run does not overwrite it unseen either
    publish(new, Wishes(overwrite=True))
    assert hub.files("models", repo)["a.json"] == b"new"


@pytest.mark.parametrize("same", [True, False])
def test_two_publishers_at_once(api: HfApi, hub: HubServer, repo: str, same: bool) -> None:
    both = threading.Barrier(2)
    ended: dict[int, Any] = {}

    def run(number: int) -> None:
        contents = some(repo) if same else words(repo, a_json=b"%d" % number, b_bin=b"b%d" % number)
        try:
            ended[number] = publish(contents, show=lambda plan: both.wait(20) and None)
        except DataError as error:
            ended[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    failed = [number for number, result in ended.items() if isinstance(result, DataError)]
    assert len(api.list_repo_commits(repo)) == 2
    if same:
        assert not failed
        check_published(hub, api, some(repo))
    else:
        (lost,) = failed
        assert "changed it while this was being published" in str(ended[lost])
        assert hub.files("models", repo) == {"a.json": b"%d" % (3 - lost), "b.bin": b"b%d" % (3 - lost)}


@pytest.mark.parametrize(
    ("token", "there", "message"),
    [
        (OWNER_READ_TOKEN, True, "the Hub refuses it: Your token has the role read: a token with the role write is"),
        (OWNER_READ_TOKEN, False, "the Hub refuses it: You don't have the rights to create"),
        (READER_TOKEN, True, "the Hub refuses it: Forbidden: pass `create_pr=1`"),
        (STRANGER_TOKEN, True, "the Hub refuses it: You don't have the rights to create"),  # it looks like missing
        ("hf_wrong", True, "the Hub does not accept the token, expected another login"),
        (None, True, "found no login, expected one by `hf auth login` or HF_TOKEN"),
    ],
    ids=["read-only", "read-only, new", "reader", "stranger", "wrong", "none"],
)
def test_who_may_not(
    api: HfApi,
    hub: HubServer,
    repo: str,
    login: Login,
    dataset: Path,
    asqp: Asqp,
    token: str,
    there: bool,
    message: str,
) -> None:
    if there:
        api.create_repo(repo, repo_type="dataset", private=True)
    login(token)
    code, out, err = asqp("publish", "dataset", dataset, "--repo", repo)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not token or token not in out + err
    login(OWNER_TOKEN)
    assert asqp("publish", "dataset", dataset, "--repo", repo)[0] == 0


def test_a_gated_repository(
    api: HfApi, hub: HubServer, repo: str, line: Path, dataset: Path, login: Login, asqp: Asqp
) -> None:
    publish(dataset_contents(dataset, repo), Wishes(visibility="public", gated="manual"))
    api.create_repo(repo)
    api.upload_folder(repo_id=repo, folder_path=line / "run" / "checkpoint")
    api.update_repo_settings(repo, gated="auto")
    for token in (STRANGER_TOKEN, None):
        login(token)
        for command in (["score", repo, repo], ["predict", "-", "--model", repo, "--out", "-"]):
            code, _, err = asqp(*command)
            assert (code, err.count("\n")) == (2, 1)
            assert "is gated, expected access that its owners grant" in err
    login(STRANGER_TOKEN)
    code, _, err = asqp("publish", "dataset", dataset, "--repo", repo)
    assert (code, "is gated" in err) == (2, True)


LEXICON = "/resolve/.*/lexicon.json$"


def model(api: HfApi, repo: str, line: Path) -> str:
    api.create_repo(repo)
    api.upload_folder(repo_id=repo, folder_path=line / "run" / "checkpoint")
    api.create_tag(repo, tag="v1")
    return repo


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "cut", "path": LEXICON, "method": "GET", "after": 200_000, "times": 8},
        {"kind": "reset", "path": LEXICON, "method": "GET", "after": 200_000, "times": 2},
        {"kind": "lost_request", "path": "/resolve/", "method": "HEAD", "times": 2},
        {"kind": "status", "path": "/resolve/", "status": 429, "headers": {"retry-after": "1"}, "times": 2},
        {"kind": "status", "path": "/api/models/", "status": 503, "times": 2},
    ],
    ids=lambda fault: fault["kind"],
)
def test_a_download_through_faults(api: HfApi, hub: HubServer, repo: str, line: Path, fault: dict[str, Any]) -> None:
    model(api, repo, line)
    hub.fail(**fault)
    folder = locate(f"{repo}@v1")
    assert not hub.state.faults.to_json()
    for path in (line / "run" / "checkpoint").iterdir():
        assert (folder / path.name).read_bytes() == path.read_bytes()


def test_a_download_that_fails_is_finished_by_the_next(api: HfApi, hub: HubServer, repo: str, line: Path) -> None:
    model(api, repo, line)
    hub.fail("reset", LEXICON, method="GET", after=1000, times=999)
    with pytest.raises(DataError, match="found no folder of that name, and the Hub gave none: the connection to http"):
        AsqpPredictor.from_pretrained(repo)
    hub.forget()
    text = "座椅很舒服，外观好看。"
    assert AsqpPredictor.from_pretrained(repo)(text) == AsqpPredictor.from_pretrained(line / "run")(text)
    assert not hub.requests("GET", "/resolve/.*/config.json$")


def test_what_is_missing_on_the_hub(api: HfApi, hub: HubServer, repo: str, line: Path) -> None:
    model(api, repo, line)
    for name, options, message in (
        (f"{repo}-no", {}, "found no such repository on the Hub, or it is private and this login may not see it"),
        (f"{repo}@v9", {}, "found no revision 'v9' on the Hub, expected a branch, tag or commit"),
        (repo, {"revision": "v9"}, "found no revision 'v9' on the Hub"),
        (f"{repo}@v1", {"revision": "v2"}, "revision: found 'v2' and .*@v1, expected one of them"),
        (line / "run", {"revision": "v1"}, "revision: found 'v1' for the folder .*, expected none"),
    ):
        with pytest.raises((DataError, UsageError), match=message):
            AsqpPredictor.from_pretrained(name, **options)
    api.create_repo(repo, repo_type="dataset")
    with pytest.raises(DataError, match="found no revision 'v9' on the Hub"):
        open_source(f"{repo}@v9")


def test_no_network(api: HfApi, hub: HubServer, repo: str, line: Path, tmp_path: Path) -> None:
    """From the cache with HF_HUB_OFFLINE; and where the cache has it not, one line says so."""
    model(api, repo, line)
    command = [sys.executable, "-m", "asqp_models.cli", "predict", "-", "--out", "-", "--model"]
    home = tmp_path / "home"

    def predict(name: str, **options: Any) -> Any:
        environment = client_environment(hub.endpoint, home, OWNER_TOKEN, **options)
        reviews = tmp_path / "reviews.txt"
        reviews.write_text("座椅很舒服，外观好看。\n", encoding="utf-8")
        return run_command([*command[:4], str(reviews), *command[5:], name], environment)

    online = predict(repo)
    assert online.code == 0, online.err
    hub.forget()
    assert predict(repo, offline=True).out == online.out
    assert hub.requests() == []
    gone = predict("asqp/never-seen", offline=True)
    assert (gone.code, gone.err) == (
        2,
        "asqp: asqp/never-seen: found no folder of that name, and the Hub gave none: the cache does not hold all "
        "of it, and HF_HUB_OFFLINE is set\n",
    )


def test_faults_on_the_xet_path(api: HfApi, hub: HubServer, repo: str, dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")
    hub.fail("status", "/xet-write-token/", status=503)
    hub.fail("lost_request", "/xet-write-token/")
    hub.fail("lost_reply", "/commit/")
    command = [sys.executable, "-m", "asqp_models.cli", "publish", "dataset", str(dataset), "--repo", repo]
    done = run_command(command, client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN, xet=True))
    assert done.code == 0, done.err
    assert not hub.state.faults.to_json()
    assert hub.requests("PUT") == []
    names = {path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file()}
    assert set(hub.files("datasets", repo)) == names
    assert len(api.list_repo_commits(repo, repo_type="dataset")) == 2


def test_nobody_listens(api: HfApi, tmp_path: Path) -> None:
    environment = client_environment("http://127.0.0.1:9", tmp_path / "home", OWNER_TOKEN)
    command = [sys.executable, "-m", "asqp_models.cli", "publish", "metric", "--repo", "asqp/asqp_f1"]
    done = run_command(command, environment)
    assert (done.code, done.err) == (
        2,
        "asqp: asqp/asqp_f1: the connection to http://127.0.0.1:9 failed; run it again later\n",
    )


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
sys.argv = ["asqp", *{arguments!r}]
from asqp_models.cli import main
main()
"""


def test_a_full_disk(api: HfApi, hub: HubServer, repo: str, line: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for it: writes fail in the middle."""
    model(api, repo, line)
    environment = client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN) | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(tmp_path),
    }
    predict = ["predict", str(line / "car"), "--model", repo, "--out", str(tmp_path / "out.jsonl")]
    push = ["publish", "predictions", str(line / "run"), "--repo", f"{repo}-predictions"]
    for arguments in (predict, push):
        full = run_command([sys.executable, "-c", LIMITED.format(arguments=arguments)], environment)
        assert full.code == 2, full.err
        assert "File too large" in full.err
        assert full.err.count("\n") == 1
        again = run_command([sys.executable, "-m", "asqp_models.cli", *arguments], environment)
        assert again.code == 0, again.err
    assert (tmp_path / "out.jsonl").read_bytes() == (line / "run" / "predictions" / "test.jsonl").read_bytes()
