//! Calls through the page cache: their reads and writes there, and the resulting reads and writes of the drive.
//! `pagecache` decides what is evicted and what is read ahead.

use alloc::vec::Vec;

use super::cache::{CacheService, Fill};
use super::{Caller, Owner, Stage, System, SystemFamily, force};
use crate::block::{Flags, SECTOR};
use crate::files::call::{Call, File, OpenMode, ThreadId};
use crate::files::pagecache::{PAGE, PageCache, ReadSpan, WriteBackRule};
use crate::files::volume::{IoPlan, PlanWait, Volume};
use crate::time::Instant;

/// Bytes of a call that are served at a time: the cache manager's views have 256 KB (Windows' documentation, "File
/// caching"). Linux goes page by page, which differs if a call is held up or fails midway.
const PIECE: u64 = 256 << 10;
/// Bytes of a demand read of Windows: a page fault brings at most 64 KB (`MmReadClusterSize`, Windows Internals).
const FAULT: u64 = 64 << 10;

impl System {
    fn has_cache(&mut self) -> &mut CacheService {
        self.cached.as_mut().expect("a page cache")
    }

    /// Puts pages of a file into memory before the run.
    pub fn warm(&mut self, file: File, from: u64, bytes: u64) {
        let end = self.volumes[file.volume as usize].bytes(file.id).min(from + bytes);
        let cache = &mut self.has_cache().cache;
        let (mut from, to) = (from / PAGE, end.div_ceil(PAGE));
        while let Some((gap, end)) = cache.missing(file, from, to) {
            cache.insert(file, gap, end);
            from = end;
        }
    }

    /// The page cache, if there is one.
    pub fn page_cache(&self) -> Option<&PageCache> {
        self.cached.as_ref().map(|cached| &cached.cache)
    }

    pub(super) fn drop_caches(&mut self) {
        if let Some(cached) = &mut self.cached {
            cached.cache.drop_clean();
        }
        self.volumes.iter_mut().for_each(Volume::drop_clean);
    }

    /// Begins a call of a volume with a page cache.
    pub(super) fn begin_cached(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let entry = self.has_cache().spec.call;
        self.callers[thread as usize].owed += entry;
        match call {
            Call::Read { handle: OpenMode::Direct, file, .. } => {
                let mut plan = self.issue.plan();
                self.clean(now, file, Flags::NONE, &mut plan);
                plan.then();
                self.begin_with(now, thread, call, plan, Owner::Synced(thread, file));
            }
            Call::Write { handle: OpenMode::Direct, file, from, bytes } => {
                let mut plan = self.issue.plan();
                self.clean(now, file, Flags::NONE, &mut plan);
                plan.then();
                self.has_cache().cache.drop(file, from / PAGE, (from + bytes).div_ceil(PAGE));
                self.begin_with(now, thread, call, plan, Owner::Synced(thread, file));
            }
            Call::Read { file, from, bytes, .. } => {
                let end = self.volumes[file.volume as usize].bytes(file.id).min(from + bytes).max(from);
                self.callers[thread as usize].reads.asked = end - from;
                self.begin_pieces(thread, Stage::Fetch, from, end);
            }
            Call::Write { from, bytes, .. } => self.begin_pieces(thread, Stage::Admit, from, from + bytes),
            Call::Sync(file, _) => {
                let flags = self.forced();
                let mut plan = self.issue.plan();
                self.clean(now, file, flags, &mut plan);
                self.begin_with(now, thread, call, plan, Owner::Synced(thread, file));
            }
            Call::Shift { file, .. } => {
                let mut plan = self.issue.plan();
                self.clean(now, file, Flags::NONE, &mut plan);
                plan.then();
                self.begin_with(now, thread, call, plan, Owner::Synced(thread, file));
            }
            Call::SyncVolume(volume) => {
                let mut plan = self.issue.plan();
                let files: Vec<File> = self.has_cache().cache.files().filter(|file| file.volume == volume).collect();
                for file in files {
                    self.clean(now, file, Flags::NONE, &mut plan);
                }
                plan.then();
                self.begin_with(now, thread, call, plan, Owner::VolumeSynced(thread, volume));
            }
            Call::Delete(file) => {
                let cached = self.has_cache();
                cached.cache.drop(file, 0, u64::MAX);
                cached.forget(file);
                self.begin(now, thread, call);
            }
            call => self.begin(now, thread, call),
        }
    }

