"""Tests of sweeps: their bytes are those of a study, whatever engines and workers do meanwhile."""

from __future__ import annotations

import json
import os
import pickle
import random
import secrets
import shlex
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE, STUDY, interrupted_when, interrupting, shell
from seekwise import _stores
from seekwise._native import BUILD, Plan
from seekwise._setup import setup_call

GRID = sw.grid({"job.depth": [1, 4, 8], "drive.cache.write_back": [True, False]}, on=[DRIVE, "caviar-wd400jb"])

FILES = ["results.jsonl", "made-from.json", "study.toml", "sums.txt", "report.html"]


def swept(out: str, engine: str | sw.Engine = "threads", batch: int = 2, force: bool = False) -> sw.Study:
    return sw.sweep("random-read", GRID, runs=2, runtime="1s", out=out, engine=engine, batch=batch, force=force)


def bytes_of(folder: str) -> dict[str, bytes]:
    return {name: Path(folder, name).read_bytes() for name in FILES}


class Unreliable:
    """An engine with ten workers that loses, repeats and reorders what it is given, and counts what it runs."""

    def __init__(self, seed: int, lose: float, silently: bool) -> None:
        self.chance = random.Random(seed)
        self.lose, self.silently = lose, silently
        self.slots = 10
        self.waiting: list[tuple[sw.Work, tuple[int, int, str]]] = []
        self.ran: list[str] = []
        self.cancelled = False

    def submit(self, work: sw.Work, part: tuple[int, int, str]) -> None:
        # Ten workers: each has what the plan says, from its text.
        sent = sw.Work(str(work.plan), work.store)
        self.waiting.append((sent, part))

    def as_completed(self) -> Iterator[sw.Outcome]:
        while self.waiting:
            work, part = self.waiting.pop(self.chance.randrange(len(self.waiting)))
            if self.chance.random() < self.lose:
                if not self.silently:
                    yield sw.Outcome(part, RuntimeError("the worker is gone"), lost=True)
                continue
            for _ in range(self.chance.choice([1, 1, 2])):
                self.ran.append(work(part))
                yield sw.Outcome(part)

    def cancel(self) -> None:
        self.cancelled = True


def test_a_grid_is_lazy_and_its_first_setting_varies_slowest() -> None:
    assert len(GRID) == 12
    assert next(iter(GRID)) == {"drive": DRIVE, "job.depth": "1", "drive.cache.write_back": "true"}
    assert [cell["job.depth"] for cell in GRID][:4] == ["1", "1", "4", "4"]
    assert len(sw.grid({str(key): range(1000) for key in range(6)})) == 1000**6
    assert len(sw.grid()) == 1


def test_a_sweep_has_the_bytes_of_a_study(here: Path) -> None:
    result = swept("swept")
    assert len(result.cells) == 24
    (here / "study.toml").write_bytes(Path("swept/study.toml").read_bytes())
    sw.study("study.toml", out="whole")
    assert bytes_of("swept") == bytes_of("whole")
    opened = sw.open("swept")
    assert isinstance(opened, sw.Study) and opened.cells == result.cells
    # The shell line, elsewhere.
    (here / "again").mkdir()
    ran = shell(result.command, here / "again")
    assert ran.stdout == result.json + "\n", ran.stderr
    assert (here / "again/swept/results.jsonl").read_bytes() == Path("swept/results.jsonl").read_bytes()


@pytest.mark.parametrize(("seed", "lose", "silently"), [(1, 0.0, False), (2, 0.3, False), (3, 0.3, True)])
def test_what_an_engine_does_changes_no_byte(here: Path, seed: int, lose: float, silently: bool) -> None:
    swept("plain")
    engine = Unreliable(seed, lose, silently)
    swept("odd", engine=engine, batch=1)
    assert bytes_of("odd") == bytes_of("plain")
    assert len(engine.ran) > len(set(engine.ran)) == 12, "it ran some twice"


def test_an_engine_that_loses_all_is_told(here: Path) -> None:
    engine = Unreliable(1, 1.0, silently=True)
    with pytest.raises(sw.SeekwiseError, match="6 parts were lost 5 times"):
        swept("odd", engine=engine)
    assert not Path("odd/results.jsonl").exists()


