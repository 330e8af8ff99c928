//! The work of a rebuild and of a check, which are *syncs* in md: reads from the members, and for a rebuild the writes
//! to the new drive. `sync_pace` says how fast it goes.
//!
//! A sync goes from the first sector to the last, volume by volume, as md's thread does: it issues block after block until
//! it must wait. md's thread waits when a certain amount is in flight, at a comparison of its speed, or for users. What
//! it issues without waiting is one *run*, read with one command a member: the block layer merges neighbours (the thread
//! plugs its queues). A run of a rebuild is then written to the new drive. md's rules, by level (Linux 6.1):
//!
//! | level | block | most in flight | users in its way |
//! |---|---|---|---|
//! | RAID 1 (`raid1.c`) | 64 KiB | 31 blocks (`RESYNC_DEPTH`) | within 64 MiB of it: it waits for reads and writes, and writes wait for it |
//! | RAID 10 (`raid10.c`) | 64 KiB | 511 blocks (`RESYNC_DEPTH`) | in the whole volume: it waits for them, and they wait for it |
//! | RAID 5, 6 (`raid5.c`) | a stripe of 4 KiB | 256 stripes (`NR_STRIPES`) | in the same stripes: one after another |
//!
//! On a mirror a sync lets users go first that wait for it already (`raise_barrier`), and first sleeps for a jiffy. So
//! beside users who are always there a block of the sync and the users take turns.
//!
//! A rebuild reads from the first mirror that has the data, or from all other members of a row: also on RAID 6, where one
//! fewer would do (`need_this_block`). A check reads all members. Sectors before the runs under way are rebuilt: there the
//! new drive is an ordinary member. Sectors after them are neither read nor written on it. At the end the new drive is
//! flushed, and from then on the array is whole. Runs with too many unreadable sectors are left out and counted.
//!
//! Other policies ([`SyncPolicy::Pieces`]) send pieces of one length, with so many in flight as they and the users allow, by address or in
//! groups in random order (`group_order`); a piece of a mirror locks its own range, and users' requests in it wait for the piece. Pieces may
//! be written as files: data, flush, a record in a journal before the volumes, flush.
//!
//! Simpler than md: a run ends as a whole, not block by block, so a write to its stripes waits for all of the run; a run
//! of stripes is at most half of what may be in flight, so that one is read while another is written; a check of RAID 10
//! goes along all pairs at once, not chunk by chunk; users of RAID 5 take no stripes away from a sync, and it does not sleep for a
//! jiffy when it used them up; 64 MiB that share a counter with others by a hash (1 in 1,024) are not found; the
//! superblock, written each sixteenth of the way, is not there.

use super::layout::{ArrayVolume, MemberSet, RaidLevel};
use super::portions::{LockKind, MemberSpan, NONE, Portion, PortionKind, RebuildStep, SectorBounds};
use super::progress::{MAX_RUNS, Sync, SyncKind, SyncProgress, SyncRun};
use super::sync_pace::{PaceVerdict, SLEEP, SyncPace, SyncPieces, SyncPolicy};
use super::{Array, ArrayContext, numbering};
use crate::block::{LandingKind, Op, Status};
use crate::time::{Instant, Span};

/// `RESYNC_BLOCK_SIZE` of `drivers/md/raid1-10.c`, 64 KiB.
const MIRROR_BLOCK: u64 = 128;
/// `RESYNC_DEPTH` of `raid1.c`. It counts the block that waits for its turn, so one fewer is in flight.
const RAID_1_DEPTH: u64 = 32;
/// `RESYNC_DEPTH` of `raid10.c`, 32 MiB of blocks; counted likewise.
const RAID_10_DEPTH: u64 = 512;
/// `BARRIER_UNIT_SECTOR_SIZE` of `raid1.h`, 64 MiB.
const RAID_1_BARRIER: u64 = 1 << 17;
/// `DEFAULT_STRIPE_SIZE` of `raid5.h`, a page of each member.
const STRIPE: u64 = 8;
/// `NR_STRIPES` of `raid5.c`.
const STRIPES: u64 = 256;
/// The largest request that the block layer merges: `BLK_DEF_MAX_SECTORS` of `include/linux/blkdev.h`, 1,280 KiB.
const MAX_REQUEST: u64 = 2560;

/// `schedule_timeout_uninterruptible(1)` of `raid1_sync_request`, at 250 jiffies a second (`CONFIG_HZ` of Debian and
/// Ubuntu).
const JIFFY: Span = Span::from_millis(4);

