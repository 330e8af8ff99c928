//! Runs the fuzz entries of the network block device protocol on a stable compiler. Sessions, drawn or written down,
//! are changed by a seeded generator, so that each run has the same cases. `SEEKWISE_FUZZ_CASES` sets another number of
//! cases; the fuzz targets in `fuzz/` go further.

#[path = "../../../fuzz/change.rs"]
mod change;
#[path = "../../../fuzz/nbd.rs"]
mod entries;

use change::change;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_os::nbd::wire::{self, option};

/// Cases of a client, and as many of a server.
const CASES: u64 = 20_000;

/// Numbers that are put into sessions: sizes at limits, and such as would be negative.
const NUMBERS: [u64; 12] = [0, 1, 2, 3, 6, 511, 512, 4096, 65_536, u32::MAX as u64, 1 << 20, u64::MAX];

#[test]
fn sessions_that_go_well_go_well() {
    assert_eq!(entries::server(&entries::client_bytes()), 6, "each request was taken");
    assert_eq!(entries::client(&entries::server_bytes()), 5, "each request was done");
}

#[test]
fn a_server_returns_whatever_its_client_sends() {
    let session = entries::client_bytes();
    let seed = |rng: &mut Rng| if rng.draw_chance(50) { talk(rng) } else { session.clone() };
    let taken = try_cases("nbd server", seed, entries::server);
    assert!(taken > CASES / 10, "nearly none came as far as a request: {taken}");
}

#[test]
fn a_client_returns_whatever_its_server_sends() {
    let session = entries::server_bytes();
    let done = try_cases("nbd client", |_| session.clone(), entries::client);
    assert!(done > CASES / 10, "nearly none came as far as an answer: {done}");
}

/// Tries changed sessions; returns how many requests were carried out in all.
fn try_cases(name: &str, seed: impl Fn(&mut Rng) -> Vec<u8>, entry: fn(&[u8]) -> usize) -> u64 {
    let cases_asked = std::env::var("SEEKWISE_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let mut rng = Seed(20_071_115).stream(name);
    let widths = |number: u64| [2, 4, 8].map(|width| number.to_be_bytes()[8 - width..].to_vec());
    let numbers: Vec<Vec<u8>> = NUMBERS.into_iter().flat_map(widths).collect();
    let mut carried_out = 0;
    for _ in 0..cases_asked.unwrap_or(CASES) {
        let mut case = seed(&mut rng);
        for _ in 0..rng.below(5) {
            change(&mut case, &numbers, &mut rng);
        }
        match std::panic::catch_unwind(|| entry(&case)) {
            Ok(count) => carried_out += count as u64,
            Err(_) => panic!("{name} panics on {case:?}"),
        }
    }
    carried_out
}

fn put_option(out: &mut Vec<u8>, number: u32, data: &[u8]) {
    out.extend(wire::OPTIONS.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

fn put_request(out: &mut Vec<u8>, command: u16, flags: u16, offset: u64, length: u32) {
    out.extend(wire::REQUEST.to_be_bytes());
    out.extend(flags.to_be_bytes());
    out.extend(command.to_be_bytes());
    out.extend(offset.to_be_bytes());
    out.extend(offset.to_be_bytes());
    out.extend(length.to_be_bytes());
    if command == 1 {
        out.extend(vec![7; length.min(2 << 16) as usize]);
    }
}

/// A client's bytes from the first to the last, for a disk of 1 MiB that takes requests of 64 KiB.
fn talk(rng: &mut Rng) -> Vec<u8> {
    let mut out = (rng.below(4) as u32).to_be_bytes().to_vec();
    let context = [&0u32.to_be_bytes()[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
    for _ in 0..rng.below(4) {
        match rng.below(6) {
            0 => put_option(&mut out, option::LIST, &[]),
            1 => put_option(&mut out, option::STRUCTURED_REPLY, &[]),
            2 => put_option(&mut out, option::SET_META_CONTEXT, &context),
            3 => put_option(&mut out, option::LIST_META_CONTEXT, &context[..8]),
            4 => put_option(&mut out, option::INFO, &[0, 0, 0, 0, 0, 1, 0, 3]),
            _ => put_option(&mut out, rng.below(20) as u32, &context[..rng.below(12) as usize]),
        }
    }
    match rng.draw_chance(80) {
        true => put_option(&mut out, option::GO, &[0; 6]),
        false => put_option(&mut out, option::EXPORT_NAME, &[]),
    }
    for _ in 0..rng.below(8) {
        let (command, flags) = (rng.below(9) as u16, rng.below(32) as u16);
        let (offset, length) = (rng.below((1 << 20) / 512 + 3) * 512, rng.below(140) as u32 * 512);
        put_request(&mut out, command, flags, offset, length);
    }
    out
}
