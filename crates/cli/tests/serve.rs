//! `seekwise serve` as a stranger meets it: what is refused and why, what --run sees, orders without a server, the receipt.
//! Waits for the command that it runs, and for nothing else.
#![cfg(unix)]

mod seekwise;

use std::fs;

use seekwise::seekwise;
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7";

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |more: &[&str]| seekwise(folder.path(), &[&["serve"], more].concat());
    let refused = |more: &[&str], words: &str| {
        let said = serve(more);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(said.out.is_empty());
    };
    refused(&[DRIVE, "--nbd", "disk"], "`disk` is no address; expected unix:PATH or tcp:127.0.0.1:PORT");
    refused(&[DRIVE, "--nbd", "tcp:0.0.0.0:0"], "expected 127.0.0.1 or a unix socket, or --expose");
    refused(&["baracuda-7200.7", "--nbd", "unix:s"], "did you mean `barracuda-7200.7`?");
    refused(&["null", "--nbd", "unix:s"], "is no modelled disk");
    refused(&[DRIVE, "--nbd", "unix:s", "--set", "job.depth=3"], "there is no job");
    refused(
        &[DRIVE, "--nbd", "unix:s", "--set", "at.1 s.driver.flush=drop"],
        "expected `seekwise set driver.flush=drop`",
    );
    refused(&[DRIVE, "--nbd", "unix:none/s"], "No such file or directory");
    refused(&[DRIVE, "--nbd", "unix:s", "--run", "--", "./no-such-program"], "./no-such-program: No such file");
    fs::write(folder.path().join("short.img"), "12345").unwrap();
    refused(&[DRIVE, "--nbd", "unix:s", "--image", "short.img"], "has 5 bytes; expected 160041885696");
    let nobody = seekwise(folder.path(), &["power", "cut", "--at", "s.control"]);
    assert_eq!(nobody.code, 2);
    assert!(nobody.err.contains("expected the socket for orders that `seekwise serve` names"), "{}", nobody.err);
    assert!(!folder.path().join("s").exists() && !folder.path().join("s.control").exists());
}

#[test]
fn a_command_finds_the_disk_and_its_end_is_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_seekwise");
    let script = format!(
        "test -S d && test $(stat -c %a d) = 600 && echo $SEEKWISE_URI && {program} status --at $SEEKWISE_CONTROL && \
         {program} power cut --at d.control && {program} power on --at d.control"
    );
    let serve = ["serve", DRIVE, "--nbd", "unix:d", "--image", "d.img", "--json", "--run", "--", "sh", "-c"];
    let said = seekwise(folder.path(), &[&serve[..], &[&script]].concat());
    assert_eq!(said.code, 0, "{}{}", said.err, said.out);
    let (talk, receipt) = said.out.split_at(said.out.find('{').unwrap());
    assert!(talk.contains("nbd+unix:///?socket=d\npower on at"), "{talk}");
    assert!(talk.contains("power cut at") && talk.contains("power is back at"), "{talk}");
    let receipt: Value = serde_json::from_str(receipt).unwrap();
    assert_eq!((&receipt["power_cuts"], &receipt["requests"]), (&1.into(), &0.into()));
    assert_eq!(fs::metadata(folder.path().join("d.img")).unwrap().len(), 160_041_885_696, "sparse");
    assert!(!folder.path().join("d").exists() && !folder.path().join("d.control").exists());
    let fails = seekwise(folder.path(), &["serve", DRIVE, "--nbd", "unix:d", "--run", "--", "false"]);
    assert_eq!(fails.code, 1, "{}", fails.err);
}
