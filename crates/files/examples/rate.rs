//! Measures operations a second on cached files: 4 KiB reads and writes, and lengths, of which none waits for the disk.
//!
//!     cargo run --release -p seekwise-files --example rate

#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::drives;
use seekwise_files::layer::Files;
use seekwise_files::operation::{Answer, FileOp, Handle, Settings};

/// Files, and pages of each: 16 MiB together, so that write-back does not begin by their share.
const FILES: u64 = 16;
const PAGES: u64 = 256;

const OPERATIONS: u64 = 4_000_000;

fn main() {
    let profile =
        drives::load("barracuda-7200.7-ncq").and_then(|drive| drive.profile()).expect("a drive of the catalogue");
    let mut files =
        Files::format(Stack::bare(profile).build(Seed(1)), Settings::default()).expect("it is large enough");
    let mut now = Instant::ZERO;
    let page = [7; 4096];
    let mut handles: Vec<Handle> = Vec::new();
    for number in 0..FILES {
        files.submit(now, FileOp::Create { path: &format!("/{number}") });
        while handles.len() as u64 == number {
            match files.poll_completion() {
                Some(completion) => match completion.result {
                    Ok(Answer::Opened(handle)) => handles.push(handle),
                    result => panic!("{result:?}"),
                },
                None => {
                    now = files.poll_timeout().expect("it reads the directory");
                    files.handle_timeout(now);
                }
            }
        }
    }
    let (mut done, mut rng) = (0, Seed(1).stream("operations"));
    let begun = std::time::Instant::now();
    for _ in 0..OPERATIONS {
        now += Span::from_micros(1);
        let (file, from) = (handles[rng.below(FILES) as usize], rng.below(PAGES) * 4096);
        let op = match rng.below(3) {
            0 => FileOp::Write { file, from, data: &page },
            1 => FileOp::Read { file, from, bytes: 4096 },
            _ => FileOp::Len { file },
        };
        files.submit(now, op);
        while files.poll_completion().is_some() {
            done += 1;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{done} operations in {seconds:.2} s: {:.2} million a second", done as f64 / seconds / 1e6);
}