def test_what_is_missing_torn_or_changed_is_made_again(here: Path) -> None:
    swept("out")
    expected = bytes_of("out")
    parts = sorted(Path("out/parts").glob("part-*.parquet"))
    assert len(parts) == 6
    whole = parts[1].read_bytes()
    parts[0].unlink()
    parts[1].write_bytes(whole[: len(whole) // 2])
    changed = bytearray(parts[2].read_bytes())
    changed[len(changed) // 2] ^= 1
    parts[2].write_bytes(changed)
    parts[3].write_bytes(whole)
    parts[4].write_bytes(b"\xff\x00")
    engine = Unreliable(1, 0.0, False)
    swept("out", engine=engine)
    assert set(engine.ran) == {part.name for part in parts[:5]}
    assert bytes_of("out") == expected and parts[1].read_bytes() == whole
    untouched = Unreliable(1, 0.0, False)
    swept("out", engine=untouched)
    assert untouched.ran == []


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()
    (place / "kept").write_text("somebody's")


def link(place: Path) -> None:
    place.with_name("elsewhere").write_text("somebody's")
    place.symlink_to("elsewhere")


def listener(place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        # The whole name may be too long for an address.
        before = os.getcwd()
        os.chdir(place.parent)
        made.bind(place.name)
        os.chdir(before)


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def huge(place: Path) -> None:
    with open(place, "wb") as file:
        file.truncate(1 << 40)


def unreadable(place: Path) -> None:
    place.write_text("x")
    place.chmod(0)


@pytest.mark.parametrize("what", [pipe, folder, link, listener, device, huge, unreadable])
def test_what_is_no_file_is_no_part(here: Path, caplog: pytest.LogCaptureFixture, what: Callable[[Path], None]) -> None:
    swept("out")
    expected = bytes_of("out")
    part = sorted(Path("out/parts").glob("part-*.parquet"))[2]
    whole = part.read_bytes()
    part.unlink()
    what(part)
    engine = Unreliable(1, 0.0, False)
    swept("out", engine=engine)
    assert engine.ran == [part.name] and bytes_of("out") == expected
    assert not part.is_symlink() and part.read_bytes() == whole
    assert [record.getMessage() for record in caplog.records if "made again" in record.getMessage()]
    # What somebody had there is where it was, or beside.
    places: dict[Callable[[Path], None], str] = {folder: "out/parts/*.set-aside/kept", link: "out/parts/elsewhere"}
    kept = places.get(what)
    assert kept is None or [path.read_text() for path in here.glob(kept)] == ["somebody's"]
    assert len(list(Path("out/parts").glob("*.unfinished"))) == 0


@pytest.mark.parametrize(
    "text",
    [b"{\"cells\": %s}" % cells for cells in (b"-5", b"0", b"1e999", b"true", b"2.5", b"9" * 40, b"9" * 400, b"null", b"13")]
    + [b"[" * 1000, b"[1]", b"", b"\xff", b"{}", b" " * 5000, None],
)
def test_a_number_of_cells_that_is_none_is_made_again(
    here: Path, caplog: pytest.LogCaptureFixture, text: bytes | None
) -> None:
    def auto() -> None:
        sw.sweep("random-read", GRID, runs=2, runtime="1s", out="out")

    auto()
    expected = bytes_of("out")
    (said,) = Path("out/parts").glob("batch-*.json")
    whole = said.read_bytes()
    said.unlink()
    if text is None:
        os.mkfifo(said)
    else:
        said.write_bytes(text)
    auto()
    assert bytes_of("out") == expected and said.read_bytes() == whole
    assert any("made again" in record.getMessage() for record in caplog.records)


def test_what_a_batch_may_be(here: Path) -> None:
    for batch in (0, -1):
        with pytest.raises(sw.SeekwiseError, match="expected 1 cell or more"):
            swept("out", batch=batch)


def test_a_folder_of_parts_that_is_a_link_is_not_followed(here: Path) -> None:
    (here / "out").mkdir()
    (here / "elsewhere").mkdir()
    (here / "out/parts").symlink_to("../elsewhere")
    with pytest.raises(sw.SeekwiseError, match="is a link; expected a folder"):
        swept("out")
    assert not os.listdir("elsewhere")
    os.mkfifo(here / "out/made-from.json")
    (here / "out/parts").unlink()
    with pytest.raises(sw.SeekwiseError, match="is a pipe; expected a file"):
        swept("out")
    (here / "file").mkdir()
    (here / "file/parts").write_text("x")
    with pytest.raises(sw.SeekwiseError, match="expected a folder"):
        swept("file")


def changed(chance: random.Random, whole: bytes, other: bytes) -> bytes:
    """A part that somebody changed, or one that never was."""
    file = bytearray(whole)
    at = chance.randrange(len(file))
    length = chance.randrange(1, 65)
    match chance.randrange(9):
        case 0:
            del file[at:]
        case 1:
            del file[at : at + length]
        case 2:
            file[at:at] = file[chance.randrange(len(file)) :][:length]
        case 3:
            file[at : at + length] = bytes([chance.choice([0, 0x7F, 0x80, 0xFF])]) * len(file[at : at + length])
        case 4:
            file[at:] = other[at:]
        case 5:
            # The end of the file, where Parquet says what is in it, and we where the lines are.
            at = len(file) - chance.randrange(1, min(600, len(file)))
            file[at] = chance.randrange(256)
        case 6:
            place = file.rindex(b"lines at ")
            said = f"lines at {chance.randrange(1 << chance.randrange(1, 70))}+{chance.randrange(1 << chance.randrange(1, 70))}"
            file[place : place + len(said)] = said.encode()
        case 7:
            file = bytearray(chance.randbytes(chance.randrange(200)))
        case _:
            for _ in range(chance.randrange(1, 9)):
                file[chance.randrange(len(file))] ^= 1 << chance.randrange(8)
    return bytes(file)


def test_a_part_that_somebody_changed_is_made_again(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`SEEKWISE_PARTS=20000` for more of them."""
    grid = sw.grid({"job.depth": range(1, 25)}, on="fireball-plus-as-30")

    def swept(engine: sw.Engine) -> None:
        sw.sweep("random-read", grid, runs=1, runtime="0.1s", out="out", engine=engine, batch=1)

    swept(Unreliable(1, 0.0, False))
    expected = bytes_of("out")
    parts = sorted(Path("out/parts").glob("part-*.parquet"))
    wholes = [part.read_bytes() for part in parts]
    chance, tried, left = random.Random(44), 0, int(os.environ.get("SEEKWISE_PARTS", "240"))
    while tried < left:
        wrong: set[str] = set()
        for part, whole in zip(parts, wholes, strict=True):
            file = changed(chance, whole, chance.choice(wholes))
            part.write_bytes(file)
            if file != whole:
                wrong.add(part.name)
        tried += len(wrong)
        engine = Unreliable(1, 0.0, False)
        swept(engine)
        assert set(engine.ran) == wrong
        assert bytes_of("out") == expected and [part.read_bytes() for part in parts] == wholes
        caplog.clear()


def test_parts_are_tables_for_others(here: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    result = swept("out")
    runs = duckdb.sql("""select cell, run, "level.drive", "level.job.depth", iops, p99_ms, record
                         from 'out/parts/*.parquet' order by cell, run""").fetchall()
    names = result.cells.columns
    wanted = [names.index(name) for name in ("cell", "run", "drive", "job.depth", "iops", "p99_ms")]
    assert [run[:-1] for run in runs] == [tuple(row[at] for at in wanted) for row in result.cells.rows_from(0, 24)]
    assert "".join(f"{run[-1]}\n" for run in runs).encode() == Path("out/results.jsonl").read_bytes()
    words = dict(duckdb.sql("select distinct key, value from parquet_kv_metadata('out/parts/*.parquet')").fetchall())
    assert words[b"column.p99_ms"] == b"ms; response time"


def test_a_sweep_goes_on_with_its_batches_whatever_they_are_now(here: Path) -> None:
    sw.sweep("random-read", GRID, runs=2, runtime="1s", out="out")
    parts = set(os.listdir("out/parts"))
    engine = Unreliable(1, 0.0, False)
    engine.slots = 1
    sw.sweep("random-read", GRID, runs=2, runtime="1s", out="out", engine=engine)
    assert engine.ran == [] and set(os.listdir("out/parts")) == parts


def test_results_of_another_study_are_not_replaced(here: Path) -> None:
    swept("out")
    other = sw.grid({"job.depth": [1, 2]}, on=[DRIVE])
    with pytest.raises(sw.SeekwiseError, match="holds results of another study"):
        sw.sweep("random-read", other, runs=1, runtime="1s", out="out")
    sw.sweep("random-read", other, runs=1, runtime="1s", out="out", force=True)
    assert Path("out/results.jsonl").read_bytes().count(b"\n") == 2


def test_a_worker_of_another_build_refuses(here: Path) -> None:
    swept("out")
    setup = setup_call("random-read", sw.stack(DRIVE), None, 1, "1s")
    plan = Plan.of_setup(setup, [("job.depth", ["1", "2"])], 1)
    other = plan.text.replace(BUILD, "0" * len(BUILD))
    with pytest.raises(sw.SeekwiseError, match="expected the same build"):
        sw.Work(other, sw.FolderStore("parts"))(plan.parts(1)[0])
    assert not Path("parts").exists()
    assert Plan.from_text(plan.text).hash == plan.hash


def test_a_fault_in_a_cell_is_an_error_at_once(here: Path) -> None:
    with pytest.raises(sw.SeekwiseError) as error:
        sw.sweep("random-read", sw.grid({"job.dpeth": [1]}, on=[DRIVE]), out="out")
    assert error.value.key == "job.dpeth"
    with pytest.raises(sw.SeekwiseError, match="needs a drive"):
        sw.sweep("random-read", sw.grid({"job.depth": [1]}), out="out")
    with pytest.raises(sw.SeekwiseError, match="expected threads or ray"):
        swept("out", engine="thread")

    class Failing(Unreliable):
        def as_completed(self) -> Iterator[sw.Outcome]:
            yield sw.Outcome(self.waiting[0][1], MemoryError("too little"))

    engine = Failing(1, 0, False)
    with pytest.raises(MemoryError):
        swept("out", engine=engine)
    assert engine.cancelled


def test_control_c_keeps_the_parts_that_ended(here: Path) -> None:
    def long(out: str) -> sw.Study:
        grid = sw.grid({"job.depth": range(1, 25)}, on=[DRIVE])
        return sw.sweep("random-read", grid, runs=3, runtime="300s", out=out, batch=1)

    with interrupted_when(lambda: list(Path("out/parts").glob("part-*.parquet"))) as ended, pytest.raises(sw.Interrupted, match="are kept in out"):
        long("out")
    assert ended()
    kept = {path.name for path in Path("out/parts").glob("part-*")}
    assert 0 < len(kept) < 24 and not any(name.endswith(".part") for name in kept)
    long("out")
    long("whole")
    assert bytes_of("out") == bytes_of("whole")


@pytest.mark.parametrize("url", [False, True])
def test_control_c_hands_out_the_runs_of_the_parts_that_ended(here: Path, url: bool) -> None:
    if url:
        pytest.importorskip("fsspec")
    out = f"memory://lab/interrupted-{os.getpid()}" if url else "out"

    def interrupted(at: int) -> sw.Study | None:
        with pytest.raises(sw.Interrupted, match="the same call goes on") as why:
            sw.sweep(
                "random-read", GRID, runs=2, runtime="1s", out=out, engine=Unreliable(1, 0.0, False), batch=2,
                progress=interrupting(at),
            )
        partial = why.value.partial
        assert partial is None or isinstance(partial, sw.Study)
        return partial

    class Idle(Unreliable):
        def as_completed(self) -> Iterator[sw.Outcome]:
            raise KeyboardInterrupt

    with pytest.raises(sw.Interrupted) as why:
        swept(out, engine=Idle(1, 0.0, False))
    assert why.value.partial is None, "no part ended"
    partial = interrupted(8)
    # The engine ends parts in its own order.
    assert partial is not None and len(partial.cells) == 8 and partial.missing_runs == 16 and not partial.complete
    assert "Seekwise" in partial.report().html
    rows = partial.cells.rows_from(0, 24)
    whole = swept(out)
    assert whole.complete and set(rows) < set(whole.cells.rows_from(0, 24)) and list(rows) == sorted(rows)


def test_an_object_store(here: Path) -> None:
    pytest.importorskip("fsspec")
    swept("plain")
    url = f"memory://lab/{os.getpid()}"
    result = swept(url)
    assert result.cells == sw.open("plain").cells  # type: ignore[union-attr]
    store = sw.UrlStore(url)
    assert {"results.jsonl", "report.html", "made-from.json"} <= store.names()
    for name, expected in bytes_of("plain").items():
        assert store.read(name) == expected, name
    assert "Seekwise" in result.report().html
    opened = sw.open(url)
    assert isinstance(opened, sw.Study) and opened.cells == result.cells
    assert opened.command == f"seekwise report {url} --json"
    with pytest.raises(sw.SeekwiseError, match="holds no results"):
        sw.open("memory://lab/nothing")
    parts = sw.UrlStore(f"{url}/parts")
    torn = sorted(name for name in parts.names() if name.startswith("part-"))[0]
    whole = parts.read(torn)
    assert whole is not None
    parts.write(torn, whole[:100])
    engine = Unreliable(1, 0.0, False)
    swept(url, engine=engine)
    assert set(engine.ran) == {torn} and parts.read(torn) == whole
    with pytest.raises(sw.SeekwiseError, match="nosuch"):
        swept("nosuch://a/b")


def test_a_url_is_shown_as_scheme_host_and_path() -> None:
    for url, shown in (
        ("s3://lab/a", "s3://lab/a"),
        ("simplecache::s3://lab/a", "simplecache::s3://lab/a"),
        ("https://T0KEN@lab/a", "https://***@lab/a"),
        ("https://user:T0KEN@lab:8080/a", "https://***@lab:8080/a"),
        ("s3://AKIA:wJ/T0KEN/b@lab/a", "s3://***@lab/a"),
        ("s3://AKIA:a@T0KEN@lab/a", "s3://***@lab/a"),
        ("s3://AKIA:T0?KEN@lab/a", "s3://***"),
        ("https://lab/a?sv=1&sig=T0KEN", "https://lab/a?***"),
        ("https://lab/a?T0KEN", "https://lab/a?***"),
        ("https://lab/a#T0KEN", "https://lab/a#***"),
        ("https://user:T0KEN@lab/a?sig=T0KEN", "https://***@lab/a?***"),
        ("https://lab/a?user=a@b&sig=T0KEN", "https://***"),
        ("zip://a.zip::https://user:T0KEN@lab/a", "zip://***@lab/a"),
        ("folder/a@b?c", "folder/a@b?c"),
    ):
        assert _stores.printable_url(url) == shown, url


def test_no_error_of_a_store_tells_a_secret_of_its_url() -> None:
    for url in ("https://lab/a?sv=1&sig=T0%2BKEN", "https://T0+KEN@lab/a", "s3://AKIA:T0+KEN@lab/a", "https://lab/a?T0+KEN"):
        for text in (f"404: '{url}' is not there", "403: T0+KEN/x", "403: T0%2BKEN", f"{url}&more=T0+KEN"):
            with pytest.raises(sw.SeekwiseError) as why, _stores.UrlStore(url)._without_secrets():
                raise RuntimeError(text)
            assert "KEN" not in str(why.value) and why.value.__cause__ is None, (url, text)


def test_no_secret_of_a_store_is_shown(here: Path) -> None:
    secret = "Sesame-0pen"
    url = f"s3://user:{secret}@lab/a"
    options = (("client_kwargs", {"aws_session_token": secret, "region_name": "eu"}), ("secret", secret), ("use_ssl", False))
    store = sw.UrlStore(url, options)
    work = sw.Work("plan", store)
    for shown in (repr(store), str(work), f"{[store]}", repr(sw.Outcome((0, 1, "x"), lost=True))):
        assert secret not in shown
    assert "secret=…" in repr(store) and "s3://***@lab/a" in repr(store)
    # Workers need it.
    assert pickle.loads(pickle.dumps(work)) == work
    pytest.importorskip("fsspec")

    def said(error: BaseException | None) -> str:
        return "" if error is None else f"{error!r}{error}" + said(error.__cause__)

    def failed(*_: object, **__: object) -> None:
        raise RuntimeError(f"403: {secret} is no key of {url}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fsspec.core.url_to_fs", failed)
        for call in (store.names, lambda: store.read("x"), lambda: store.write("x", b""), lambda: sw.open(url)):
            with pytest.raises(sw.SeekwiseError, match=r"no key of s3://\*\*\*@lab/a") as why:
                call()
            assert secret not in said(why.value)
    # A fault that tells no secret keeps its cause.
    with pytest.raises(sw.SeekwiseError) as plain:
        sw.UrlStore("nosuch://a/b").names()
    assert plain.value.__cause__ is not None


def test_what_is_no_object_is_no_part(here: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://lab/doors-{os.getpid()}"
    swept(url)
    store = sw.UrlStore(f"{url}/parts")
    part = sorted(name for name in store.names() if name.startswith("part-"))[1]
    whole = store.read(part)
    assert whole is not None and store.read("nothing") is None
    with pytest.raises(sw.SeekwiseError, match="expected at most 10"):
        store.read(part, 10)
    system = fsspec.filesystem("memory")
    place = f"/lab/doors-{os.getpid()}/parts/{part}"
    system.rm(place)
    system.makedirs(place)
    with pytest.raises(sw.SeekwiseError, match="expected a file"):
        store.read(part)
    engine = Unreliable(1, 0.0, False)
    swept(url, engine=engine)
    assert engine.ran == [part] and store.read(part) == whole
    # Such a URL is a folder of this machine, with what holds for folders.
    swept(f"local://{here}/out")
    assert len(list(Path("out/parts").glob("part-*"))) == 6


def reported_from(url: str, storage: dict[str, Any], here: Path) -> None:
    """The program makes the page there again, and says what it says of a folder."""
    store = sw.UrlStore(url, tuple(sorted(storage.items())))
    page = store.read("report.html")
    store.write("report.html", b"an older page")
    # What fsspec opens without arguments, it is told by the environment.
    prefix = f"FSSPEC_S3={shlex.quote(json.dumps(storage))}"
    there, plain = (shell(f"{prefix} seekwise report {place}", here) for place in (url, "plain"))
    assert there.returncode == 0, there.stderr
    assert there.stdout == plain.stdout.replace("plain", url) and f"Report: {url}/report.html" in there.stdout
    assert store.read("report.html") == page
    lost = shell(f"{prefix} seekwise report s3://lab/nothing", here)
    assert lost.returncode == 2 and "s3://lab/nothing: holds no results" in lost.stderr


def test_a_server_of_s3(here: Path) -> None:
    server_of, s3fs = pytest.importorskip("moto.server"), pytest.importorskip("s3fs")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    # No other region is named in a request to make a bucket than one that is not the first.
    client = {"endpoint_url": f"http://{host}:{port}", "region_name": "eu-west-1"}
    storage = {"key": "any", "secret": "any", "client_kwargs": client}
    try:
        s3fs.S3FileSystem(**storage).mkdir("lab")
        swept("plain")
        url = "s3://lab/swept"

        def there(engine: sw.Engine) -> None:
            sw.sweep("random-read", GRID, runs=2, runtime="1s", out=url, engine=engine, batch=2, storage=storage)

        there(sw.ThreadEngine())
        nowhere = Unreliable(1, 0.0, False)
        with pytest.raises(sw.SeekwiseError, match="s3://nowhere does not exist; expected a bucket"):
            sw.sweep("random-read", GRID, out="s3://nowhere/swept", engine=nowhere, storage=storage)
        assert nowhere.ran == [] and nowhere.waiting == [], "it is said before the first part"
        store = sw.UrlStore(url, tuple(sorted(storage.items())))
        for name, expected in bytes_of("plain").items():
            assert store.read(name) == expected, name
        opened = sw.open(url, storage=storage)
        assert isinstance(opened, sw.Study) and opened.cells == sw.open("plain").cells  # type: ignore[union-attr]
        reported_from(url, storage, here)
        parts = sw.UrlStore(f"{url}/parts", store.options)
        torn = sorted(name for name in parts.names() if name.startswith("part-"))[-1]
        whole = parts.read(torn)
        assert whole is not None
        parts.write(torn, whole[: len(whole) // 2])
        engine = Unreliable(1, 0.0, False)
        there(engine)
        assert set(engine.ran) == {torn} and parts.read(torn) == whole
    finally:
        server.stop()


def test_the_shell(here: Path) -> None:
    (here / "s.toml").write_text(STUDY)
    ran = shell("seekwise sweep s.toml --out swept --json", here)
    assert ran.returncode == 0, ran.stderr
    whole = sw.study("s.toml", out="whole")
    assert bytes_of("swept") == bytes_of("whole")
    said = json.loads(ran.stdout)
    assert said["comparisons"] == whole.to_dict()["comparisons"]
    text = shell("seekwise sweep s.toml --out swept", here)
    assert "6 runs of 2 cells" in text.stdout, text.stdout + text.stderr
    assert shell("seekwise report swept", here).returncode == 0
    missing = shell("seekwise sweep no.toml --out x", here)
    assert missing.returncode == 2 and "no study file" in missing.stderr
    # Of the program alone: a Python without the module.
    (here / "bin").mkdir()
    (here / "bin/python3").write_text("#!/bin/sh\nexit 1\n")
    (here / "bin/python3").chmod(0o755)
    program = "from seekwise import _native as n; import sys; sys.exit(n.program(['seekwise', 'sweep', 's.toml']))"
    python = shell("command -v python", here).stdout.strip()
    alone = shell(f"unset SEEKWISE_PYTHON; PATH={here}/bin {python} -c \"{program}\"", here)
    assert alone.returncode == 2 and "pip install seekwise" in alone.stderr, alone.stderr


def of_ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return False
    return False


def kill_a_worker(until: float) -> int:
    """Kills a worker of Ray that is at work for this process, and answers its number; 0 where none was."""
    while time.monotonic() < until:
        for entry in Path("/proc").iterdir():
            try:
                at_work = entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"ray::_run_remotely")
            except OSError:
                continue
            if at_work and of_ours(int(entry.name)):
                os.kill(int(entry.name), signal.SIGKILL)
                return int(entry.name)
        time.sleep(0.01)
    return 0


@pytest.fixture
def ray_engine(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sw.RayEngine]:
    """Ray with two workers of this machine."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Without it, Ray makes a token in the user's home.
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(16))
    # Ray has its workers look into the current folder before all others.
    (here / "seekwise.py").write_text(f"open({str(here / 'ran')!r}, 'w').close()\n")
    options = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100 << 20}
    try:
        yield sw.RayEngine(_node_ip_address="127.0.0.1", **options)  # type: ignore[arg-type]
    finally:
        ray.shutdown()
        assert not (here / "ran").exists()


def test_ray_with_a_worker_that_is_killed(here: Path, ray_engine: sw.RayEngine, caplog: pytest.LogCaptureFixture) -> None:
    layout = {"one": {"array": "none"}, "two": {"array": "raid-0", "array.drives": 2}}
    grid = sw.grid({"job.depth": range(1, 9)}, on=[DRIVE], layout=layout)

    def long(out: str, engine: str | sw.Engine) -> None:
        sw.sweep("random-read", grid, runs=3, runtime="60s", out=out, engine=engine, batch=1)

    def answers(out: str, engine: str | sw.Engine) -> tuple[str, object]:
        choice = sw.choose("random-read", grid, keep={"p99_ms": "< 60"}, most="iops", runtime="5s", out=out, engine=engine)
        pytest.importorskip("optuna")
        found = sw.search(
            "random-read", DRIVE, {"job.depth": (1, 8)}, aims={"p99": lambda run: run.p99 or 0.0}, trials=8, runs=1, runtime="1s",
            out=f"{out}/search", engine=engine,
        )
        return choice.json, found

    long("plain", "threads")
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(kill_a_worker(time.monotonic() + 60)))
    killer.start()
    long("ray", ray_engine)
    killer.join()
    assert killed[0] > 0, "a worker was killed in the middle"
    assert bytes_of("ray") == bytes_of("plain")
    killer = threading.Thread(target=lambda: killed.append(kill_a_worker(time.monotonic() + 60)))
    killer.start()
    by_ray = answers("ray-choice", ray_engine)
    killer.join()
    assert killed[1] > 0 and by_ray == answers("choice", "threads")
    assert any("expected address= or RAY_ADDRESS" in record.getMessage() for record in caplog.get_records("setup"))
