//! The network block device protocol's fuzz entries on a stable compiler: sessions that go well, changed by a seeded generator,
//! the same in every run. `SEEKWISE_FUZZ_CASES` sets another number of cases; the fuzz targets in `fuzz/` go further.

#![cfg(unix)]

#[path = "../../../fuzz/nbd.rs"]
mod entries;

use seekwise_model::rng::{Rng, Seed};

/// Cases an end.
const CASES: u64 = 20_000;

/// Numbers of which much depends: sizes at bounds, and what would be negative.
const NUMBERS: [u64; 12] = [0, 1, 2, 3, 6, 511, 512, 4096, 65_536, u32::MAX as u64, 1 << 20, u64::MAX];

#[test]
fn sessions_that_go_well_go_well() {
    assert_eq!(entries::server(&entries::client_bytes()), 6, "each request was taken");
    assert_eq!(entries::client(&entries::server_bytes()), 5, "each request was done");
}

#[test]
fn a_server_returns_whatever_its_client_sends() {
    let taken = try_cases("nbd server", &entries::client_bytes(), entries::server);
    assert!(taken > CASES / 10, "nearly none came as far as a request: {taken}");
}

#[test]
fn a_client_returns_whatever_its_server_sends() {
    let done = try_cases("nbd client", &entries::server_bytes(), entries::client);
    assert!(done > CASES / 10, "nearly none came as far as an answer: {done}");
}

/// How many requests came through in all.
fn try_cases(name: &str, seed: &[u8], entry: fn(&[u8]) -> usize) -> u64 {
    let asked = std::env::var("SEEKWISE_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let mut rng = Seed(20_071_115).stream(name);
    let mut through = 0;
    for _ in 0..asked.unwrap_or(CASES) {
        let mut case = seed.to_vec();
        for _ in 0..=rng.below(4) {
            change(&mut case, &mut rng);
        }
        match std::panic::catch_unwind(|| entry(&case)) {
            Ok(count) => through += count as u64,
            Err(_) => panic!("{name} panics on {case:?}"),
        }
    }
    through
}

fn change(case: &mut Vec<u8>, rng: &mut Rng) {
    let at = |length: usize, rng: &mut Rng| rng.below(length as u64 + 1) as usize;
    let place = at(case.len(), rng);
    let end = (place + at(40, rng)).min(case.len());
    match rng.below(5) {
        0 => case.truncate(place),
        1 => drop(case.drain(place..end)),
        2 => {
            let run = case[place..end].to_vec();
            let other = at(case.len(), rng);
            case.splice(other..other, run);
        }
        3 => {
            let number = NUMBERS[rng.below(NUMBERS.len() as u64) as usize].to_be_bytes();
            let width = [2, 4, 8][rng.below(3) as usize];
            let bytes = number[8 - width..].iter().copied();
            case.splice(place..(place + width).min(case.len()), bytes);
        }
        _ => {
            if let Some(byte) = case.get_mut(place) {
                *byte ^= 1 << rng.below(8);
            }
        }
    }
}
