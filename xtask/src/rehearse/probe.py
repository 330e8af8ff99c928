"""Calls of every kind on the installed module; prints requests a second of one run, and a hash of all answers. Where it
runs is not in them."""

import hashlib
import sys
import tempfile
from pathlib import Path

import seekwise as sw

run = sw.run("random-read", on="barracuda-7200.7-ncq", set={"job.depth": 4}, runtime="5s")
server = sw.run("file-server", on="exos-x18", runtime="5s", requests=True)
compared = sw.compare("random-read", on="exos-x18", vary={"job.depth": [1, 8]}, runs=5, runtime="1s")
cut = sw.power_cut("random-write", on="barracuda-7200.7", cuts=100, runtime="2s")
disk = sw.Disk("exos-x18", savable=True)
for number in range(8):
    disk.submit(disk.now_ns, "write", lba=number << 24, sectors=8)
assert server.requests is not None
answers = [run.json.encode(), server.json.encode(), server.requests.to_bytes(), compared.json.encode(), cut.json.encode(), disk.save()]
with tempfile.TemporaryDirectory() as folder:
    grid = sw.grid({"job.depth": [1, 8]}, on=["exos-x18", "wd140edfz"])
    sw.sweep("random-read", grid, runs=2, runtime="1s", out=folder, batch=1, progress=False)
    names = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".jsonl", ".json", ".html", ".parquet"))
    assert len([path for path in names if path.suffix == ".parquet"]) == 4, names
    answers += [path.read_bytes() for path in names]
for answer in answers:
    print(hashlib.sha256(answer).hexdigest()[:12], len(answer), file=sys.stderr)
print(run.iops, hashlib.sha256(b"".join(answers)).hexdigest())
