//! `seekwise serve` and `seekwise disk`: refused arguments, the environment of the command of `--run`, orders without a server, the
//! receipt. The tests wait for the command that the server runs, and for nothing else.
#![cfg(unix)]

use std::fs;

use crate::seekwise::run_program;
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7";

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |more: &[&str]| run_program(folder.path(), &[&["serve"], more].concat());
    let refused = |more: &[&str], words: &str| {
        let said = serve(more);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(said.out.is_empty());
    };
    refused(&[DRIVE], "<--nbd <ADDRESS>|--fuse <DIR>>");
    refused(&[DRIVE, "--nbd", "disk"], "`disk` is no address; expected unix:PATH or tcp:127.0.0.1:PORT");
    refused(&[DRIVE, "--nbd", "tcp:0.0.0.0:0"], "expected 127.0.0.1 or a unix socket, or --expose");
    refused(&["baracuda-7200.7", "--nbd", "unix:s"], "did you mean `barracuda-7200.7`?");
    refused(&["null", "--nbd", "unix:s", "--set", "driver.depth=4"], "there is no modelled stack");
    refused(&[DRIVE, "--nbd", "unix:s", "--set", "job.depth=3"], "there is no job");
    refused(
        &[DRIVE, "--nbd", "unix:s", "--set", "at.1 s.driver.flush=drop"],
        "expected `seekwise disk set driver.flush=drop`",
    );
    refused(
        &[DRIVE, "--nbd", "unix:s", "--max-memory", "9m"],
        "--max-memory: 9437184 bytes are too few for a disk that up to",
    );
    refused(&[DRIVE, "--nbd", "unix:s", "--max-clients", "0"], "expected a whole number from 1 to 65536");
    refused(&[DRIVE, "--nbd", "unix:none/s"], "No such file or directory");
    refused(&[DRIVE, "--nbd", "unix:s", "--run", "--", "./no-such-program"], "./no-such-program: No such file");
    fs::write(folder.path().join("short.img"), "12345").unwrap();
    refused(&[DRIVE, "--nbd", "unix:s", "--image", "short.img"], "has 5 bytes; expected 160041885696");
    let nobody = run_program(folder.path(), &["disk", "power", "cut", "--control", "s.control"]);
    assert_eq!(nobody.code, 2);
    assert!(nobody.err.contains("expected the control socket that `seekwise serve` prints"), "{}", nobody.err);
    assert!(!folder.path().join("s").exists() && !folder.path().join("s.control").exists());
}

#[test]
fn a_command_finds_the_disk_and_its_end_is_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_seekwise");
    let script = format!(
        "test -S d && ! {program} serve {DRIVE} --nbd unix:e --image d.img 2> second.txt && {program} disk status --json --control d.control > status.json && test $(stat -c %a d) = 600 && echo $SEEKWISE_URI && {program} disk status --control $SEEKWISE_CONTROL && \
         {program} disk power cut --control d.control && {program} disk power on --control d.control"
    );
    let serve = ["serve", DRIVE, "--nbd", "unix:d", "--image", "d.img", "--json", "--run", "--", "sh", "-c"];
    let said = run_program(folder.path(), &[&serve[..], &[&script]].concat());
    assert_eq!(said.code, 0, "{}{}", said.err, said.out);
    // With JSON, standard output has only the receipt.
    let uri = format!("nbd+unix:///?socket={}\npower on at", folder.path().canonicalize().unwrap().join("d").display());
    assert!(said.err.contains(&uri), "{}", said.err);
    assert!(said.err.contains("power cut at") && said.err.contains("power is back at"), "{}", said.err);
    let receipt: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&receipt["power_cuts"], &receipt["requests"]), (&1.into(), &0.into()));
    assert_eq!(
        (&receipt["pace"], &receipt["pace_why"]),
        (&"too-few-requests".into(), &"no request was answered".into())
    );
    for figure in
        ["busy_share", "path_p50_us", "stalls", "over_200_us_outside_stalls", "clients_most", "held_most_bytes"]
    {
        assert!(receipt[figure].is_number(), "{figure}: {receipt}");
    }
    assert!(receipt["path_p50_us"].as_f64() > Some(0.0), "a way takes time");
    let status: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("status.json")).unwrap()).unwrap();
    assert_eq!(status["requests"], 0.0);
    let second = fs::read_to_string(folder.path().join("second.txt")).unwrap();
    assert!(second.contains("--image d.img: ") && second.contains("has it open for writing"), "{second}");
    assert_eq!(fs::metadata(folder.path().join("d.img")).unwrap().len(), 160_041_885_696, "sparse");
    assert!(!folder.path().join("d").exists() && !folder.path().join("d.control").exists());
}

