//! Hostile clients of a served disk: they attack its NBD, control and FUSE interfaces while the server has limits on memory and
//! descriptors. The server answers other clients meanwhile and afterwards, ends in order, and reports the clients that it dropped.
//!
//! `SEEKWISE_HOSTILE=N` tries N sessions of each kind (`ulimit -n` must allow for them; see docs/development/testing.md). The tests wait
//! for answers and judge no times.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Sessions of each kind, unless `SEEKWISE_HOSTILE` says another number.
const EACH: usize = 3;

/// The memory of the served disk. The limit on the address space of its process is twice as large, for memory that is mapped and
/// never used.
const MEMORY_MIB: u64 = 256;

/// The value of `--max-clients`: less than the number of clients that negotiate the export, and more than the number that then send
/// requests, with the default [`EACH`].
const CLIENTS: usize = 26;

/// The limit on the server's descriptors: fewer than its clients and those that negotiate may need.
const DESCRIPTORS: u64 = 100;

const OPTIONS: u64 = 0x4948_4156_454f_5054;
const READ: u16 = 0;
const WRITE: u16 = 1;
const TRIM: u16 = 4;
const ZERO: u16 = 6;
const STATUS: u16 = 7;

/// A server in a process of its own.
struct Server<'a> {
    folder: &'a Path,
    child: Child,
}

