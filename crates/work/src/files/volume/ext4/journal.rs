//! The journal of ext4, jbd2: changed blocks of metadata are written to a ring of blocks first, a transaction at a
//! time, and *home*, to their own places, later.
//!
//! From the kernel's documentation (filesystems/ext4, "Journal (jbd2)") and fs/jbd2: a transaction is a descriptor
//! block for every 254 blocks, the blocks, and, when these are on the medium, a commit block. With barriers this takes
//! a flush before the commit block and FUA for that block; without, only the order of completions.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use seekwise_disk::block::Flags;
use seekwise_disk::time::{Instant, Span};

use super::super::pages::{self, DirtyPage, MetadataPages};
use super::super::plan::{IoPlan, PlanWait, SectorRole};
use super::layout::BLOCK;

/// Blocks that a descriptor block names: 4,096 bytes less header (12), checksum (4) and the first tag's identifier
/// (16), divided by tags of 16 bytes.
const TAGS: u64 = 254;
/// The age at which committed blocks are written home (vm.dirty_expire_centisecs).
const EXPIRE: Span = Span::from_secs(30);
/// How often the kernel looks for such blocks (vm.dirty_writeback_centisecs).
const LOOK: Span = Span::from_secs(5);

/// A committed block that is not home yet.
#[derive(Clone, Copy, Debug)]
struct CommittedBlock {
    page: DirtyPage,
    since: Instant,
    /// The number of its transaction.
    transaction: u64,
}

/// A transaction with committed blocks that are not home yet.
#[derive(Debug)]
struct OpenTransaction {
    number: u64,
    /// The first block, counted from the first block ever written to the ring.
    start: u64,
    /// How many of its blocks are not home.
    blocks_left: u64,
}

/// The journal. The running transaction consists of the dirty pages in [`MetadataPages`].
#[derive(Debug)]
pub(super) struct Ext4Journal {
    /// First sector, which is that of the journal's superblock.
    lba: u64,
    /// Blocks in the ring after the superblock.
    ring: u64,
    barrier: bool,
    commit_interval: Span,
    /// Blocks ever written to the ring.
    head: u64,
    /// How many of these are no longer needed according to the superblock on the drive.
    tail: u64,
    /// When the running transaction is committed.
    commit_due: Instant,
    /// The latest committed change.
    committed: u64,
    /// Committed blocks that are not home, by their own first sector.
    pending: BTreeMap<u64, CommittedBlock>,
    /// Transactions from the oldest with a pending block on, without gaps.
    open: VecDeque<OpenTransaction>,
    /// How many transactions were committed.
    transactions: u64,
    /// When to look for old blocks.
    look_due: Instant,
}

impl Ext4Journal {
    pub(super) fn new(lba: u64, blocks: u64, barrier: bool, commit_interval: Span) -> Ext4Journal {
        Ext4Journal {
            lba,
            ring: blocks - 1,
            barrier,
            commit_interval,
            head: 0,
            tail: 0,
            commit_due: Instant::FAR,
            committed: 0,
            pending: BTreeMap::new(),
            open: VecDeque::new(),
            transactions: 0,
            look_due: Instant::FAR,
        }
    }

    /// The first sector of its superblock.
    pub(super) fn superblock_lba(&self) -> u64 {
        self.lba
    }

    /// Begins a transaction for a metadata change, if none runs.
    pub(super) fn begin_transaction(&mut self, now: Instant) {
        if self.commit_due == Instant::FAR {
            self.commit_due = now + self.commit_interval;
        }
    }

    /// True if this change is committed.
    pub(super) fn is_committed(&self, change: u64) -> bool {
        change <= self.committed
    }

    /// Ends the phase of the plan, with a flush if there are barriers.
    pub(super) fn add_barrier(&self, plan: &mut IoPlan) {
        if self.barrier {
            plan.add_flush();
        }
        plan.begin_phase();
    }

    /// When something falls due.
    pub(super) fn next_due(&self) -> Instant {
        self.commit_due.min(self.look_due)
    }

    /// Does what is due.
    pub(super) fn handle_due(&mut self, pages: &mut MetadataPages, now: Instant, plan: &mut IoPlan) {
        if now >= self.commit_due {
            self.commit(pages, now, plan);
        }
        if now >= self.look_due {
            plan.begin_phase();
            let old: Vec<u64> =
                self.pending.values().filter(|block| block.since + EXPIRE <= now).map(|block| block.page.lba).collect();
            self.write_home(&old, plan);
            self.look_due = if self.pending.is_empty() { Instant::FAR } else { now + LOOK };
        }
    }