#[test]
fn a_commands_exit_code_and_output_are_handed_on_and_its_places_are_absolute() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |script: &str| {
        let serve = ["serve", DRIVE, "--nbd", "unix:d", "--run", "--", "sh", "-c", script];
        run_program(folder.path(), &serve)
    };
    for (script, code) in [("exit 0", 0), ("exit 1", 1), ("exit 42", 42), ("kill -TERM $$", 143), ("kill -9 $$", 137)] {
        let said = serve(script);
        assert_eq!((said.code, said.out.as_str()), (code, ""), "{script}: {}", said.err);
        assert!(said.err.contains("Served for ") && said.err.contains("It cannot be told whether"), "{}", said.err);
    }
    let elsewhere =
        serve("echo only this; cd / && test -S \"${SEEKWISE_URI#*socket=}\" && test -S \"$SEEKWISE_CONTROL\"");
    assert_eq!((elsewhere.code, elsewhere.out.as_str()), (0, "only this\n"), "{}", elsewhere.err);
}

#[test]
fn nothing_of_anybodys_gives_way_to_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("notes.txt"), "precious").unwrap();
    std::os::unix::fs::symlink("notes.txt", at("link")).unwrap();
    for sockets in [["--nbd", "unix:notes.txt"], ["--nbd", "unix:link"], ["--fuse", "none"]] {
        let said = run_program(folder.path(), &[&["serve", DRIVE, "--control", "notes.txt"], &sockets[..]].concat());
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("something else is there"), "{}", said.err);
    }
    assert_eq!(fs::read_to_string(at("link")).unwrap(), "precious");
    // The socket of a killed server is replaced; another file at its path is not.
    drop(std::os::unix::net::UnixListener::bind(at("d")).unwrap());
    let mine = ["serve", DRIVE, "--nbd", "unix:d", "--run", "--", "sh", "-c", "test -S d && rm d && echo mine > d"];
    assert_eq!(run_program(folder.path(), &mine).code, 0);
    assert_eq!(fs::read_to_string(at("d")).unwrap(), "mine\n");
}

#[test]
fn an_order_that_is_refused_fails_and_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let orders = [
        ("disk set drive.cach.write_back=off --control d.control", "did you mean `drive.cache.write_back`?"),
        ("disk set drive.cache.write_back=maybe --control d.control", "the value does not fit; expected on, off"),
        ("disk set array.replace=0 --control d.control", "expected the number of a drive that is lost"),
        ("disk set drive.mechanics.rpm=9 --control d.control", "no layer of the stack can change it"),
        ("disk power on --control d.control", "on: refused: it is on already"),
        ("disk power cut --control d", "nobody takes orders there"),
    ];
    let program = env!("CARGO_BIN_EXE_seekwise");
    let each = |(number, (order, _)): (usize, &(&str, &str))| {
        format!("{program} {order} 2> {number}.txt; echo $? >> {number}.txt; ")
    };
    let script: String = orders.iter().enumerate().map(each).collect();
    let script = format!(
        "{script}{program} disk reset-link --json --control d.control > reset.json && {program} disk status --json --control d.control > status.json"
    );
    let serve = ["serve", DRIVE, "--set", "array=raid-1", "--nbd", "unix:d", "--run", "--", "sh", "-c", &script];
    let said = run_program(folder.path(), &serve);
    assert_eq!(said.code, 0, "{}", said.err);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    for (number, (order, words)) in orders.iter().enumerate() {
        let told = read(&format!("{number}.txt"));
        assert!(told.contains(words) && told.ends_with("\n2\n"), "{order}: {told}");
    }
    let json = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
    assert!(json("reset.json")["said"].as_str().unwrap().starts_with("the link was reset at"));
    let status = json("status.json");
    assert_eq!((&status["powered"], &status["drives_missing"]), (&true.into(), &Value::Array(Vec::new())));
    assert!(status["busy_share"].as_f64() > Some(0.0), "it has worked by now: {status}");
}