/// The amounts in which a volume is synced, in sectors of a member.
#[derive(Clone, Copy)]
struct SyncUnits {
    /// The least that is issued.
    block: u64,
    /// The longest run.
    run: u64,
    /// Runs in flight, at most.
    runs: usize,
    /// The most in flight, as md counts it.
    counted: u64,
    /// Sectors that md counts for each sector of a member.
    weight: u64,
}

/// The members with even numbers.
const EVEN: MemberSet = 0x5555_5555_5555_5555;

impl SyncUnits {
    fn new(volume: &ArrayVolume, kind: SyncKind, policy: SyncPolicy) -> SyncUnits {
        match policy {
            SyncPolicy::Md => SyncUnits::of_md(volume, kind),
            SyncPolicy::Pieces(pieces) => SyncUnits::of_pieces(&pieces),
        }
    }

    fn of_pieces(pieces: &SyncPieces) -> SyncUnits {
        let run = u64::from(pieces.sectors).next_multiple_of(STRIPE);
        let runs = (pieces.in_flight as usize).min(MAX_RUNS);
        SyncUnits { block: run, run, runs, counted: run * runs as u64, weight: 1 }
    }

    fn of_md(volume: &ArrayVolume, kind: SyncKind) -> SyncUnits {
        let (counted_block, counted) = match volume.level {
            RaidLevel::Raid5 | RaidLevel::Raid6 => (STRIPE, STRIPES * STRIPE),
            RaidLevel::Raid10 => (MIRROR_BLOCK, (RAID_10_DEPTH - 1) * MIRROR_BLOCK),
            _ => (MIRROR_BLOCK, (RAID_1_DEPTH - 1) * MIRROR_BLOCK),
        };
        // A rebuild goes along the sectors of a member, a check of RAID 10 along the blocks of the array.
        let weight = match (volume.level, kind) {
            (RaidLevel::Raid10, SyncKind::Check) => u64::from(volume.columns()),
            _ => 1,
        };
        let block = counted_block.div_ceil(weight).next_multiple_of(STRIPE);
        let most = counted / weight;
        // Stripes end one by one, so half of them are a run. Of mirrors the first run is as long as a request can be.
        let longest = if volume.parities() > 0 { most / 2 } else { MAX_REQUEST.min(most) };
        let run = (longest - longest % block).max(block);
        let runs = (most.div_ceil(run) as usize).min(MAX_RUNS);
        SyncUnits { block, run, runs, counted, weight }
    }

    /// The longest run that can begin while `in_flight` sectors are, as md counts them.
    fn room(&self, in_flight: u64) -> u64 {
        let free = self.counted.saturating_sub(in_flight) / self.weight;
        self.run.min(free - free % self.block)
    }
}

impl Array {
    /// The first sector after all volumes on each member.
    fn volumes_end(&self) -> u64 {
        self.volumes.last().map_or(0, ArrayVolume::end)
    }

    /// The volume at `sector` of the members, with its index. A sector between volumes counts as the next one's.
    fn volume_to_sync(&self, sector: u64) -> Option<(usize, ArrayVolume)> {
        let index = self.volumes.iter().position(|volume| volume.end() > sector)?;
        Some((index, self.volumes[index]))
    }

    fn sync_units(&self, volume: &ArrayVolume, kind: SyncKind) -> SyncUnits {
        SyncUnits::new(volume, kind, self.spec.sync_policy)
    }

    /// When the sync takes its next turn; `FAR` if something else must happen first.
    pub(super) fn sync_turn(&self) -> Instant {
        let Some(sync) = self.sync.as_ref().filter(|sync| self.powered && !sync.flushing) else { return Instant::FAR };
        let Some((index, volume)) = self.volume_to_sync(sync.next_position) else { return Instant::FAR };
        let units = self.sync_units(&volume, sync.kind());
        let runs = sync.runs.iter().filter(|run| run.start != u64::MAX).count();
        let most_runs = match &self.spec.sync_policy {
            SyncPolicy::Md => units.runs,
            SyncPolicy::Pieces(pieces) => units.runs.min(self.users.most_pieces(pieces) as usize),
        };
        let is_full = runs >= most_runs || units.room(sync.in_flight()) == 0;
        let is_blocked = sync.waits_for_lock || is_full || sync.drains && runs > 0;
        let waits_for_users =
            sync.slept_for_users && self.do_users_wait_for(&self.sync_run_portion(sync, index, sync.next_due));
        if is_blocked || waits_for_users { Instant::FAR } else { sync.next_due }
    }