    /// Commits the running transaction: writes its blocks to the ring, then its commit block. The plan waits for the
    /// data of its files ([`PlanWait::Writes`]).
    pub(super) fn commit(&mut self, pages: &mut MetadataPages, now: Instant, plan: &mut IoPlan) {
        self.commit_due = Instant::FAR;
        let blocks = pages.take_dirty_if(|_| true);
        let Some(latest_change) = blocks.iter().map(|page| page.latest_change).max() else {
            return;
        };
        if plan.steps().is_empty() {
            plan.wait = PlanWait::Writes;
        }
        let count = blocks.len() as u64 + (blocks.len() as u64).div_ceil(TAGS);
        assert!(count < self.ring, "a transaction fits in the journal");
        if self.head - self.tail + count + 1 > self.ring {
            self.checkpoint(plan);
        }
        plan.begin_phase();
        let begin = self.head;
        let mut left = count;
        while left > 0 {
            let at = self.head % self.ring;
            let run = left.min(self.ring - at);
            plan.add_write(self.block_lba(at), run * BLOCK, Flags::NONE, SectorRole::JournalBlocks, latest_change);
            (self.head, left) = (self.head + run, left - run);
        }
        self.add_barrier(plan);
        let flags = if self.barrier { Flags::FUA } else { Flags::NONE };
        plan.add_write(self.block_lba(self.head % self.ring), BLOCK, flags, SectorRole::JournalCommit, latest_change);
        plan.begin_phase();
        self.head += 1;
        self.committed = latest_change;
        self.transactions += 1;
        self.open.push_back(OpenTransaction { number: self.transactions, start: begin, blocks_left: 0 });
        for page in blocks {
            self.add_pending(CommittedBlock { page, since: now, transaction: self.transactions });
        }
        if self.look_due == Instant::FAR {
            self.look_due = now + LOOK;
        }
        // The superblock is written if that frees a quarter of the ring (jbd2: the most that a transaction may take).
        let needed = self.oldest_needed_block();
        if needed - self.tail >= self.ring / 4 {
            self.write_superblock(needed, plan);
        }
    }

    /// The first sector of a block of the ring.
    fn block_lba(&self, index: u64) -> u64 {
        self.lba + (1 + index) * BLOCK
    }

    /// Adds a block of the latest transaction that is to be written home. An older transaction need no longer keep it.
    fn add_pending(&mut self, block: CommittedBlock) {
        if let Some(older) = self.pending.insert(block.page.lba, block) {
            self.release_block(older.transaction);
        }
        self.open.back_mut().expect("its transaction is open").blocks_left += 1;
    }

    /// Counts a block of a transaction as no longer needed, and closes transactions without such blocks.
    fn release_block(&mut self, transaction: u64) {
        let first = self.open.front().expect("it is open").number;
        self.open[(transaction - first) as usize].blocks_left -= 1;
        while self.open.len() > 1 && self.open.front().is_some_and(|oldest| oldest.blocks_left == 0) {
            self.open.pop_front();
        }
    }

    /// The first block of the oldest transaction with blocks that are not home.
    fn oldest_needed_block(&self) -> u64 {
        self.open.iter().find(|open| open.blocks_left > 0).map_or(self.head, |open| open.start)
    }

    fn write_home(&mut self, lbas: &[u64], plan: &mut IoPlan) {
        let mut out = Vec::with_capacity(lbas.len());
        for lba in lbas {
            let block = self.pending.remove(lba).expect("it is not home");
            self.release_block(block.transaction);
            out.push(block.page);
        }
        pages::add_page_writes(&out, Flags::NONE, plan);
    }

    /// Writes all blocks home and frees the ring.
    pub(super) fn checkpoint(&mut self, plan: &mut IoPlan) {
        plan.begin_phase();
        let all: Vec<u64> = self.pending.keys().copied().collect();
        self.write_home(&all, plan);
        self.add_barrier(plan);
        if self.tail != self.head {
            self.write_superblock(self.head, plan);
        }
        self.look_due = Instant::FAR;
    }

    fn write_superblock(&mut self, tail: u64, plan: &mut IoPlan) {
        let flags = if self.barrier { Flags::FUA } else { Flags::NONE };
        plan.add_write(self.lba, BLOCK, flags, SectorRole::JournalSuper, 0);
        plan.begin_phase();
        self.tail = tail;
    }