#[test]
fn a_server_that_hangs_up_is_no_fault_of_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_seekwise");
    // The run's own end would come much later.
    let script = format!(
        "{program} run random-read --on nbd:unix:d --runtime 60s > run.txt 2>&1 & run=$!; \
         until {program} disk status --json --control d.control | grep -q '\"requests\": [1-9]'; do sleep 0.02; done; \
         kill -9 $PPID; wait $run; echo $? >> run.txt; touch over"
    );
    let mut server = std::process::Command::new(program);
    server.args(["serve", DRIVE, "--nbd", "unix:d", "--run", "--", "sh", "-c", &script]).current_dir(folder.path());
    assert_eq!(server.output().unwrap().status.code(), None, "killed");
    while !folder.path().join("over").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = fs::read_to_string(folder.path().join("run.txt")).unwrap();
    assert!(told.contains("hung up during the run") && told.ends_with("\n2\n"), "{told}");
}

/// Drives and settings of the recorded sessions: a queue, a cache in memory, parity over four drives.
const STACKS: [(&str, &[&str]); 3] = [
    ("barracuda-7200.7-ncq", &[]),
    ("cheetah-15k.4", &["--set", "accelerator=maxboost"]),
    ("cheetah-15k.4", &["--set", "array=raid-5", "--set", "array.drives=4"]),
];

const CLIENT: &str = "[j]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nnumber_ios=150\niodepth=8\nfsync=10\n\
    [k]\nioengine=libaio\ndirect=1\nrw=write\nbs=192k\noffset=2g\nsize=1g\nnumber_ios=20\niodepth=2\n";

/// Whether a program is installed; if not, prints which sessions are skipped.
fn is_installed_or_skipped(program: &str) -> bool {
    let found = in_path(program);
    if !found {
        eprintln!("skipped: sessions of {program}, which is not there");
    }
    found
}

/// Serves a disk to the commands of `client` while recording, and replays the recording. Returns the number of requests, and how many
/// completed at the recorded nanosecond.
fn record_and_replay(folder: &std::path::Path, (drive, set): (&str, &[&str]), client: &str) -> (u64, u64) {
    let file = folder.join("session.csv");
    let _ = fs::remove_file(&file);
    let serve = ["serve", drive, "--nbd", "unix:d", "--speed", "4", "--record", "session.csv"];
    let served = [&serve[..], set, &["--run", "--", "sh", "-c", client]].concat();
    let said = run_program(folder, &served);
    assert_eq!(said.code, 0, "{drive} {set:?} {client}: {}{}", said.out, said.err);
    let run = [&["run", "session.csv", "--on", drive, "--json"][..], set].concat();
    let record = run_program(folder, &run).json();
    let of = |key: &str| record["recorded"][key].as_u64().unwrap();
    assert_eq!(record["place"], "sim");
    (of("requests"), of("same"))
}