    /// True if users of a mirror wait for the lock that a run needs.
    fn do_users_wait_for(&self, run: &Portion) -> bool {
        run.lock_kind == LockKind::Barrier && self.locks.is_awaited(&self.portions, run)
    }

    /// A portion for the next run of a sync in the volume at `index`, without its range.
    fn sync_run_portion(&self, sync: &Sync, index: usize, now: Instant) -> Portion {
        let volume = &self.volumes[index];
        let (order, position) = (self.sync_order(volume), sync.next_position.max(volume.first));
        let from = order.sector(position);
        let unit = volume.first + (from - volume.first) / RAID_1_BARRIER * RAID_1_BARRIER;
        let (lock_kind, locked) = match volume.level {
            _ if volume.copies() > 1 && self.spec.sync_policy != SyncPolicy::Md => {
                let most = self.sync_units(volume, sync.kind()).run;
                let end = volume.end().min(from + order.neighbours(position, most));
                (LockKind::Barrier, SectorBounds { from, end })
            }
            RaidLevel::Raid10 => (LockKind::Barrier, SectorBounds { from: volume.first, end: volume.end() }),
            _ if volume.copies() > 1 => (LockKind::Barrier, SectorBounds { from: unit, end: unit + RAID_1_BARRIER }),
            _ => (LockKind::Write, SectorBounds { from, end: from }),
        };
        let kind = match sync.kind() {
            SyncKind::Rebuild => PortionKind::RebuildRun,
            SyncKind::Check => PortionKind::CheckRun,
        };
        let blocks = SectorBounds { from, end: from };
        let blank = Portion::blank_flush(NONE, now);
        Portion { kind, volume: index as u8, blocks, locked, locked_columns: u64::MAX, lock_kind, ..blank }
    }

    /// Takes the turns of the sync that are due at `now`. Ends it after its last run: a rebuild with a flush of the new
    /// drive, a check at once.
    pub(super) fn advance_sync(&mut self, context: &mut ArrayContext, now: Instant) {
        while self.sync_turn() <= now {
            self.take_sync_turn(context, now);
        }
        let (end, powered) = (self.volumes_end(), self.powered);
        let is_over =
            |sync: &&mut Sync| powered && sync.next_position >= end && sync.is_between_runs() && !sync.flushing;
        let Some(sync) = self.sync.as_mut().filter(is_over) else { return };
        match sync.kind() {
            SyncKind::Rebuild => {
                sync.flushing = true;
                let blank = Portion::blank_flush(NONE, now);
                let flush = Portion { kind: PortionKind::RebuildFlush, op: Op::Flush, ..blank };
                self.begin_portion(context, now, flush);
            }
            SyncKind::Check => {
                self.end_sync(now, end);
            }
        }
    }

    /// Begins the next run, skips a volume that has nothing to sync, or begins to wait.
    fn take_sync_turn(&mut self, context: &mut ArrayContext, now: Instant) {
        let Some(mut sync) = self.sync.take() else { return };
        sync.drains = false;
        let next = self.volume_to_sync(sync.next_position);
        if let Some((index, volume)) = next.filter(|_| !sync.compares_again || self.compare_speed(&mut sync, now, 0)) {
            if volume.is_redundant() && self.lost_volumes >> index & 1 == 0 {
                return self.begin_sync_run(context, now, sync, index);
            }
            sync.next_position = volume.end();
        }
        self.sync = Some(sync);
    }

    /// Begins the next run in the volume at `index`, or a sleep before it.
    fn begin_sync_run(&mut self, context: &mut ArrayContext, now: Instant, mut sync: Sync, index: usize) {
        let mut portion = self.sync_run_portion(&sync, index, now);
        let is_md = self.spec.sync_policy == SyncPolicy::Md;
        if is_md && !sync.slept_for_users && self.do_users_wait_for(&portion) {
            (sync.slept_for_users, sync.next_due) = (true, now + JIFFY);
            self.sync = Some(sync);
            return;
        }
        sync.slept_for_users = false;
        let volume = self.volumes[index];
        let units = self.sync_units(&volume, sync.kind());
        let is_mirror = portion.lock_kind == LockKind::Barrier;
        // The block that waits is alone: others are issued after it, unless users wait by then.
        let waits = is_mirror && !self.locks.is_free(&self.portions, &portion);
        let room = units.room(sync.in_flight());
        let longest = if waits { units.block } else { room };
        let most_end = volume.end().min(if is_mirror { portion.locked.end } else { u64::MAX });
        let position = sync.next_position.max(volume.first);
        let most = self.sync_order(&volume).neighbours(position, longest.min(most_end - portion.blocks.from));
        let sectors = if is_md { self.measure_run(&mut sync, now, portion.blocks.from, units, most) } else { most };
        if !is_md {
            sync.next_due = now + self.spec.sync_speed.least_time(sectors);
            self.users.begin_piece();
        }
        portion.blocks.end = portion.blocks.from + sectors;
        if !is_mirror {
            portion.locked = portion.blocks;
        }
        let run = SyncRun { start: position, counted: sectors * units.weight };
        let free = sync.runs.iter_mut().find(|run| run.start == u64::MAX);
        *free.expect("a turn is taken only with room for a run") = run;
        sync.next_position = position + sectors;
        sync.waits_for_lock = waits;
        portion.rebuilt = sync.rebuilt;
        if sync.rebuilt != 0 {
            let run = (sync.rebuilt, portion.blocks);
            portion.write_number = self.numbering.number_rebuild_run(&mut context.landings, now, &self.volumes, run);
        }
        self.sync = Some(sync);
        self.begin_portion(context, now, portion);
    }