    /// Drops freed blocks, which must not be written home over other data.
    pub(super) fn drop_freed(&mut self, lba: u64, sectors: u64) {
        let gone: Vec<u64> = self.pending.range(lba..lba + sectors).map(|(&lba, _)| lba).collect();
        for lba in gone {
            let block = self.pending.remove(&lba).expect("just seen");
            self.release_block(block.transaction);
        }
    }

    /// Begins the run: changes up to `latest_change` are from before it, and all blocks are home.
    pub(super) fn begin_run(&mut self, latest_change: u64) {
        self.pending.clear();
        self.open.clear();
        (self.tail, self.committed) = (self.head, latest_change);
        (self.commit_due, self.look_due) = (Instant::FAR, Instant::FAR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use seekwise_disk::block::Op;

    /// Role, first block and number of blocks of each write.
    fn writes(plan: &IoPlan) -> Vec<(SectorRole, u64, u64)> {
        plan.steps().iter().filter(|s| s.op == Op::Write).map(|s| (s.role, s.lba / BLOCK, s.sectors / BLOCK)).collect()
    }

    #[test]
    fn a_transaction_is_descriptor_blocks_flush_and_commit() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        let mut journal = Ext4Journal::new(8_000, 1024, true, Span::from_secs(5));
        for block in 0..255 {
            pages.mark_dirty(block * BLOCK, BLOCK, SectorRole::Inodes, 1);
        }
        journal.commit(&mut pages, Instant::ZERO, &mut plan);
        // 255 blocks need two descriptors; the ring begins after the superblock.
        assert_eq!(writes(&plan), [(SectorRole::JournalBlocks, 1_001, 257), (SectorRole::JournalCommit, 1_258, 1)]);
        let phases: Vec<(u32, Op)> = plan.steps().iter().map(|step| (step.phase, step.op)).collect();
        assert_eq!(phases, [(0, Op::Write), (1, Op::Flush), (2, Op::Write)]);
        assert!(plan.steps()[2].flags.has(Flags::FUA));
        assert!(journal.is_committed(1) && !journal.is_committed(2));
    }

    #[test]
    fn without_barriers_only_the_order_is_left() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        let mut journal = Ext4Journal::new(8_000, 1024, false, Span::from_secs(5));
        pages.mark_dirty(0, BLOCK, SectorRole::Inodes, 1);
        journal.commit(&mut pages, Instant::ZERO, &mut plan);
        let phases: Vec<(u32, Op, Flags)> = plan.steps().iter().map(|s| (s.phase, s.op, s.flags)).collect();
        assert_eq!(phases, [(0, Op::Write, Flags::NONE), (1, Op::Write, Flags::NONE)]);
    }