#[test]
fn a_recorded_session_played_in_virtual_time_ends_at_the_same_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("j.fio"), CLIENT).unwrap();
    let own =
        format!("{} run j.fio --on $SEEKWISE_URI --destroy $SEEKWISE_URI > own.txt", env!("CARGO_BIN_EXE_seekwise"));
    let fio = "fio --name=j --ioengine=nbd --uri=$SEEKWISE_URI --rw=randrw --bs=4k --size=1g --number_ios=200 \
        --iodepth=16 --fsync=20 --verify=crc32c --output=fio.txt";
    let io = "for n in 1 2 3 4 5 6 7 8; do set -- \"$@\" -c \"write -P $n ${n}00k 1m\" -c \"aio_read ${n}0m 64k\" -c flush; done; \
        qemu-io -f raw \"$@\" $SEEKWISE_URI > io.txt";
    let mut sessions = 0;
    for stack in STACKS {
        for (program, client) in [("sh", own.as_str()), ("fio", fio), ("qemu-io", io)] {
            if !is_installed_or_skipped(program) {
                continue;
            }
            let (requests, same) = record_and_replay(at, stack, client);
            assert!(requests > 20, "{requests}");
            assert_eq!(same, requests, "{stack:?} {client}");
            sessions += 1;
        }
    }
    // In the tenth session, the power fails and comes back, and a setting changes.
    let program = env!("CARGO_BIN_EXE_seekwise");
    let cut = format!(
        "{program} run j.fio --on $SEEKWISE_URI --destroy $SEEKWISE_URI --runtime 3s > own.txt & \
         until {program} disk status --json --control d.control | grep -q '\"requests\": [1-9]'; do sleep 0.02; done; \
         {program} disk set drive.cache.write_back=off --control d.control; sleep 0.1; {program} disk power cut --control d.control; sleep 0.1; \
         {program} disk power on --control d.control; wait; {program} run j.fio --on nbd:unix:d --destroy unix:d > after.txt"
    );
    let (requests, same) = record_and_replay(at, STACKS[0], &cut);
    assert_eq!(same, requests);
    let recorded = fs::read_to_string(at.join("session.csv")).unwrap();
    assert!(recorded.contains(",cut\n") && recorded.contains(",on\n") && recorded.contains("write_back=off"));
    assert!(recorded.contains(",failed,"), "what was under way when the power failed");
    eprintln!("{} sessions", sessions + 1);
    // On another stack, requests complete at other times, and the output says so.
    let other = run_program(at, &["run", "session.csv", "--on", "cheetah-15k.4"]).success_stdout();
    assert!(other.contains("the first that did not is request"), "{other}");
    assert!(other.contains("recorded on barracuda-7200.7-ncq, seed 1"), "{other}");
    let refused = run_program(at, &["run", "session.csv", "--on", "null"]);
    assert!(refused.code == 2 && refused.err.contains("a modelled disk in virtual time"), "{}", refused.err);
}

#[test]
fn an_array_loses_a_drive_and_then_its_power_and_plays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (at, program) = (folder.path(), env!("CARGO_BIN_EXE_seekwise"));
    fs::write(at.join("j.fio"), CLIENT).unwrap();
    let lossy = format!(
        "{program} run j.fio --on $SEEKWISE_URI --destroy $SEEKWISE_URI > own.txt && {program} disk set array.lose=1 --control d.control && \
         {program} run j.fio --on nbd:unix:d --destroy unix:d > second.txt && {program} disk power cut --control d.control > cut.txt && \
         {program} disk power on --control d.control && {program} run j.fio --on nbd:unix:d --destroy unix:d > after.txt"
    );
    let (requests, same) = record_and_replay(at, STACKS[2], &lossy);
    assert_eq!((same, requests > 300), (requests, true), "{requests}");
    let said = fs::read_to_string(at.join("cut.txt")).unwrap();
    assert!(said.contains("power cut at"), "{said}");
    let recorded = fs::read_to_string(at.join("session.csv")).unwrap();
    assert!(recorded.contains("array.lose=1") && recorded.contains(",cut\n"));
}

/// The most requests that a recorded session had outstanding at once.
fn most_outstanding(recording: &str) -> usize {
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    let line = |line: &str| {
        let mut words = line.split(',').skip(1);
        Some((number(words.next())?, number(words.next())?))
    };
    let spans: Vec<(u64, u64)> = recording.lines().filter(|line| !line.starts_with("order")).filter_map(line).collect();
    let at = |instant| spans.iter().filter(|(from, to)| (*from..*to).contains(&instant)).count();
    spans.iter().map(|(from, _)| at(*from)).max().unwrap_or(0)
}