    /// The length of a run that begins at `from`, up to `most` sectors: until the sync must wait. Counts it as issued.
    fn measure_run(&mut self, sync: &mut Sync, now: Instant, from: u64, units: SyncUnits, most: u64) -> u64 {
        let mut sectors = 0;
        while sectors < most {
            let until_check = sync.pace.sectors_until_check().div_ceil(units.weight).next_multiple_of(units.block);
            let step = until_check.max(units.block).min(most - sectors);
            sectors += step;
            sync.pace.issue(step * units.weight);
            let is_last = from + sectors >= self.volumes_end();
            if sync.pace.sectors_until_check() == 0 && !is_last && !self.compare_speed(sync, now, sectors) {
                break;
            }
        }
        sectors
    }

    /// Compares the speed, after `more` sectors of a run that is not begun. True if the sync goes on, false if it must
    /// wait.
    fn compare_speed(&mut self, sync: &mut Sync, now: Instant, more: u64) -> bool {
        let Some((_, volume)) = self.volume_to_sync(sync.next_position) else { return true };
        let in_flight = sync.in_flight() + more * self.sync_units(&volume, sync.kind()).weight;
        let sources = self.sync_sources(sync, &volume, 0);
        let present = !self.missing_members | sync.rebuilt;
        let verdict = sync.pace.check(now, in_flight, || {
            let members = self.members.iter_mut().enumerate().filter(|(member, _)| present >> member & 1 == 1);
            // Each member is asked, as each notes when it was busy.
            let busy = members.filter_map(|(member, at)| {
                let is_source = sources >> member & 1 == 1;
                at.load.take_busy(if is_source { more } else { 0 }).then_some(member)
            });
            busy.count() == 0
        });
        sync.compares_again = verdict == PaceVerdict::Sleep;
        match verdict {
            PaceVerdict::GoOn => {}
            PaceVerdict::Drain => {
                sync.drains = true;
                self.progress.drains += 1;
                self.sync_counts.drains += 1;
            }
            PaceVerdict::Sleep => {
                sync.next_due = now + SLEEP;
                self.progress.sleeps += 1;
            }
        }
        verdict == PaceVerdict::GoOn
    }

    /// The members from which a run is read, without those in `avoided`; fewer than it needs if too few have the data.
    fn sync_sources(&self, sync: &Sync, volume: &ArrayVolume, avoided: MemberSet) -> MemberSet {
        let all = (1u64 << volume.members) - 1;
        let readable = !self.missing_members & all & !avoided;
        match (sync.rebuilt, volume.level) {
            (0, _) => readable,
            // The other drive of each pair: even ones are the first of theirs.
            (rebuilt, RaidLevel::Raid10) => readable & ((rebuilt & EVEN) << 1 | rebuilt >> 1 & EVEN),
            (_, _) if volume.copies() > 1 => readable & readable.wrapping_neg(),
            (_, _) => readable,
        }
    }

    /// Reads what a run needs.
    pub(super) fn read_sync_run(&mut self, now: Instant, portion_index: u32) {
        let portion = self.portions[portion_index];
        let volume = self.volumes[usize::from(portion.volume)];
        let Some(sync) = &mut self.sync else {
            self.portions[portion_index].status = Status::Aborted;
            return;
        };
        sync.waits_for_lock = false;
        let Some(sync) = &self.sync else { return };
        let sources = self.sync_sources(sync, &volume, portion.avoided_members);
        let needed = match portion.kind {
            PortionKind::CheckRun => volume.members,
            _ if volume.parities() > 0 => volume.columns(),
            _ if volume.level == RaidLevel::Raid10 => sync.rebuilt.count_ones(),
            _ => 1,
        };
        if sources.count_ones() < needed {
            self.portions[portion_index].status = Status::MediumError;
            return;
        }
        for member in (0..volume.members).filter(|member| sources >> member & 1 == 1) {
            self.queue_span(now, portion_index, Op::Read, MemberSpan { member, bounds: portion.blocks });
        }
    }

