//! What any client may send: valid talk, changed by a seeded generator, the same in every run. Each comes to an end, and
//! every request that is handed on makes sense.

use std::io::{self, Read, Write};

use seekwise_model::rng::{Rng, Seed};
use seekwise_targets::nbd::wire::{self, Command, option};
use seekwise_targets::nbd::{Export, serve};

const CASES: u64 = 20_000;

const BYTES: u64 = 1 << 20;
const LARGEST: u32 = 1 << 16;

/// What a client sends; what it is sent is counted.
struct Talk<'a> {
    sends: &'a [u8],
    got: usize,
}

impl Read for Talk<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.sends.read(into)
    }
}

impl Write for Talk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.got += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        out.extend(vec![7; length.min(2 * LARGEST) as usize]);
    }
}

/// A client's talk from the first byte to the last.
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
    match rng.percent(80) {
        true => put_option(&mut out, option::GO, &[0; 6]),
        false => put_option(&mut out, option::EXPORT_NAME, &[]),
    }
    for _ in 0..rng.below(8) {
        let (command, flags) = (rng.below(9) as u16, rng.below(32) as u16);
        let (offset, length) = (rng.below(BYTES / 512 + 3) * 512, rng.below(140) as u32 * 512);
        put_request(&mut out, command, flags, offset, length);
    }
    out
}

fn change(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(4) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes.truncate(at.max(1)),
            _ => {
                let piece = bytes[at..(at + 8).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn whatever_a_client_sends_it_comes_to_an_end() {
    let (smallest, preferred) = (512, 4096);
    let export = Export { description: "d".to_owned(), bytes: BYTES, smallest, preferred, largest: LARGEST };
    let mut asked = [0u64; 2];
    for case in 0..CASES {
        let mut rng = Seed(case).stream("nbd");
        let mut sends = talk(&mut rng);
        change(&mut sends, &mut rng);
        let mut back = Vec::new();
        let served = serve(Talk { sends: &sends, got: 0 }, &mut back, &export, |request| {
            let head = request.head;
            assert!(!matches!(head.command, Command::Unknown(_) | Command::Disconnect), "case {case}");
            if head.command != Command::Flush {
                assert!(head.offset + u64::from(head.length) <= BYTES && head.length > 0, "case {case}: {head:?}");
            }
            if head.command == Command::Write {
                assert_eq!(request.data.len(), head.length as usize);
                assert!(head.length <= LARGEST);
            }
            asked[0] += 1;
            match head.command {
                Command::Read => request.reply.done(vec![0; head.length as usize]),
                Command::BlockStatus => request.reply.extents(vec![(head.length, 0)]),
                // One in three is dropped, as by a server that ends.
                _ if asked[0].is_multiple_of(3) => drop(request),
                _ => request.reply.done(Vec::new()),
            }
        });
        asked[1] += u64::from(served.is_err());
    }
    assert!(asked[0] > CASES / 2 && asked[1] > CASES / 20, "too little seen: {asked:?}");
}