#[test]
#[cfg(target_os = "linux")]
fn a_kernel_makes_a_file_system_of_it_and_the_session_can_be_played() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return eprintln!("skipped: a loop device on --fuse, which takes root and /dev/fuse");
    }
    if !["mkfs.ext4", "losetup", "fsck.ext4"].iter().all(|program| in_path(program)) {
        return eprintln!("skipped: a file system on --fuse, for mkfs.ext4, losetup or fsck.ext4 is not there");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().unwrap();
    let database = match in_path("sqlite3") {
        true => {
            "for n in 1 2 3 4 5; do sqlite3 fs/db 'create table if not exists t(x); insert into t values(1)'; done; \
            test $(sqlite3 fs/db 'select count(*) from t; pragma integrity_check' | tr '\\n' ' ' | tr -d ' ') = 5ok"
        }
        false => {
            eprintln!("skipped: SQLite in it, which is not there");
            "true"
        }
    };
    let deep = match in_path("fio") {
        true => {
            "fio --name=j --filename=$L --ioengine=libaio --direct=1 --rw=randread --bs=4k --iodepth=32 --offset=2g --size=1g \
            --number_ios=200 --output=fio.txt"
        }
        false => "true",
    };
    let script = format!(
        "set -e; mkdir fs; L=$(losetup -f --show --direct-io=on $SEEKWISE_FILE); \
         trap 'umount fs 2>/dev/null || true; losetup -d $L' EXIT; \
         mkfs.ext4 -q -E nodiscard $L 256m; mount $L fs; cp -r {tree} fs/tree; {database}; sync; umount fs; \
         mount $L fs; diff -r {tree} fs/tree; umount fs; fsck.ext4 -fn $L; \
         dd if=/dev/zero of=$L bs=4k count=8 seek=400000 oflag=direct,dsync status=none; {deep}",
        tree = tree.display()
    );
    fs::create_dir(at.join("m")).unwrap();
    let drive = "barracuda-7200.7-ncq";
    let serve = ["serve", drive, "--fuse", "m", "--speed", "10", "--record", "session.csv", "--run", "--", "sh", "-c"];
    let said = run_program(at, &[&serve[..], &[&script]].concat());
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(!at.join("m/disk.img").exists(), "it is unmounted");
    let record = run_program(at, &["run", "session.csv", "--on", drive, "--json"]).json();
    assert_eq!(record["recorded"]["same"], record["recorded"]["requests"]);
    assert!(record["flush"]["ios"].as_u64() >= Some(8), "each forced write comes with a flush");
    assert!(record["commit"]["ios"].as_u64() >= Some(8), "and each of these is a commit");
    if in_path("fio") {
        let most = most_outstanding(&fs::read_to_string(at.join("session.csv")).unwrap());
        assert!(most > 12, "the kernel's own bound: {most}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_is_zeroed_in_any_length_and_its_way_is_measured() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() || !in_path("fallocate") {
        return eprintln!("skipped: --fuse, which takes root, /dev/fuse and fallocate");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("m")).unwrap();
    // The file is read until the way was gone while somebody was answered.
    let program = env!("CARGO_BIN_EXE_seekwise");
    let script = format!(
        "fallocate --zero-range --keep-size --length 20g $SEEKWISE_FILE || exit 1; for n in $(seq 400); do \
         dd if=$SEEKWISE_FILE of=/dev/null bs=4k count=20 iflag=direct status=none; \
         {program} disk status --json --control $SEEKWISE_CONTROL | grep -q file_beside_share && exit 0; done; exit 1"
    );
    let serve = ["serve", "null", "--fuse", "m", "--json", "--max-memory", "256m", "--run", "--", "sh", "-c"];
    let said = run_program(at, &[&serve[..], &[&script]].concat());
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let receipt = said.json();
    assert_eq!((&receipt["writes"], &receipt["failures"]), (&20.into(), &0.into()), "a GiB each");
    assert!(receipt["file_beside_mean_us"].as_f64() > Some(0.0), "{receipt}");
}

fn is_root() -> bool {
    let said = std::process::Command::new("id").arg("-u").output();
    said.is_ok_and(|said| said.stdout == b"0\n")
}

fn in_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
}

/// Starts a server, and waits until it accepts orders.
fn start_server(at: &std::path::Path, args: &[&str]) -> std::process::Child {
    use std::io::BufRead;
    let mut server = crate::seekwise::program_command(at);
    server.args(args).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut server = server.spawn().unwrap();
    let said = std::io::BufReader::new(server.stderr.take().unwrap());
    let mut lines = said.lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("Orders: ")));
    // A thread reads its standard error until it ends.
    std::thread::spawn(move || lines.map_while(Result::ok).count());
    server
}

fn send_signal(signal: &str, process: u32) {
    let killed = std::process::Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(killed.unwrap().success());
}

