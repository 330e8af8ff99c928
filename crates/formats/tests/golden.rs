//! Golden outputs of the parsers: values and errors of seeds, and of changed seeds. The fuzz targets run the same entries and ask only that
//! they return. `SEEKWISE_UPDATE=1` writes the outputs anew.

use std::fmt::{Debug, Write};
use std::fs;
use std::path::Path;

use seekwise_disk::rng::Seed;
use sha2::{Digest, Sha256};

use crate::fuzz_smoke::entries::ALL;
use crate::fuzz_smoke::{changed, sources};

/// Changed seeds of each parser.
const CHANGED: usize = 120;

/// As much of what was said is kept as text.
const KEPT: usize = 400;

fn brief(text: &str) -> String {
    if text.len() <= KEPT && !text.contains('\n') {
        return text.to_owned();
    }
    let digest: String = Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{} bytes, {digest}", text.len())
}

fn said() -> String {
    let mut all = String::new();
    for (name, entry) in ALL {
        let own: Vec<Vec<u8>> = sources(name).0.iter().map(|seed| seed.to_vec()).collect();
        let mut rng = Seed(45).stream(name);
        let cases: Vec<Vec<u8>> = own.iter().cloned().chain((0..CHANGED).map(|_| changed(&own, &mut rng))).collect();
        for (at, case) in cases.iter().enumerate() {
            let mut heard = Vec::new();
            entry(case, &mut |value: &dyn Debug| heard.push(format!("{value:?}")));
            writeln!(all, "{name} {at}: {}", brief(&heard.join(" "))).unwrap();
        }
    }
    all
}

#[test]
fn parsers_say_what_was_read_last() {
    let (said, path) = (said(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parsers.txt"));
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, &said).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let other = before.lines().chain([""]).zip(said.lines().chain([""])).filter(|(was, is)| was != is);
    let other: Vec<String> = other.take(5).map(|(was, is)| format!("  was {was}\n  is  {is}")).collect();
    assert!(before == said, "SEEKWISE_UPDATE=1 writes it anew; read the difference.\n{}", other.join("\n"));
}
