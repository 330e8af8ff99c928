//! The power of a served disk fails a hundred times under the load of four clients, and comes back each time: nothing
//! hangs, nothing that was flushed is lost, and nothing is left over. Waits for its clients, never for the clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use seekwise_disk::block::CutSector;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::SmallDrive;
use seekwise_os::nbd::wire;

use crate::served::{Client, READ, Server, WRITE, drive};

const CLIENTS: u64 = 4;
/// Blocks of 4 KiB that each client has for itself.
const BLOCKS: u64 = 12;
const BLOCK: u32 = 4096;

/// What one client knows of its blocks.
struct Worker<'a> {
    client: Client,
    first: u64,
    /// By block: the least that must be read, the last that was acknowledged, and the last that was sent.
    blocks: Vec<[u64; 3]>,
    /// By block: the epoch in which the last that was acknowledged had been sent.
    epochs: Vec<u64>,
    /// Even while the power is on; rises when it goes and when it is back.
    epoch: &'a AtomicU64,
    failures: u64,
    /// Flushed, and older after a cut.
    lost: u64,
}

impl Worker<'_> {
    /// Sends a write of a number, forced or not. False where the power was gone.
    fn write(&mut self, block: u64, number: u64, forced: bool) -> bool {
        let data = number.to_le_bytes().repeat(BLOCK as usize / 8);
        let flags = if forced { wire::FUA } else { 0 };
        let epoch = self.epoch.load(Ordering::SeqCst);
        self.client.send(WRITE, flags, (self.first + block) * u64::from(BLOCK), BLOCK, &data);
        let known = &mut self.blocks[block as usize];
        known[2] = number;
        let done = self.client.error() == 0;
        if done {
            known[1] = number;
            self.epochs[block as usize] = epoch;
            if forced {
                known[0] = number;
            }
        }
        done
    }

    /// Everything acknowledged before a flush was sent that is done must be read from then on; not what a power failure
    /// between may have taken, of which a client that asked nothing meanwhile is told nothing.
    fn flush(&mut self) -> bool {
        let done = self.client.flush() == 0;
        let epoch = self.epoch.load(Ordering::SeqCst);
        for (known, _) in
            self.blocks.iter_mut().zip(&self.epochs).filter(|it| done && *it.1 == epoch && epoch.is_multiple_of(2))
        {
            known[0] = known[0].max(known[1]);
        }
        done
    }

    /// Reads all blocks and holds them against what is known. False where the power is gone.
    fn look(&mut self) -> bool {
        for block in 0..BLOCKS {
            self.client.send(READ, 0, (self.first + block) * u64::from(BLOCK), BLOCK, &[]);
            if self.client.error() != 0 {
                return false;
            }
            let mut data = vec![0; BLOCK as usize];
            std::io::Read::read_exact(&mut self.client.stream, &mut data).unwrap();
            // A cut may have come within the block: each of its sectors is one that may be there.
            for sector in data.chunks_exact(512) {
                let number = u64::from_le_bytes(sector[..8].try_into().unwrap());
                let [least, _, sent] = &mut self.blocks[block as usize];
                assert!(number <= *sent, "block {block}: {number} was never sent");
                self.lost += u64::from(number < *least);
                *least = number.min(*least);
                assert!(sector.chunks_exact(8).all(|part| part == &sector[..8]), "a sector is whole");
            }
        }
        true
    }

    fn work(&mut self, seed: u64, stop: &AtomicBool, done: &Sender<()>) {
        let mut chance = Seed(seed).stream("work");
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) {
            number += 1;
            let (block, what) = (chance.below(BLOCKS), chance.below(10));
            let well = match what {
                0 | 1 => self.flush(),
                2 => self.look(),
                _ => self.write(block, number, what == 3),
            };
            if well {
                let _ = done.send(());
                continue;
            }
            self.failures += 1;
            while !self.look() {
                std::thread::yield_now();
            }
        }
    }
}

/// So many cuts under four clients: how often they met one, and how many sectors were lost that had been flushed.
fn cuts(name: &str, drive: &SmallDrive, cuts: u64) -> (u64, u64) {
    let server = Server::of(name, drive, None);
    let (stop, epoch) = (AtomicBool::new(false), AtomicU64::new(0));
    let (done, hears) = channel();
    let (mut failures, mut lost) = (0, 0);
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for index in 0..CLIENTS {
            let mut worker = Worker {
                client: server.client(),
                first: index * BLOCKS,
                blocks: vec![[0; 3]; BLOCKS as usize],
                epochs: vec![0; BLOCKS as usize],
                epoch: &epoch,
                failures: 0,
                lost: 0,
            };
            let (stop, done) = (&stop, done.clone());
            workers.push(scope.spawn(move || {
                worker.work(index, stop, &done);
                (worker.failures, worker.lost)
            }));
        }
        drop(done);
        for cut in 0..cuts {
            // So much is done between two cuts, whoever did it.
            for _ in 0..3 + cut % 8 {
                hears.recv().expect("the clients work");
            }
            epoch.fetch_add(1, Ordering::SeqCst);
            let said = server.order("cut");
            assert!(said.starts_with("power cut at"), "{said}");
            assert!(server.order("on").starts_with("power is back"));
            epoch.fetch_add(1, Ordering::SeqCst);
        }
        stop.store(true, Ordering::Relaxed);
        for worker in workers {
            let (more, gone) = worker.join().expect("its own checks hold");
            (failures, lost) = (failures + more, lost + gone);
        }
    });
    assert_eq!(server.client().flush(), 0);
    assert_eq!(server.order("off").split(' ').next(), Some("switched"));
    let status = server.order("status");
    assert!(status.contains("; 0 bytes not yet on the medium"), "nothing is left over: {status}");
    assert_eq!(server.end().cuts, cuts);
    (failures, lost)
}

/// What a cut makes of the sector under the head is the profile's own affair, and tested elsewhere.
fn keeping_old_sectors() -> SmallDrive {
    SmallDrive { cut_sector: CutSector::Old, ..drive() }
}

#[test]
fn a_hundred_cuts_under_four_clients_lose_nothing_that_was_flushed() {
    let (failures, lost) = cuts("hundred", &keeping_old_sectors(), 100);
    assert!(failures >= 50, "the cuts came while work was under way: {failures} failures");
    assert_eq!(lost, 0);
}

#[test]
fn a_drive_that_acknowledges_flushes_early_is_caught() {
    let mut liar = keeping_old_sectors();
    liar.faults.early_flush = true;
    assert!(cuts("hundred-lies", &liar, 30).1 > 0);
}