#[test]
fn signals_end_a_session_in_order_and_a_command_first() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (signal, number) in [("-HUP", 1), ("-TERM", 15), ("-INT", 2)] {
        let mut server = start_server(at, &["serve", DRIVE, "--nbd", "unix:d"]);
        send_signal(signal, server.id());
        assert_eq!(server.wait().unwrap().code(), Some(0), "{signal}");
        assert!(!at.join("d").exists() && !at.join("d.control").exists(), "{signal}");
        // The command ends while it still has its disk, and its exit code is that of the server.
        let script = format!(
            "trap '{} disk status --control d.control > status.txt; exit $((128 + {number}))' HUP TERM INT; \
             touch ready; while :; do sleep 0.05; done",
            env!("CARGO_BIN_EXE_seekwise")
        );
        let mut server = start_server(at, &["serve", DRIVE, "--nbd", "unix:d", "--run", "--", "sh", "-c", &script]);
        while !at.join("ready").exists() {
            std::thread::yield_now();
        }
        send_signal(signal, server.id());
        assert_eq!(server.wait().unwrap().code(), Some(128 + number), "{signal}");
        assert!(fs::read_to_string(at.join("status.txt")).unwrap().starts_with("power on at"), "{signal}");
        assert!(!at.join("d").exists() && !at.join("d.control").exists(), "{signal}");
        fs::remove_file(at.join("ready")).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_hangup_that_is_ignored_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let program = env!("CARGO_BIN_EXE_seekwise");
    let inner = format!("kill -HUP $PPID; sleep 0.2; {program} disk status --control d.control");
    let script = format!("trap '' HUP; exec {program} serve {DRIVE} --nbd unix:d --run -- sh -c '{inner}'");
    let said = std::process::Command::new("sh").args(["-c", &script]).current_dir(at).output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("power on at"));
}

/// A write of any length and position changes no other bytes of the file.
#[test]
#[cfg(target_os = "linux")]
fn a_file_takes_writes_of_any_length_at_any_place() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return eprintln!("skipped: --fuse, which takes root and /dev/fuse");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("m")).unwrap();
    // Several processes write interleaved slots of 100 bytes at once; then the whole file is compared with a plain file.
    let script = "set -e; truncate -s 64k plain; \
        slots() { for n in $(seq $1 8 480); do printf '%0100d' $n | \
            dd of=$2 bs=100 seek=$n conv=notrunc iflag=fullblock status=none; done; }; \
        for w in 1 2 3 4 5 6 7 8; do slots $w $SEEKWISE_FILE & done; wait; \
        for w in 1 2 3 4 5 6 7 8; do slots $w plain; done; \
        printf 'odd' | dd of=$SEEKWISE_FILE bs=1 seek=511 conv=notrunc,fsync status=none; \
        printf 'odd' | dd of=plain bs=1 seek=511 conv=notrunc status=none; \
        fallocate --zero-range --keep-size --offset 1000 --length 3001 $SEEKWISE_FILE; \
        dd if=/dev/zero of=plain bs=1 seek=1000 count=3001 conv=notrunc status=none; \
        cmp -n 65536 plain $SEEKWISE_FILE; \
        size=$(stat -c %s $SEEKWISE_FILE); printf 'last word' > tail; \
        ! dd if=tail of=$SEEKWISE_FILE bs=9 oflag=seek_bytes seek=$((size - 4)) conv=notrunc status=none 2> full; \
        grep -q 'No space left' full; tail -c 4 $SEEKWISE_FILE | grep -q last";
    let serve = ["serve", DRIVE, "--fuse", "m", "--speed", "100", "--run", "--", "bash", "-c", script];
    let said = run_program(at, &serve);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

/// A program that opens the file with O_DSYNC is promised that each write is on the medium when it returns.
#[test]
#[cfg(target_os = "linux")]
fn a_forced_write_to_the_file_is_forced() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return eprintln!("skipped: --fuse, which takes root and /dev/fuse");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("m")).unwrap();
    // The first drive has no FUA, so a forced write becomes a write and a flush.
    for (drive, forced) in [(DRIVE, ",flush,0,0,0,"), ("exos-x18", ",write,")] {
        let script = "dd if=/dev/zero of=$SEEKWISE_FILE bs=4k count=5 oflag=dsync conv=notrunc status=none";
        let serve = ["serve", drive, "--fuse", "m", "--record", "r.csv", "--run", "--", "sh", "-c", script];
        run_program(at, &serve).success_stdout();
        let recorded = fs::read_to_string(at.join("r.csv")).unwrap();
        let is_forced = |line: &&str| line.contains(forced) && (drive == DRIVE || line.rsplit(',').nth(1) == Some("1"));
        assert_eq!(recorded.lines().filter(is_forced).count(), 5, "{drive}: {recorded}");
        fs::remove_file(at.join("r.csv")).unwrap();
    }
}