    /// Takes the next step of a run that was read; false if it has none.
    pub(super) fn take_rebuild_step(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) -> bool {
        let writes_files = self.spec.sync_policy.writes_files();
        let portion = &mut self.portions[portion_index];
        let (step, bounds) = match portion.rebuild_step {
            RebuildStep::Read => (RebuildStep::Write, portion.blocks),
            RebuildStep::Write if writes_files => (RebuildStep::Sync, SectorBounds::EMPTY),
            RebuildStep::Sync => (RebuildStep::Rename, self.journal),
            RebuildStep::Rename => (RebuildStep::SyncName, SectorBounds::EMPTY),
            RebuildStep::Write | RebuildStep::SyncName => return false,
        };
        portion.rebuild_step = step;
        portion.writing = true;
        // Keeps the count above zero until the commands are made.
        portion.commands_left += 1;
        let rebuilt = self.portions[portion_index].rebuilt & self.rebuilt_members();
        for member in (0..self.spec.members).filter(|member| rebuilt >> member & 1 == 1) {
            match bounds == SectorBounds::EMPTY {
                true => self.flush_member(now, portion_index, member),
                false => self.queue_span(now, portion_index, Op::Write, MemberSpan { member, bounds }),
            }
        }
        self.finish_dispatch(context, now, portion_index);
        true
    }

    /// Handles the end of a portion of a sync: a run, or the last flush.
    pub(super) fn finish_sync_portion(&mut self, context: &mut ArrayContext, now: Instant, portion: &Portion) {
        let order = self.sync_order(&self.volumes[usize::from(portion.volume)]);
        let Some(sync) = &mut self.sync else { return };
        if portion.kind == PortionKind::RebuildFlush {
            sync.flushing = false;
            if portion.status == Status::Done && sync.rebuilt != 0 {
                self.missing_members &= !sync.rebuilt;
                for member in (0..self.spec.members).filter(|member| sync.rebuilt >> member & 1 == 1) {
                    numbering::report_member_event(&mut context.landings, now, member, LandingKind::Whole);
                }
                let end = sync.next_position;
                self.end_sync(now, end);
            }
            return;
        }
        sync.waits_for_lock &= portion.begun;
        let position = order.position(portion.blocks.from);
        self.users.end_piece();
        if let Some(run) = sync.runs.iter_mut().find(|run| run.start == position) {
            *run = SyncRun::NONE;
        }
        let sectors = portion.blocks.end - portion.blocks.from;
        match portion.status {
            Status::Done if portion.kind == PortionKind::CheckRun => self.sync_counts.checked_sectors += sectors,
            Status::Done => self.sync_counts.rebuilt_sectors += sectors,
            Status::MediumError => self.progress.unread += sectors,
            _ => {}
        }
    }

    /// Ends a sync that came to `end`.
    fn end_sync(&mut self, now: Instant, end: u64) {
        (self.progress.sectors, self.progress.ended) = (end, Some(now));
        self.sync_counts.ended += 1;
        self.sync = None;
    }

    /// Begins a sync at `now`: of the members that are rebuilt, or, without any, a check of all.
    pub(super) fn start_sync(&mut self, now: Instant, rebuilt: MemberSet) {
        let sync = Sync::new(rebuilt, SyncPace::new(self.spec.sync_speed, now), now);
        self.progress = SyncProgress { kind: sync.kind(), began: Some(now), ..SyncProgress::default() };
        self.members.iter_mut().for_each(|member| member.load.begin());
        self.sync = Some(sync);
        self.lock_reads_under_way();
    }

    /// Locks the ranges of users' reads of mirrors that are under way, so that the sync waits for them as for later ones.
    fn lock_reads_under_way(&mut self) {
        for index in 0..self.portions.places_ever_used() {
            let portion = self.portions[index];
            if portion.in_use && portion.begun {
                self.portions[index] = self.with_read_lock(portion);
                if self.portions[index].locked_columns != portion.locked_columns {
                    self.locks.hold(index);
                }
            }
        }
    }
}