    #[test]
    fn blocks_go_home_after_thirty_seconds_and_a_full_ring_takes_all_home() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        let mut journal = Ext4Journal::new(8_000, 65, true, Span::from_secs(5));
        pages.mark_dirty(0, BLOCK, SectorRole::Inodes, 1);
        journal.begin_transaction(Instant::ZERO);
        let mut now = Instant::ZERO;
        let mut seen = Vec::new();
        while journal.next_due() != Instant::FAR {
            now = journal.next_due();
            plan.clear();
            journal.handle_due(&mut pages, now, &mut plan);
            seen.extend(writes(&plan).into_iter().map(|(role, ..)| (now.nanos() / 1_000_000_000, role)));
        }
        assert_eq!(seen, [(5, SectorRole::JournalBlocks), (5, SectorRole::JournalCommit), (35, SectorRole::Inodes)]);
        // Transactions of 30 blocks in a ring of 64, each of other blocks: the first took 3, the fourth finds no room.
        plan.clear();
        for transaction in 2..5 {
            for block in 0..28 {
                pages.mark_dirty((transaction * 100 + block) * BLOCK, BLOCK, SectorRole::Inodes, transaction);
            }
            plan.clear();
            journal.commit(&mut pages, now, &mut plan);
        }
        let homes = writes(&plan)
            .iter()
            .filter(|(role, ..)| *role == SectorRole::Inodes)
            .map(|(.., blocks)| blocks)
            .sum::<u64>();
        assert_eq!(homes, 56);
        assert!(writes(&plan).iter().any(|(role, ..)| *role == SectorRole::JournalSuper));
        assert_eq!(plan.steps()[0].role, SectorRole::Inodes, "before the ring is used again");
    }

    /// A plain model of the ring.
    struct Ring {
        /// By block of the ring: the transaction that wrote it.
        blocks: Vec<u64>,
        /// By block that is not home: the last transaction that committed it.
        waiting: BTreeMap<u64, u64>,
        /// Where each transaction begins, counted from the first block ever written.
        starts: Vec<u64>,
        written: u64,
        /// The first block that is needed according to the superblock on the drive.
        tail: u64,
    }

    impl Ring {
        fn new(blocks: u64) -> Ring {
            Ring { blocks: vec![0; blocks as usize], waiting: BTreeMap::new(), starts: vec![0], written: 0, tail: 0 }
        }

        fn size(&self) -> u64 {
            self.blocks.len() as u64
        }

        /// The first block of the oldest transaction with a block that is not home.
        fn oldest_needed_block(&self) -> u64 {
            self.waiting.values().min().map_or(self.written, |&oldest| self.starts[oldest as usize])
        }

        /// Applies a write of the journal that begins at block `journal`; `transaction` is the one under way.
        fn apply_write(&mut self, journal: u64, step: &super::super::super::plan::PlanStep, transaction: u64) {
            let (first, count) = (step.lba / BLOCK, step.sectors / BLOCK);
            match step.role {
                SectorRole::JournalBlocks | SectorRole::JournalCommit => {
                    let at = first - journal - 1;
                    assert_eq!(at, self.written % self.size(), "the ring is written in order");
                    for block in at..at + count {
                        let owner = self.blocks[block as usize];
                        let needs = self.waiting.values().any(|&waits| waits == owner && waits != transaction);
                        assert!(!needs, "transaction {owner} is not home, and {transaction} is written over it");
                        self.blocks[block as usize] = transaction;
                    }
                    self.written += count;
                    assert!(self.written - self.tail <= self.size(), "the superblock still needs what is overwritten");
                }
                SectorRole::JournalSuper => self.tail = self.oldest_needed_block(),
                _ => (first..first + count).for_each(|block| {
                    let waited = self.waiting.remove(&block);
                    assert!(waited.is_some_and(|waits| waits < transaction), "block {block} goes home once");
                }),
            }
        }
    }

    /// Random transactions, blocks that are forgotten between them, and time that passes or does not.
    #[test]
    fn a_ring_is_written_in_order_and_never_over_what_is_not_home() {
        const JOURNAL: u64 = 1_000;
        for seed in 0..40 {
            let mut rng = seekwise_disk::rng::Seed(seed).stream("ring");
            let ring_blocks = 16 + rng.below(50);
            let mut ring = Ring::new(ring_blocks);
            let mut journal = Ext4Journal::new(JOURNAL * BLOCK, ring_blocks + 1, true, Span::from_secs(5));
            let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
            let (mut now, mut rounds) = (Instant::ZERO, 0);
            for transaction in 1..200 {
                now += Span::from_secs(rng.below(12));
                let blocks = 1 + rng.below(ring_blocks - 3);
                let changed: BTreeMap<u64, ()> = (0..blocks).map(|_| (2_000 + rng.below(90), ())).collect();
                changed
                    .keys()
                    .for_each(|block| pages.mark_dirty(block * BLOCK, BLOCK, SectorRole::Inodes, transaction));
                let (used, count) = (ring.written - ring.tail, changed.len() as u64 + 2);
                plan.clear();
                journal.commit(&mut pages, now, &mut plan);
                ring.starts.push(ring.written);
                let mut steps = plan.steps().iter().filter(|step| step.op == Op::Write).peekable();
                // All goes home first if, and only if, there is no room.
                let first = steps.peek().expect("a commit").role;
                let (fits, is_log) = (used + count <= ring_blocks, first.is_log());
                if ring.waiting.is_empty() && !fits {
                    assert_eq!(first, SectorRole::JournalSuper);
                } else {
                    assert_eq!(is_log, fits, "{used} of {ring_blocks} used, {count} more");
                }
                rounds += u64::from(!fits);
                let (mut committed, mut saved) = (false, false);
                for step in steps {
                    let before = ring.tail;
                    ring.apply_write(JOURNAL, step, transaction);
                    if committed {
                        saved = true;
                        assert!(ring.tail - before >= ring_blocks / 4, "a superblock that frees too little");
                    }
                    if step.role == SectorRole::JournalCommit {
                        changed.keys().for_each(|block| _ = ring.waiting.insert(*block, transaction));
                        committed = true;
                    }
                }
                assert!(
                    saved || ring.oldest_needed_block() - ring.tail < ring_blocks / 4,
                    "a quarter could have been freed"
                );
                // Freed blocks: never written home.
                for block in 0..rng.below(30) {
                    let gone = 2_000 + rng.below(80) + block / 8;
                    journal.drop_freed(gone * BLOCK, 2 * BLOCK);
                    ring.waiting.remove(&gone);
                    ring.waiting.remove(&(gone + 1));
                }
                // What is thirty seconds old goes home, at the first look from then on.
                while journal.next_due() <= now {
                    plan.clear();
                    journal.handle_due(&mut pages, journal.next_due(), &mut plan);
                    plan.steps().iter().for_each(|step| ring.apply_write(JOURNAL, step, transaction + 1));
                }
                let ours: Vec<u64> = journal.pending.keys().map(|lba| lba / BLOCK).collect();
                assert_eq!(ours, ring.waiting.keys().copied().collect::<Vec<u64>>());
            }
            assert!(rounds > 5 && ring.written > 20 * ring_blocks, "the ring wraps often");
            plan.clear();
            journal.checkpoint(&mut plan);
            plan.steps().iter().filter(|s| s.op == Op::Write).for_each(|step| ring.apply_write(JOURNAL, step, 1_000));
            assert!(ring.waiting.is_empty() && ring.tail == ring.written, "a checkpoint leaves nothing");
        }
    }

    #[test]
    #[should_panic(expected = "is not home")]
    fn the_ring_notices_a_block_that_is_overwritten_too_early() {
        let mut ring = Ring::new(4);
        let mut plan = IoPlan::new();
        for at in 0..5 {
            plan.add_write((1_001 + at % 4) * BLOCK, BLOCK, Flags::NONE, SectorRole::JournalBlocks, 0);
        }
        for (step, transaction) in plan.steps().iter().zip(1..) {
            ring.starts.push(ring.written);
            ring.apply_write(1_000, step, transaction);
            ring.waiting.insert(2_000 + transaction, transaction);
        }
    }

    #[test]
    fn a_transaction_of_254_blocks_has_one_descriptor_and_a_ring_wraps_within_one() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        let mut journal = Ext4Journal::new(8_000, 401, true, Span::from_secs(5));
        for transaction in 1..=2 {
            for block in 0..254 {
                pages.mark_dirty((5_000 + 2 * block) * BLOCK, BLOCK, SectorRole::Inodes, transaction);
            }
            plan.clear();
            journal.commit(&mut pages, Instant::ZERO, &mut plan);
        }
        // The first took 255 blocks and a commit: 144 are left, too few, so that all 254 go home before.
        let log: Vec<_> =
            writes(&plan).into_iter().filter(|it| it.0.is_log() || it.0 == SectorRole::JournalSuper).collect();
        assert_eq!(
            log,
            [
                (SectorRole::JournalSuper, 1_000, 1),
                (SectorRole::JournalBlocks, 1_257, 144),
                (SectorRole::JournalBlocks, 1_001, 111),
                (SectorRole::JournalCommit, 1_112, 1),
            ]
        );
        let homes = writes(&plan).iter().filter(|it| it.0 == SectorRole::Inodes).count();
        assert_eq!((homes, plan.steps()[254].op), (254, Op::Flush), "home, on the medium, then the superblock");
    }

    #[test]
    fn a_commit_is_due_five_seconds_after_the_first_change_and_old_blocks_after_thirty() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        let mut journal = Ext4Journal::new(8_000, 1024, true, Span::from_secs(5));
        let at = |nanos: u64| Instant::from_nanos(nanos);
        let second = 1_000_000_000;
        journal.begin_transaction(at(second));
        journal.begin_transaction(at(3 * second));
        pages.mark_dirty(0, BLOCK, SectorRole::Inodes, 1);
        assert_eq!(journal.next_due(), at(6 * second));
        journal.handle_due(&mut pages, at(6 * second - 1), &mut plan);
        assert!(plan.steps().is_empty(), "not a nanosecond early");
        journal.handle_due(&mut pages, at(6 * second), &mut plan);
        assert_eq!((writes(&plan).len(), journal.next_due()), (2, at(11 * second)));
        for look in [11, 16, 21, 26, 31] {
            plan.clear();
            journal.handle_due(&mut pages, at(look * second), &mut plan);
            assert_eq!((writes(&plan).len(), journal.next_due()), (0, at((look + 5) * second)));
        }
        plan.clear();
        journal.handle_due(&mut pages, at(36 * second), &mut plan);
        assert_eq!((writes(&plan), journal.next_due()), (vec![(SectorRole::Inodes, 0, 1)], Instant::FAR));
    }
}
