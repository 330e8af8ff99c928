//! What programs do on volumes is what they did when it was looked at last: of each scene the number of lines and their hash
//! stand in `golden/scenes.txt`. The laws say what is right; this notices that anything moved. `SEEKWISE_UPDATE=1` writes it anew: say in
//! the commit why results change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::scene;

/// FNV-1a, of 64 bits: the same on every machine and with every compiler.
fn hash(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn scenes_do_what_they_did() {
    let mut said = String::new();
    for (name, lines) in scene::told() {
        writeln!(said, "{name}: {} lines, {:016x}", lines.len(), hash(&lines)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scenes.txt");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &said).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> = said.lines().filter(|line| !before.lines().any(|before| before == *line)).collect();
    assert!(before == said, "{} of {} scenes moved: {:?}", moved.len(), said.lines().count(), moved.first());
}