/// Tools of a file system, which write the superblock word by word, work on the file.
#[test]
#[cfg(target_os = "linux")]
fn a_file_systems_tools_work_on_the_file() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return eprintln!("skipped: --fuse, which takes root and /dev/fuse");
    }
    if !["mkfs.ext4", "tune2fs", "e2fsck", "debugfs", "dumpe2fs"].iter().all(|program| in_path(program)) {
        return eprintln!("skipped: e2fsprogs on --fuse, which is not there");
    }
    let mounts = match in_path("fuse2fs") {
        true => {
            "mkdir fs; fuse2fs -f $SEEKWISE_FILE fs & until mountpoint -q fs; do sleep 0.05; done; \
             cp word fs/mounted; rm fs/word; umount fs; wait; e2fsck -f -n $SEEKWISE_FILE; \
             debugfs -R 'cat mounted' $SEEKWISE_FILE 2> /dev/null | cmp - word;"
        }
        false => {
            eprintln!("skipped: fuse2fs, which is not there");
            ""
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("m")).unwrap();
    fs::write(at.join("word"), "precious\n".repeat(1000)).unwrap();
    let script = format!(
        "set -ex; exec 2> steps; mkfs.ext4 -q $SEEKWISE_FILE 64m; tune2fs -L label -c 7 $SEEKWISE_FILE; e2fsck -f -y $SEEKWISE_FILE; \
         debugfs -w -R 'write word word' $SEEKWISE_FILE; e2fsck -f -n $SEEKWISE_FILE; \
         debugfs -R 'cat word' $SEEKWISE_FILE 2> /dev/null | cmp - word; {mounts} \
         dumpe2fs -h $SEEKWISE_FILE | grep -q 'volume name:.*label'"
    );
    let serve = ["serve", DRIVE, "--fuse", "m", "--speed", "100", "--run", "--", "bash", "-c", &script];
    let said = run_program(at, &serve);
    let steps = fs::read_to_string(at.join("steps")).unwrap_or_default();
    assert_eq!(said.code, 0, "{}{}{steps}", said.out, said.err);
}

#[test]
#[cfg(target_os = "linux")]
fn a_hangup_unmounts_the_file_and_a_note_goes() {
    if !is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return eprintln!("skipped: --fuse, which takes root and /dev/fuse");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("m")).unwrap();
    let mut server = start_server(at, &["serve", DRIVE, "--fuse", "m", "--control", "c"]);
    let note = format!("/run/seekwise/{}-0.run", server.id());
    while !at.join("m/disk.img").exists() || !at.join("c").exists() {
        std::thread::yield_now();
    }
    let mode = |path: &std::path::Path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o777;
    let note = std::path::Path::new(&note);
    assert_eq!((mode(note), mode(note.parent().unwrap()), mode(&at.join("c"))), (0o600, 0o700, 0o600));
    assert_eq!((mode(&at.join("m")), mode(&at.join("m/disk.img"))), (0o700, 0o600));
    send_signal("-HUP", server.id());
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(!at.join("m/disk.img").exists() && !at.join("c").exists() && !note.exists());
}

/// Another user cannot remove what runs of root have left: the output says so, and it is no error.
#[test]
#[cfg(target_os = "linux")]
fn restore_by_another_user_minds_its_own() {
    if !is_root() || !in_path("setpriv") {
        return eprintln!("skipped: another user, which takes root and setpriv");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let program = at.join("seekwise");
    fs::copy(env!("CARGO_BIN_EXE_seekwise"), &program).unwrap();
    let mut server = start_server(at, &["serve", DRIVE, "--nbd", "unix:d"]);
    send_signal("-9", server.id());
    server.wait().unwrap();
    std::process::Command::new("chmod").args(["0755", "."]).current_dir(at).status().unwrap();
    let said = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["restore"])
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(0), "{out}{}", String::from_utf8_lossy(&said.stderr));
    assert!(out.contains("/run/seekwise: belongs to root: left alone"), "{out}");
    // Other tests may call `restore` at the same time.
    run_program(at, &["restore"]).success_stdout();
    assert!(!at.join("d").exists());
}
