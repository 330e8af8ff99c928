//! The requests and operations of scenes are compared with those of the last time: `golden/scenes.txt` has the number
//! of lines of each scene and their hash. The laws test whether results are right; this test notices that they changed.
//! `SEEKWISE_UPDATE=1` writes the file anew; the commit then says why results change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::scene;

/// The 64-bit FNV-1a hash of the lines, which is equal on every machine and with every compiler.
fn hash_lines(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn scenes_do_what_they_did() {
    let mut current = String::new();
    for (name, lines) in scene::golden_lines() {
        writeln!(current, "{name}: {} lines, {:016x}", lines.len(), hash_lines(&lines)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scenes.txt");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &current).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> = current.lines().filter(|line| !before.lines().any(|before| before == *line)).collect();
    assert!(before == current, "{} of {} scenes moved: {:?}", moved.len(), current.lines().count(), moved.first());
}
