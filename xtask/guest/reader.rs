//! What runs in the guest of `cargo xtask guest`: threads that read 4 KiB each at random places of a disk, past the page
//! cache, one request after another. Compiled by rustc alone, without the system's libraries beside it.
//!
//! `reader DISK THREADS SECONDS` prints what it did as one line that begins with `reads`.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// What is read at once; direct reads begin at a multiple of it in memory and on the disk.
const BLOCK: usize = 4096;

/// `O_DIRECT` on x86-64.
const DIRECT: i32 = 0o40000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, disk, threads, seconds] = &arguments[..] else { panic!("reader DISK THREADS SECONDS") };
    let threads: u64 = threads.parse().expect("a number of threads");
    let length = Duration::from_secs(seconds.parse().expect("seconds"));
    // The size in sectors, as the kernel tells it.
    let name = disk.rsplit('/').next().expect("a name");
    let size = std::fs::read_to_string(format!("/sys/block/{name}/size")).expect("the size of the disk");
    let blocks = size.trim().parse::<u64>().expect("sectors") * 512 / BLOCK as u64;
    let began = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|worker| {
            let file = File::options().read(true).custom_flags(DIRECT).open(disk).expect("the disk");
            std::thread::spawn(move || reads(&file, worker, blocks, began + length))
        })
        .collect();
    let counts: Vec<u64> = workers.into_iter().map(|worker| worker.join().expect("a reader")).collect();
    let count: u64 = counts.iter().sum();
    let took = began.elapsed().as_secs_f64();
    println!("reads {count} threads {threads} per_s {:.1}", count as f64 / took);
}

/// How many reads ended before `until`.
fn reads(file: &File, worker: u64, blocks: u64, until: Instant) -> u64 {
    let mut memory = vec![0; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let block = &mut memory[start..start + BLOCK];
    let mut state = (worker + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut count = 0;
    while Instant::now() < until {
        // Xorshift: any places do, as long as they are spread.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.read_exact_at(block, state % blocks * BLOCK as u64).expect("a read");
        count += 1;
    }
    count
}