    fn begin_pieces(&mut self, thread: ThreadId, stage: Stage, from: u64, end: u64) {
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.at, caller.end, caller.bytes) = (stage, from, end, end - from);
    }

    /// The flags of writes that a program waits for: Windows NT asks for the medium.
    fn forced(&self) -> Flags {
        if self.spec.family == SystemFamily::WindowsNt { Flags::FUA } else { Flags::NONE }
    }

    /// True if no other thread has deleted the file meanwhile; a read or write in progress stops there.
    fn is_there(&self, file: File) -> bool {
        self.volumes[file.volume as usize].has(file.id)
    }

    /// The file and handle of a thread's read or write.
    fn target(&self, thread: ThreadId) -> (File, OpenMode) {
        match self.callers[thread as usize].call {
            Some(Call::Read { file, handle, .. } | Call::Write { file, handle, .. }) => (file, handle),
            call => unreachable!("{call:?} is not served in pieces"),
        }
    }

    /// Reads the missing pages of the next piece, and ahead.
    pub(super) fn fetch(&mut self, _now: Instant, thread: ThreadId) {
        let (file, handle) = self.target(thread);
        let Caller { at: from, end, .. } = self.callers[thread as usize];
        if from >= end || !self.is_there(file) {
            self.callers[thread as usize].stage = Stage::Last;
            return;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        self.callers[thread as usize].stage = Stage::Take(to);
        self.wait_for_fills(thread, file, from / PAGE, to.div_ceil(PAGE));
        let bytes = self.volumes[file.volume as usize].bytes(file.id);
        let mut wanted = ReadSpan::new(file, bytes, (from, to, end), handle == OpenMode::Sequential);
        let cached = self.has_cache();
        let (rule, mut stream) = (cached.spec.ahead, *cached.stream(thread, file));
        self.callers[thread as usize].seen = from % PAGE > 0 && stream.ended_at(from);
        while let Some((first, last)) = stream.next(rule, &self.has_cache().cache, &mut wanted) {
            if let Some(fill) = self.fill(thread, file, first, last)
                && self.has_cache().fills[fill].from < to.div_ceil(PAGE)
            {
                self.wait_for(fill, thread);
            }
        }
        stream.note(&wanted);
        *self.has_cache().stream(thread, file) = stream;
    }

    /// Makes a thread wait for reads of these pages that are in flight.
    fn wait_for_fills(&mut self, thread: ThreadId, file: File, from: u64, to: u64) {
        let cached = self.cached.as_mut().expect("a page cache");
        for &id in &cached.filling {
            let fill = &cached.fills[id];
            if fill.file == file && fill.from < to && from < fill.to {
                cached.waiters.push((id, thread));
                self.callers[thread as usize].pending += 1;
            }
        }
    }

    fn wait_for(&mut self, fill: u32, thread: ThreadId) {
        self.has_cache().waiters.push((fill, thread));
        self.callers[thread as usize].pending += 1;
    }

    /// Reads the missing pages of a range; `None` if there are none.
    fn fill(&mut self, thread: ThreadId, file: File, from: u64, to: u64) -> Option<u32> {
        let cached = self.cached.as_mut().expect("a page cache");
        let volume = &mut self.volumes[file.volume as usize];
        let mut plan = self.issue.plan();
        let (mut at, mut first, mut fetched) = (from, None, 0);
        while at < to
            && let Some((gap, end)) = cached.cache.missing(file, at, to)
        {
            first = first.or(Some(gap));
            // Windows waits for each fault; Linux has all of a window in flight.
            let most = if self.spec.family == SystemFamily::Linux { u64::MAX } else { gap + FAULT / PAGE };
            let end = end.min(most);
            volume.read(file.id, gap * PAGE, (end - gap) * PAGE, &mut plan);
            fetched += (end - gap) * PAGE;
            if self.spec.family != SystemFamily::Linux {
                plan.then();
            }
            cached.cache.insert(file, gap, end);
            at = end;
        }
        let Some(first) = first else {
            self.issue.give_back(plan);
            return None;
        };
        if self.spec.family == SystemFamily::Linux {
            plan.round_up(PAGE / SECTOR);
        }
        // Pages read because a write changes them in part do not count: no program asked for their bytes.
        let caller = &mut self.callers[thread as usize];
        if matches!(caller.call, Some(Call::Read { .. })) {
            caller.reads.fetched += fetched;
        }
        let fill = cached.fills.put(Fill { file, from: first, to: at });
        cached.filling.push(fill);
        self.issue.begin(Owner::Fill(fill), thread, file.volume, plan);
        Some(fill)
    }

    /// Handles pages that have been read.
    pub(super) fn filled(&mut self, now: Instant, fill: u32, failed: bool) {
        let cached = self.has_cache();
        cached.filling.retain(|&other| other != fill);
        if failed {
            let Fill { file, from, to } = cached.fills[fill];
            cached.cache.drop(file, from, to);
        }
        while let Some(at) = self.has_cache().waiters.iter().position(|waiter| waiter.0 == fill) {
            let (_, thread) = self.has_cache().waiters.remove(at);
            self.arrive(now, thread, failed);
        }
        // Not earlier: a thread that went on may have begun another fill.
        self.has_cache().fills.free(fill);
    }

    /// Copies a piece from memory to the program; Windows reads ahead after the last piece.
    pub(super) fn take(&mut self, thread: ThreadId, to: u64) {
        let (file, handle) = self.target(thread);
        if !self.is_there(file) {
            self.callers[thread as usize].stage = Stage::Last;
            return;
        }
        let Caller { at: from, end, bytes: called, seen, .. } = self.callers[thread as usize];
        let bytes = self.volumes[file.volume as usize].bytes(file.id);
        let wanted = ReadSpan::new(file, bytes, (from, to, end), handle == OpenMode::Sequential);
        let rule = self.has_cache().spec.ahead;
        if let Some((first, last)) = self.has_cache().stream(thread, file).beyond(rule, &wanted, called) {
            self.fill(thread, file, first, last);
        }
        let (first, last) = (from / PAGE + u64::from(seen), to.div_ceil(PAGE));
        if first < last {
            self.has_cache().cache.touch(file, first, last);
        }
        self.copied(thread, to, Stage::Fetch);
    }

    /// Handles a piece that is copied.
    fn copied(&mut self, thread: ThreadId, to: u64, next: Stage) {
        let from = self.callers[thread as usize].at;
        let time = self.has_cache().copy.time(to - from);
        let caller = &mut self.callers[thread as usize];
        (caller.at, caller.stage) = (to, next);
        caller.owed += time;
        self.pay(thread);
    }

    /// Lets a thread write its next piece: extends the file, and reads the pages that are changed in part. False if too
    /// much is dirty.
    pub(super) fn admit(&mut self, now: Instant, thread: ThreadId) -> bool {
        let (file, handle) = self.target(thread);
        let there = self.is_there(file);
        let caller = &mut self.callers[thread as usize];
        let (from, end) = (caller.at, caller.end);
        if !there {
            caller.stage = Stage::Last;
            return true;
        }
        if from >= end {
            caller.stage = if handle == OpenMode::WriteThrough { Stage::Force } else { Stage::Last };
            return true;
        }
        if self.has_cache().is_full() {
            self.has_cache().held.push(thread);
            self.write_back(now);
            return false;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        let had = self.volumes[file.volume as usize].bytes(file.id);
        let mut plan = self.issue.plan();
        let caller = &mut self.callers[thread as usize];
        caller.stage = Stage::Store(to);
        if let Err(refused) = self.volumes[file.volume as usize].extend(now, file.id, to, &mut plan) {
            caller.refused = Some(refused);
            caller.bytes -= end - from;
            self.issue.give_back(plan);
            return true;
        }
        caller.grew |= to > had;
        if plan.steps().is_empty() {
            self.issue.give_back(plan);
        } else {
            caller.pending += 1;
            self.issue.begin(Owner::Thread(thread), thread, file.volume, plan);
        }
        for (at, whole) in [(from / PAGE, from % PAGE == 0), (to / PAGE, to % PAGE == 0 || to >= had)] {
            if !whole && at * PAGE < had {
                self.wait_for_fills(thread, file, at, at + 1);
                if let Some(fill) = self.fill(thread, file, at, at + 1) {
                    self.wait_for(fill, thread);
                }
            }
        }
        true
    }

    /// Changes a piece in memory.
    pub(super) fn store(&mut self, now: Instant, thread: ThreadId, to: u64) {
        let (file, _) = self.target(thread);
        if !self.is_there(file) {
            self.callers[thread as usize].stage = Stage::Last;
            return;
        }
        let from = self.callers[thread as usize].at;
        let cached = self.has_cache();
        cached.cache.write(now, file, from / PAGE, to.div_ceil(PAGE));
        if cached.due == Instant::FAR {
            cached.due = match cached.spec.back {
                WriteBackRule::Lazy { clock, .. } => now + clock.first,
                WriteBackRule::Flusher { wake, .. } => now + wake,
            };
        }
        self.copied(thread, to, Stage::Admit);
        self.write_back(now);
    }

    /// Forces the data of a write-through handle to the drive.
    pub(super) fn force(&mut self, now: Instant, thread: ThreadId) {
        let (file, _) = self.target(thread);
        if !self.is_there(file) {
            self.callers[thread as usize].stage = Stage::Last;
            return;
        }
        let flags = self.forced();
        let mut plan = self.issue.plan();
        self.clean(now, file, flags, &mut plan);
        let grew = self.callers[thread as usize].grew;
        force(&mut self.volumes[file.volume as usize], self.spec.family, now, file.id, grew, &mut plan);
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.pending) = (Stage::Last, caller.pending + 1);
        self.issue.begin(Owner::Synced(thread, file), thread, file.volume, plan);
    }

    /// Appends the writes of all dirty pages of a file. The plan waits for write-back of the file that is in flight
    /// and, under Linux, for that of other files, too: a commit follows the data of all files that it holds (ext4's
    /// `data=ordered`).
    fn clean(&mut self, now: Instant, file: File, flags: Flags, plan: &mut IoPlan) {
        let cached = self.has_cache();
        let mut runs = core::mem::take(&mut cached.runs);
        runs.clear();
        cached.cache.take(file, 0, u64::MAX, &mut runs);
        let (busy, writing) = (cached.cache.clean_file(file), cached.writing > 0);
        if busy || (writing && self.spec.family == SystemFamily::Linux) {
            plan.wait = PlanWait::Writes;
        }
        self.write_runs(now, file, &runs, flags, plan);
        self.has_cache().runs = runs;
    }

    /// Appends the writes of these runs of pages.
    fn write_runs(&mut self, now: Instant, file: File, runs: &[(u64, u64)], flags: Flags, plan: &mut IoPlan) {
        let cached = self.cached.as_mut().expect("a page cache");
        let (most, waits) = match cached.spec.back {
            WriteBackRule::Lazy { most, .. } => (most, true),
            WriteBackRule::Flusher { .. } => (u64::MAX, false),
        };
        let volume = &mut self.volumes[file.volume as usize];
        let bytes = volume.bytes(file.id);
        for &(from, pages) in runs {
            let (mut at, end) = (from * PAGE, ((from + pages) * PAGE).min(bytes));
            while at < end {
                let to = end.min(at.saturating_add(most));
                // Without room the data are lost, as after a failed write-back.
                if volume.write(now, file.id, at, to - at, flags, plan).is_err() {
                    cached.lost.push(file);
                }
                if waits {
                    plan.then();
                }
                at = to;
            }
        }
        if self.spec.family == SystemFamily::Linux {
            plan.round_up(PAGE / SECTOR);
        }
    }

    /// Runs the lazy writer or the flusher, if it is due.
    pub(super) fn look(&mut self, now: Instant) {
        let Some(cached) = &mut self.cached else { return };
        if now < cached.due {
            return;
        }
        let (dirty, writing) = cached.cache.dirty();
        cached.due = Instant::FAR;
        match cached.spec.back {
            WriteBackRule::Lazy { clock, .. } => {
                let share = clock.share as u64;
                cached.share = if dirty <= share { dirty } else { dirty / share };
                if dirty + writing > 0 {
                    cached.due = now + clock.every;
                }
            }
            WriteBackRule::Flusher { wake, expire, .. } => {
                if now.nanos() >= expire.nanos() {
                    cached.expired = cached.cache.expire(Instant::from_nanos(now.nanos() - expire.nanos()));
                }
                if dirty + writing > 0 {
                    cached.due = now + wake;
                }
            }
        }
        self.write_back(now);
    }

    /// Begins as much write-back as may be in flight.
    fn write_back(&mut self, now: Instant) {
        loop {
            let cached = self.has_cache();
            let (dirty, _) = cached.cache.dirty();
            let (pages, next) = match cached.spec.back {
                WriteBackRule::Lazy { files, .. } => {
                    // While threads are held up, the lazy writer goes on.
                    let pages = if cached.held.is_empty() { cached.share } else { dirty.max(8) / 8 };
                    if cached.writing >= files || pages == 0 {
                        return;
                    }
                    (pages, cached.cache.next_file(|_| true))
                }
                WriteBackRule::Flusher { background, chunk, chunks, .. } => {
                    let all = dirty > cached.percent(background) || !cached.held.is_empty();
                    if cached.writing >= chunks || !(all || cached.expired) {
                        return;
                    }
                    (chunk / PAGE, cached.cache.next_file(|file| all || file.expired))
                }
            };
            let Some((file, dirty)) = next else {
                // Busy files continue when their write-back has ended.
                if cached.writing == 0 {
                    (cached.share, cached.expired) = (0, false);
                }
                return;
            };
            let mut runs = core::mem::take(&mut cached.runs);
            runs.clear();
            let mut taken = cached.cache.take(file, dirty.resume, pages, &mut runs);
            if taken == 0 {
                taken = cached.cache.take(file, 0, pages, &mut runs);
            }
            cached.share = cached.share.saturating_sub(taken);
            let from = runs.iter().map(|run| run.0).min().unwrap_or(0);
            let to = runs.iter().map(|run| run.0 + run.1).max().unwrap_or(0);
            cached.writing += 1;
            let mut plan = self.issue.plan();
            self.write_runs(now, file, &runs, Flags::NONE, &mut plan);
            self.has_cache().runs = runs;
            self.issue.begin(Owner::Back(file, from, to), self.origin(), file.volume, plan);
        }
    }

    /// Handles pages of a file that were written back.
    pub(super) fn written_back(&mut self, now: Instant, file: File, (from, to): (u64, u64), failed: bool) {
        let cached = self.has_cache();
        cached.writing -= 1;
        cached.cache.written(file, from, to);
        cached.cache.rest_file(file, to);
        if failed {
            cached.lost.push(file);
        }
        self.let_go(now);
        self.write_back(now);
    }

    /// Resumes held-up writers until too much is dirty.
    fn let_go(&mut self, now: Instant) {
        while !self.has_cache().held.is_empty() && !self.has_cache().is_full() {
            let thread = self.has_cache().held.remove(0);
            self.go_on(now, thread);
        }
    }

    /// Handles a file whose pages are on the drive, for the thread that waited.
    pub(super) fn synced(&mut self, now: Instant, thread: ThreadId, file: File, failed: bool) {
        let cached = self.has_cache();
        cached.cache.written(file, 0, u64::MAX);
        let lost = cached.lost.iter().position(|&lost| lost == file);
        lost.map(|at| cached.lost.swap_remove(at));
        self.let_go(now);
        self.arrive(now, thread, failed || lost.is_some());
    }

    /// Handles a volume whose pages are on the drive, for the thread that waited.
    pub(super) fn volume_synced(&mut self, now: Instant, thread: ThreadId, volume: u8, failed: bool) {
        self.has_cache().cache.written_volume(volume);
        self.let_go(now);
        self.arrive(now, thread, failed);
    }
}
