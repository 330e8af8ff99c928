//! Golden outputs of the parsers, `golden/parsers.txt`: values and errors of seeds, and of changed seeds. The fuzz targets run the
//! same entries and ask only that they return. `SEEKWISE_UPDATE=1` writes the outputs anew.

use std::fmt::{Debug, Write};
use std::fs;
use std::path::Path;

use seekwise_disk::rng::Seed;
use sha2::{Digest, Sha256};

use crate::fuzz_smoke::entries::ALL;
use crate::fuzz_smoke::{draw_changed, seed_sources};

/// Changed seeds of each parser.
const CHANGED_SEEDS: usize = 120;

/// Bytes up to which an output is kept as text; longer ones are kept as a hash.
const LONGEST_TEXT: usize = 400;

/// The text itself if it is short, otherwise its length and a hash.
fn abbreviate(text: &str) -> String {
    if text.len() <= LONGEST_TEXT && !text.contains('\n') {
        return text.to_owned();
    }
    let digest: String = Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{} bytes, {digest}", text.len())
}

/// The outputs of all parsers, one line for each seed and changed seed.
fn collect_outputs() -> String {
    let mut all = String::new();
    for (name, entry) in ALL {
        let own: Vec<Vec<u8>> = seed_sources(name).own.iter().map(|seed| seed.to_vec()).collect();
        let mut rng = Seed(45).stream(name);
        let cases: Vec<Vec<u8>> =
            own.iter().cloned().chain((0..CHANGED_SEEDS).map(|_| draw_changed(&own, &mut rng))).collect();
        for (index, case) in cases.iter().enumerate() {
            let mut debug_texts = Vec::new();
            entry(case, &mut |value: &dyn Debug| debug_texts.push(format!("{value:?}")));
            writeln!(all, "{name} {index}: {}", abbreviate(&debug_texts.join(" "))).unwrap();
        }
    }
    all
}

#[test]
fn parsers_say_what_was_read_last() {
    let (outputs, path) = (collect_outputs(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parsers.txt"));
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, &outputs).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let differences = before.lines().chain([""]).zip(outputs.lines().chain([""])).filter(|(was, is)| was != is);
    let differences: Vec<String> = differences.take(5).map(|(was, is)| format!("  was {was}\n  is  {is}")).collect();
    assert!(before == outputs, "SEEKWISE_UPDATE=1 writes it anew; read the difference.\n{}", differences.join("\n"));
}