impl<'a> Server<'a> {
    /// Starts `seekwise serve` with these arguments, the first of which is the target, and waits until it accepts connections.
    fn begin(folder: &'a Path, arguments: &str) -> Server<'a> {
        let program = env!("CARGO_BIN_EXE_seekwise");
        let script = format!(
            "ulimit -v {}; ulimit -n {DESCRIPTORS}; exec {program} serve {arguments} --nbd unix:d --json --max-memory {MEMORY_MIB}m",
            (2 * MEMORY_MIB) << 10
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        while UnixStream::connect(folder.join("d")).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Server { folder, child }
    }

    fn connect(&self, socket: &str) -> UnixStream {
        let stream = UnixStream::connect(self.folder.join(socket)).unwrap();
        // A test does not wait long for a server that does not read or answer.
        stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A new client that has negotiated the export correctly; `None` if the server dropped it.
    fn negotiated_client(&self) -> Option<UnixStream> {
        let mut stream = self.connect("d");
        negotiate_export(&mut stream).then_some(stream)
    }

    /// Whether a new client is served: it writes a byte and reads it back. It connects again if it is dropped, up to 400 times.
    fn serves_new_client(&self, byte: u8) -> bool {
        (0..400).any(|_| {
            let served = self.negotiated_client().is_some_and(|mut stream| {
                let offset = u64::from(byte) << 20;
                send_request(&mut stream, WRITE, offset, 4096);
                let written = stream.write_all(&[byte; 4096]).is_ok() && read_reply_error(&mut stream) == Some(0);
                send_request(&mut stream, READ, offset, 4096);
                let mut data = [0; 4096];
                written
                    && read_reply_error(&mut stream) == Some(0)
                    && stream.read_exact(&mut data).is_ok()
                    && data == [byte; 4096]
            });
            if !served {
                std::thread::sleep(Duration::from_millis(100));
            }
            served
        })
    }

    /// The peak of the server's memory in KiB, and its present number of descriptors.
    fn peak_memory_kib_and_descriptors(&self) -> (u64, usize) {
        let of = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{of}/status")).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
        (peak, std::fs::read_dir(format!("{of}/fd")).unwrap().count())
    }

    /// Stops the server by SIGINT and returns its receipt.
    fn end(mut self) -> Value {
        let asked = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        let mut receipt = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut receipt).unwrap();
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "{ended:?}");
        serde_json::from_slice(&receipt).unwrap()
    }
}

impl Drop for Server<'_> {
    /// Kills the server of a test that failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does the NBD handshake up to the choice of the export; false if the server closes the connection.
fn negotiate_export(stream: &mut UnixStream) -> bool {
    let hello = [&3u32.to_be_bytes()[..], &option_bytes(7, &[0; 6])].concat();
    let mut head = [0; 20];
    if stream.read_exact(&mut head[..18]).is_err() || stream.write_all(&hello).is_err() {
        return false;
    }
    loop {
        if stream.read_exact(&mut head).is_err() {
            return false;
        }
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let mut data = vec![0; number(16) as usize];
        if stream.read_exact(&mut data).is_err() {
            return false;
        }
        if number(12) == 1 {
            return true;
        }
    }
}

fn option_bytes(number: u32, data: &[u8]) -> Vec<u8> {
    [&OPTIONS.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn request_bytes(command: u16, offset: u64, length: u32) -> Vec<u8> {
    let numbers = [&0x2560_9513u32.to_be_bytes()[..], &[0, 0], &command.to_be_bytes(), &[9; 8]].concat();
    [&numbers[..], &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn send_request(stream: &mut UnixStream, command: u16, offset: u64, length: u32) {
    let _ = stream.write_all(&request_bytes(command, offset, length));
}

/// The error number of the next reply; `None` if the server closes the connection.
fn read_reply_error(stream: &mut UnixStream) -> Option<u32> {
    let mut head = [0; 16];
    stream.read_exact(&mut head).ok()?;
    Some(u32::from_be_bytes(head[4..8].try_into().unwrap()))
}

/// Sends bytes without reading replies, as many as the server takes.
fn send_ignoring_errors(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// The bytes of a hostile client of some kind that has not yet negotiated the export.
fn handshake_attack(kind: usize, number: usize) -> Vec<u8> {
    let flags = 3u32.to_be_bytes().to_vec();
    let announced = |length: u32| [&OPTIONS.to_be_bytes()[..], &7u32.to_be_bytes(), &length.to_be_bytes()].concat();
    match kind {
        0 => Vec::new(),
        1 => flags[..2].to_vec(),
        2 => [flags, option_bytes(7, &[0; 6])[..number % 16].to_vec()].concat(),
        3 => [flags, announced(60_000), vec![0; 100]].concat(),
        4 => [flags, announced(u32::MAX), vec![0; 4096]].concat(),
        5 => [flags, option_bytes(3, &[]).repeat(10_000)].concat(),
        6 => [flags, option_bytes(6, &[0; 6]).repeat(10_000)].concat(),
        _ => (0..5000).map(|at| (at * 7 + number * 13) as u8).collect(),
    }
}

/// The bytes of a hostile client of some kind that has negotiated the export, and never reads replies.
fn request_attack(kind: usize, number: usize) -> Vec<u8> {
    const ALL: u32 = u32::MAX - 511;
    match kind {
        0 => Vec::new(),
        1 => request_bytes(READ, 0, 4096)[..number % 28].to_vec(),
        2 => [request_bytes(WRITE, 0, 32 << 20), vec![1]].concat(),
        3 => request_bytes(READ, 0, 32 << 20).repeat(100),
        4 => request_bytes(READ, 0, 4096).repeat(20_000),
        5 => request_bytes(ZERO, 0, ALL).repeat(1000),
        6 => request_bytes(TRIM, 0, ALL).repeat(1000),
        7 => request_bytes(STATUS, 0, ALL).repeat(1000),
        8 => request_bytes(77, 0, ALL).repeat(5000),
        _ => [request_bytes(WRITE, 1 << 40, ALL), vec![7; 1 << 20]].concat(),
    }
}

const BEFORE: usize = 8;
const AFTER: usize = 10;

#[test]
fn whoever_comes_others_are_served_and_the_end_is_in_order() {
    let each = std::env::var("SEEKWISE_HOSTILE").ok().and_then(|text| text.parse().ok()).unwrap_or(EACH);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::begin(folder.path(), &format!("null --max-clients {CLIENTS}"));
    assert!(server.serves_new_client(1));
    let mut here = Vec::new();
    for number in 0..each {
        for kind in 0..BEFORE {
            let mut stream = server.connect("d");
            send_ignoring_errors(&mut stream, &handshake_attack(kind, number));
            here.push(stream);
        }
        for kind in 0..AFTER {
            let Some(mut stream) = server.negotiated_client() else { continue };
            send_ignoring_errors(&mut stream, &request_attack(kind, number));
            here.push(stream);
        }
        for words in ["".to_owned(), "a".repeat(1 << 20), "status\n".repeat(2_000), "set x\n".repeat(10)] {
            let mut stream = server.connect("d.control");
            send_ignoring_errors(&mut stream, words.as_bytes());
            here.push(stream);
        }
    }
    let (_, descriptors) = server.peak_memory_kib_and_descriptors();
    assert!(descriptors <= DESCRIPTORS as usize);
    assert!(server.serves_new_client(2), "while all of them are there");
    drop(here);
    assert!(server.serves_new_client(3));
    let (peak, _) = server.peak_memory_kib_and_descriptors();
    assert!(peak <= MEMORY_MIB << 10, "{peak} KiB");
    let receipt = server.end();
    let figure = |name: &str| receipt[name].as_u64().unwrap_or_else(|| panic!("{name}: {receipt}"));
    assert!(figure("clients_came") > (each * BEFORE) as u64, "{receipt}");
    // Silent clients make way for others, or, on a busy machine, their time runs out first.
    let who_left = figure("clients_gave_way") + figure("handshakes_expired");
    assert!(figure("clients_most") <= CLIENTS as u64 && who_left > 0, "{receipt}");
    assert!(figure("orders_turned_away") >= each as u64, "{receipt}");
    println!("{each} of each kind: {peak} KiB at most, {descriptors} descriptors; {receipt}");
}

#[test]
fn who_writes_more_than_there_is_memory_for_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::begin(folder.path(), "null");
    let mut stream = server.negotiated_client().unwrap();
    // A busy machine may take long to answer.
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    stream.set_write_timeout(None).unwrap();
    let (mut written, mut refused) = (0, 0);
    for at in 0..MEMORY_MIB + 50 {
        send_request(&mut stream, WRITE, at << 20, 1 << 20);
        stream.write_all(&vec![at as u8; 1 << 20]).unwrap();
        match read_reply_error(&mut stream) {
            Some(0) => written += 1,
            Some(28) => refused += 1,
            other => panic!("{other:?} at {at} MiB"),
        }
    }
    assert!(written > 40 && refused > 50, "{written} {refused}");
    // Sectors with contents can be overwritten, and zeroes need no memory and free some.
    send_request(&mut stream, WRITE, 0, 4096);
    stream.write_all(&[5; 4096]).unwrap();
    assert_eq!(read_reply_error(&mut stream), Some(0));
    send_request(&mut stream, ZERO, 0, 64 << 20);
    assert_eq!(read_reply_error(&mut stream), Some(0));
    send_request(&mut stream, WRITE, 200 << 30, 1 << 20);
    stream.write_all(&vec![7; 1 << 20]).unwrap();
    assert_eq!(read_reply_error(&mut stream), Some(0));
    let (peak, _) = server.peak_memory_kib_and_descriptors();
    assert!(peak <= MEMORY_MIB << 10, "{peak} KiB");
    let receipt = server.end();
    assert_eq!(receipt["refused_for_memory"], refused);
    assert!(receipt["held_most_bytes"].as_u64() < Some(MEMORY_MIB << 20));
}

#[test]
fn zeroes_and_trims_of_a_whole_disk_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for target in ["null", "null --image i"] {
        let server = Server::begin(folder.path(), target);
        let mut stream = server.negotiated_client().unwrap();
        stream.set_read_timeout(None).unwrap();
        for command in [ZERO, TRIM] {
            let asked: Vec<u64> = (0..268u64).map(|at| at * 1_000_000_000 / 4096 * 4096).collect();
            for offset in &asked {
                send_request(&mut stream, command, *offset, 4_000_000_000);
                let wanted = if offset + 4_000_000_000 > 250 << 30 { [28, 22] } else { [0, 0] };
                let said = read_reply_error(&mut stream).unwrap();
                assert_eq!(said, wanted[usize::from(command == TRIM)], "{command} at {offset}");
            }
        }
        let (peak, _) = server.peak_memory_kib_and_descriptors();
        assert!(peak < 64 << 10, "{peak} KiB");
        server.end();
    }
    let image = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(folder.path().join("i")).unwrap());
    assert!(image < 1000, "{image} blocks: a sparse file");
}

/// A drive without a command for zeroes writes them: 200 GB take the drive's time for 200 GB (at a thousandfold speed), but no memory.
#[test]
fn zeroes_of_a_modelled_drive_take_its_time_and_no_memory() {
    /// The drive's rate at its outer edge, in bytes a second (`outer_mb_s` of crates/drives/profiles/barracuda-2t-st2000dm006.toml).
    const FASTEST: f64 = 210e6;
    const LENGTH: u32 = 4_000_000_000 / 4096 * 4096;

    let folder = tempfile::tempdir().unwrap();
    let server = Server::begin(folder.path(), "barracuda-2t-st2000dm006 --speed 1000");
    let mut stream = server.negotiated_client().unwrap();
    stream.set_read_timeout(None).unwrap();
    for at in 0..50 {
        send_request(&mut stream, ZERO, at * u64::from(LENGTH), LENGTH);
        assert_eq!(read_reply_error(&mut stream), Some(0));
    }
    let mut status = Command::new(env!("CARGO_BIN_EXE_seekwise"));
    let status = status.args(["disk", "status", "--control", "d.control", "--json"]).current_dir(folder.path());
    let status: Value = serde_json::from_slice(&status.output().unwrap().stdout).unwrap();
    let (seconds, least) = (status["disk_seconds"].as_f64().unwrap(), 50.0 * f64::from(LENGTH) / FASTEST);
    assert!(seconds > least, "{seconds} s for what takes {least} s at least");
    let (peak, _) = server.peak_memory_kib_and_descriptors();
    assert!(peak < 64 << 10, "{peak} KiB");
    assert_eq!(server.end()["writes"], 50);
}

/// Clients that negotiate the export and send no requests hold all descriptors, which are far fewer than `--max-clients`.
#[test]
fn silent_clients_give_way_where_descriptors_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::begin(folder.path(), "null --max-clients 500");
    let asks = server.negotiated_client().unwrap();
    assert!(server.serves_new_client(1));
    let mut here: Vec<UnixStream> = (0..3 * DESCRIPTORS).filter_map(|_| server.negotiated_client()).collect();
    assert!(here.len() > DESCRIPTORS as usize, "{} came", here.len());
    let (_, descriptors) = server.peak_memory_kib_and_descriptors();
    assert!(descriptors > DESCRIPTORS as usize - 5, "{descriptors}: they are not short");
    assert!(server.serves_new_client(2), "while {} are there", here.len());
    here.push(asks);
    drop(here);
    assert!(server.serves_new_client(3));
    let receipt = server.end();
    let figure = |name: &str| receipt[name].as_u64().unwrap_or_else(|| panic!("{name}: {receipt}"));
    assert!(figure("without_descriptor") > DESCRIPTORS && figure("clients_gave_way") > DESCRIPTORS, "{receipt}");
}
