//! Calls through the page cache: their reads and writes there, and the resulting reads and writes of the drive.
//! `pagecache` decides what is evicted and what is read ahead.

use alloc::vec::Vec;

use seekwise_disk::block::{Flags, SECTOR};
use seekwise_disk::time::Instant;

use super::cache::{CacheFill, CacheService};
use super::{CallStage, CallingThread, PlanOwner, System, SystemFamily, plan_force};
use crate::files::call::{Call, File, OpenMode, ThreadId};
use crate::files::pagecache::{PAGE, PageCache, ReadSpan, WriteBackRule};
use crate::files::volume::{IoPlan, PlanWait, Volume};

/// Bytes of a call that are served at a time: the cache manager's views have 256 KB (Windows' documentation, "File
/// caching"). Linux goes page by page, which differs if a call is held up or fails midway.
const PIECE: u64 = 256 << 10;
/// Bytes of a demand read of Windows: a page fault brings at most 64 KB (`MmReadClusterSize`, Windows Internals).
const FAULT: u64 = 64 << 10;

impl System {
    fn cache_service(&mut self) -> &mut CacheService {
        self.cached.as_mut().expect("a page cache")
    }

    /// Puts pages of a file into memory before the run.
    pub fn preload_pages(&mut self, file: File, from: u64, bytes: u64) {
        let end = self.volumes[file.volume as usize].file_bytes(file.id).min(from + bytes);
        let cache = &mut self.cache_service().cache;
        let (mut from, to) = (from / PAGE, end.div_ceil(PAGE));
        while let Some((gap, end)) = cache.first_gap(file, from, to) {
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
        self.volumes.iter_mut().for_each(Volume::drop_metadata_if_clean);
    }

    /// Begins a call of a volume with a page cache.
    pub(super) fn begin_cached(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let entry = self.cache_service().spec.call;
        self.callers[thread as usize].owed += entry;
        match call {
            Call::Read { handle: OpenMode::Direct, file, .. } => {
                let mut plan = self.issue.take_plan();
                self.clean_file(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.begin_after_plan(now, thread, call, plan, PlanOwner::Synced(thread, file));
            }
            Call::Write { handle: OpenMode::Direct, file, from, bytes } => {
                let mut plan = self.issue.take_plan();
                self.clean_file(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.cache_service().cache.drop(file, from / PAGE, (from + bytes).div_ceil(PAGE));
                self.begin_after_plan(now, thread, call, plan, PlanOwner::Synced(thread, file));
            }
            Call::Read { file, from, bytes, .. } => {
                let end = self.volumes[file.volume as usize].file_bytes(file.id).min(from + bytes).max(from);
                self.callers[thread as usize].reads.asked = end - from;
                self.begin_pieces(thread, CallStage::Fetch, from, end);
            }
            Call::Write { from, bytes, .. } => self.begin_pieces(thread, CallStage::Admit, from, from + bytes),
            Call::Sync(file, _) => {
                let flags = self.forced_flags();
                let mut plan = self.issue.take_plan();
                self.clean_file(now, file, flags, &mut plan);
                self.begin_after_plan(now, thread, call, plan, PlanOwner::Synced(thread, file));
            }
            Call::Shift { file, .. } => {
                let mut plan = self.issue.take_plan();
                self.clean_file(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.begin_after_plan(now, thread, call, plan, PlanOwner::Synced(thread, file));
            }
            Call::SyncVolume(volume) => {
                let mut plan = self.issue.take_plan();
                let files: Vec<File> =
                    self.cache_service().cache.dirty_files().filter(|file| file.volume == volume).collect();
                for file in files {
                    self.clean_file(now, file, Flags::NONE, &mut plan);
                }
                plan.begin_phase();
                self.begin_after_plan(now, thread, call, plan, PlanOwner::VolumeSynced(thread, volume));
            }
            Call::Delete(file) => {
                let cached = self.cache_service();
                cached.cache.drop(file, 0, u64::MAX);
                cached.forget_file(file);
                self.begin_on_volume(now, thread, call);
            }
            call => self.begin_on_volume(now, thread, call),
        }
    }

    fn begin_pieces(&mut self, thread: ThreadId, stage: CallStage, from: u64, end: u64) {
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.at, caller.end, caller.bytes) = (stage, from, end, end - from);
    }

    /// The flags of writes that a program waits for: Windows NT asks for the medium.
    fn forced_flags(&self) -> Flags {
        if self.spec.family == SystemFamily::WindowsNt { Flags::FUA } else { Flags::NONE }
    }

    /// True if no other thread has deleted the file meanwhile; a read or write in progress stops there.
    fn has_file(&self, file: File) -> bool {
        self.volumes[file.volume as usize].has_file(file.id)
    }

    /// The file and handle of a thread's read or write.
    fn call_target(&self, thread: ThreadId) -> (File, OpenMode) {
        match self.callers[thread as usize].call {
            Some(Call::Read { file, handle, .. } | Call::Write { file, handle, .. }) => (file, handle),
            call => unreachable!("{call:?} is not served in pieces"),
        }
    }

    /// Reads the missing pages of the next piece, and ahead.
    pub(super) fn fetch_piece(&mut self, _now: Instant, thread: ThreadId) {
        let (file, handle) = self.call_target(thread);
        let CallingThread { at: from, end, .. } = self.callers[thread as usize];
        if from >= end || !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Last;
            return;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        self.callers[thread as usize].stage = CallStage::Take(to);
        self.wait_for_fills(thread, file, from / PAGE, to.div_ceil(PAGE));
        let bytes = self.volumes[file.volume as usize].file_bytes(file.id);
        let mut wanted = ReadSpan::new(file, bytes, (from, to, end), handle == OpenMode::Sequential);
        let cached = self.cache_service();
        let (rule, mut stream) = (cached.spec.ahead, *cached.read_stream(thread, file));
        self.callers[thread as usize].seen = from % PAGE > 0 && stream.ended_at(from);
        while let Some((first, last)) = stream.next(rule, &self.cache_service().cache, &mut wanted) {
            if let Some(fill) = self.fill_range(thread, file, first, last)
                && self.cache_service().fills[fill].from < to.div_ceil(PAGE)
            {
                self.wait_for_fill(fill, thread);
            }
        }
        stream.record_read(&wanted);
        *self.cache_service().read_stream(thread, file) = stream;
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

    fn wait_for_fill(&mut self, fill: u32, thread: ThreadId) {
        self.cache_service().waiters.push((fill, thread));
        self.callers[thread as usize].pending += 1;
    }

    /// Reads the missing pages of a range; `None` if there are none.
    fn fill_range(&mut self, thread: ThreadId, file: File, from: u64, to: u64) -> Option<u32> {
        let cached = self.cached.as_mut().expect("a page cache");
        let volume = &mut self.volumes[file.volume as usize];
        let mut plan = self.issue.take_plan();
        let (mut at, mut first, mut fetched) = (from, None, 0);
        while at < to
            && let Some((gap, end)) = cached.cache.first_gap(file, at, to)
        {
            first = first.or(Some(gap));
            // Windows waits for each fault; Linux has all of a window in flight.
            let most = if self.spec.family == SystemFamily::Linux { u64::MAX } else { gap + FAULT / PAGE };
            let end = end.min(most);
            volume.read(file.id, gap * PAGE, (end - gap) * PAGE, &mut plan);
            fetched += (end - gap) * PAGE;
            if self.spec.family != SystemFamily::Linux {
                plan.begin_phase();
            }
            cached.cache.insert(file, gap, end);
            at = end;
        }
        let Some(first) = first else {
            self.issue.return_plan(plan);
            return None;
        };
        if self.spec.family == SystemFamily::Linux {
            plan.round_data_up(PAGE / SECTOR);
        }
        // Pages read because a write changes them in part do not count: no program asked for their bytes.
        let caller = &mut self.callers[thread as usize];
        if matches!(caller.call, Some(Call::Read { .. })) {
            caller.reads.fetched += fetched;
        }
        let fill = cached.fills.put(CacheFill { file, from: first, to: at });
        cached.filling.push(fill);
        self.issue.begin_plan(PlanOwner::Fill(fill), thread, file.volume, plan);
        Some(fill)
    }

    /// Handles pages that have been read.
    pub(super) fn complete_fill(&mut self, now: Instant, fill: u32, failed: bool) {
        let cached = self.cache_service();
        cached.filling.retain(|&other| other != fill);
        if failed {
            let CacheFill { file, from, to } = cached.fills[fill];
            cached.cache.drop(file, from, to);
        }
        while let Some(at) = self.cache_service().waiters.iter().position(|waiter| waiter.0 == fill) {
            let (_, thread) = self.cache_service().waiters.remove(at);
            self.end_wait(now, thread, failed);
        }
        // Not earlier: a thread that went on may have begun another fill.
        self.cache_service().fills.free(fill);
    }

    /// Copies a piece from memory to the program; Windows reads ahead after the last piece.
    pub(super) fn copy_piece(&mut self, thread: ThreadId, to: u64) {
        let (file, handle) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Last;
            return;
        }
        let CallingThread { at: from, end, bytes: called, seen, .. } = self.callers[thread as usize];
        let bytes = self.volumes[file.volume as usize].file_bytes(file.id);
        let wanted = ReadSpan::new(file, bytes, (from, to, end), handle == OpenMode::Sequential);
        let rule = self.cache_service().spec.ahead;
        if let Some((first, last)) = self.cache_service().read_stream(thread, file).next_granules(rule, &wanted, called)
        {
            self.fill_range(thread, file, first, last);
        }
        let (first, last) = (from / PAGE + u64::from(seen), to.div_ceil(PAGE));
        if first < last {
            self.cache_service().cache.touch_pages(file, first, last);
        }
        self.finish_piece(thread, to, CallStage::Fetch);
    }

    /// Handles a piece that is copied.
    fn finish_piece(&mut self, thread: ThreadId, to: u64, next: CallStage) {
        let from = self.callers[thread as usize].at;
        let time = self.cache_service().copy.transfer_time(to - from);
        let caller = &mut self.callers[thread as usize];
        (caller.at, caller.stage) = (to, next);
        caller.owed += time;
        self.charge_computing(thread);
    }

    /// Lets a thread write its next piece: extends the file, and reads the pages that are changed in part. False if too
    /// much is dirty.
    pub(super) fn admit_write(&mut self, now: Instant, thread: ThreadId) -> bool {
        let (file, handle) = self.call_target(thread);
        let there = self.has_file(file);
        let caller = &mut self.callers[thread as usize];
        let (from, end) = (caller.at, caller.end);
        if !there {
            caller.stage = CallStage::Last;
            return true;
        }
        if from >= end {
            caller.stage = if handle == OpenMode::WriteThrough { CallStage::Force } else { CallStage::Last };
            return true;
        }
        if self.cache_service().is_full() {
            self.cache_service().held.push(thread);
            self.begin_write_back(now);
            return false;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        let had = self.volumes[file.volume as usize].file_bytes(file.id);
        let mut plan = self.issue.take_plan();
        let caller = &mut self.callers[thread as usize];
        caller.stage = CallStage::Store(to);
        if let Err(refused) = self.volumes[file.volume as usize].extend_file(now, file.id, to, &mut plan) {
            caller.refused = Some(refused);
            caller.bytes -= end - from;
            self.issue.return_plan(plan);
            return true;
        }
        caller.grew |= to > had;
        if plan.steps().is_empty() {
            self.issue.return_plan(plan);
        } else {
            caller.pending += 1;
            self.issue.begin_plan(PlanOwner::Thread(thread), thread, file.volume, plan);
        }
        for (at, whole) in [(from / PAGE, from % PAGE == 0), (to / PAGE, to % PAGE == 0 || to >= had)] {
            if !whole && at * PAGE < had {
                self.wait_for_fills(thread, file, at, at + 1);
                if let Some(fill) = self.fill_range(thread, file, at, at + 1) {
                    self.wait_for_fill(fill, thread);
                }
            }
        }
        true
    }

    /// Changes a piece in memory.
    pub(super) fn store_piece(&mut self, now: Instant, thread: ThreadId, to: u64) {
        let (file, _) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Last;
            return;
        }
        let from = self.callers[thread as usize].at;
        let cached = self.cache_service();
        cached.cache.write_pages(now, file, from / PAGE, to.div_ceil(PAGE));
        if cached.due == Instant::FAR {
            cached.due = match cached.spec.back {
                WriteBackRule::Lazy { clock, .. } => now + clock.first,
                WriteBackRule::Flusher { wake, .. } => now + wake,
            };
        }
        self.finish_piece(thread, to, CallStage::Admit);
        self.begin_write_back(now);
    }

    /// Forces the data of a write-through handle to the drive.
    pub(super) fn force_data(&mut self, now: Instant, thread: ThreadId) {
        let (file, _) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Last;
            return;
        }
        let flags = self.forced_flags();
        let mut plan = self.issue.take_plan();
        self.clean_file(now, file, flags, &mut plan);
        let grew = self.callers[thread as usize].grew;
        plan_force(&mut self.volumes[file.volume as usize], self.spec.family, now, file.id, grew, &mut plan);
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.pending) = (CallStage::Last, caller.pending + 1);
        self.issue.begin_plan(PlanOwner::Synced(thread, file), thread, file.volume, plan);
    }

    /// Appends the writes of all dirty pages of a file. The plan waits for write-back of the file that is in flight
    /// and, under Linux, for that of other files, too: a commit follows the data of all files that it holds (ext4's
    /// `data=ordered`).
    fn clean_file(&mut self, now: Instant, file: File, flags: Flags, plan: &mut IoPlan) {
        let cached = self.cache_service();
        let mut runs = core::mem::take(&mut cached.runs);
        runs.clear();
        cached.cache.take_dirty(file, 0, u64::MAX, &mut runs);
        let (busy, writing) = (cached.cache.clear_dirty_mark(file), cached.writing > 0);
        if busy || (writing && self.spec.family == SystemFamily::Linux) {
            plan.wait = PlanWait::Writes;
        }
        self.write_runs(now, file, &runs, flags, plan);
        self.cache_service().runs = runs;
    }

    /// Appends the writes of these runs of pages.
    fn write_runs(&mut self, now: Instant, file: File, runs: &[(u64, u64)], flags: Flags, plan: &mut IoPlan) {
        let cached = self.cached.as_mut().expect("a page cache");
        let (most, waits) = match cached.spec.back {
            WriteBackRule::Lazy { most, .. } => (most, true),
            WriteBackRule::Flusher { .. } => (u64::MAX, false),
        };
        let volume = &mut self.volumes[file.volume as usize];
        let bytes = volume.file_bytes(file.id);
        for &(from, pages) in runs {
            let (mut at, end) = (from * PAGE, ((from + pages) * PAGE).min(bytes));
            while at < end {
                let to = end.min(at.saturating_add(most));
                // Without room the data are lost, as after a failed write-back.
                if volume.write(now, file.id, at, to - at, flags, plan).is_err() {
                    cached.lost.push(file);
                }
                if waits {
                    plan.begin_phase();
                }
                at = to;
            }
        }
        if self.spec.family == SystemFamily::Linux {
            plan.round_data_up(PAGE / SECTOR);
        }
    }

    /// Runs the lazy writer or the flusher, if it is due.
    pub(super) fn run_due_write_back(&mut self, now: Instant) {
        let Some(cached) = &mut self.cached else { return };
        if now < cached.due {
            return;
        }
        let (dirty, writing) = cached.cache.dirty_and_writing();
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
                    cached.expired = cached.cache.expire_files(Instant::from_nanos(now.nanos() - expire.nanos()));
                }
                if dirty + writing > 0 {
                    cached.due = now + wake;
                }
            }
        }
        self.begin_write_back(now);
    }

    /// Begins as much write-back as may be in flight.
    fn begin_write_back(&mut self, now: Instant) {
        loop {
            let cached = self.cache_service();
            let (dirty, _) = cached.cache.dirty_and_writing();
            let (pages, next) = match cached.spec.back {
                WriteBackRule::Lazy { files, .. } => {
                    // While threads are held up, the lazy writer goes on.
                    let pages = if cached.held.is_empty() { cached.share } else { dirty.max(8) / 8 };
                    if cached.writing >= files || pages == 0 {
                        return;
                    }
                    (pages, cached.cache.take_next_file(|_| true))
                }
                WriteBackRule::Flusher { background, chunk, chunks, .. } => {
                    let all = dirty > cached.percent_pages(background) || !cached.held.is_empty();
                    if cached.writing >= chunks || !(all || cached.expired) {
                        return;
                    }
                    (chunk / PAGE, cached.cache.take_next_file(|file| all || file.expired))
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
            let mut taken = cached.cache.take_dirty(file, dirty.resume, pages, &mut runs);
            if taken == 0 {
                taken = cached.cache.take_dirty(file, 0, pages, &mut runs);
            }
            cached.share = cached.share.saturating_sub(taken);
            let from = runs.iter().map(|run| run.0).min().unwrap_or(0);
            let to = runs.iter().map(|run| run.0 + run.1).max().unwrap_or(0);
            cached.writing += 1;
            let mut plan = self.issue.take_plan();
            self.write_runs(now, file, &runs, Flags::NONE, &mut plan);
            self.cache_service().runs = runs;
            self.issue.begin_plan(PlanOwner::Back(file, from, to), self.system_origin(), file.volume, plan);
        }
    }

    /// Handles pages of a file that were written back.
    pub(super) fn complete_write_back(&mut self, now: Instant, file: File, (from, to): (u64, u64), failed: bool) {
        let cached = self.cache_service();
        cached.writing -= 1;
        cached.cache.mark_written(file, from, to);
        cached.cache.end_write_back(file, to);
        if failed {
            cached.lost.push(file);
        }
        self.resume_writers(now);
        self.begin_write_back(now);
    }

    /// Resumes held-up writers until too much is dirty.
    fn resume_writers(&mut self, now: Instant) {
        while !self.cache_service().held.is_empty() && !self.cache_service().is_full() {
            let thread = self.cache_service().held.remove(0);
            self.run_thread(now, thread);
        }
    }

    /// Handles a file whose pages are on the drive, for the thread that waited.
    pub(super) fn complete_sync(&mut self, now: Instant, thread: ThreadId, file: File, failed: bool) {
        let cached = self.cache_service();
        cached.cache.mark_written(file, 0, u64::MAX);
        let lost = cached.lost.iter().position(|&lost| lost == file);
        lost.map(|at| cached.lost.swap_remove(at));
        self.resume_writers(now);
        self.end_wait(now, thread, failed || lost.is_some());
    }

    /// Handles a volume whose pages are on the drive, for the thread that waited.
    pub(super) fn complete_volume_sync(&mut self, now: Instant, thread: ThreadId, volume: u8, failed: bool) {
        self.cache_service().cache.mark_volume_written(volume);
        self.resume_writers(now);
        self.end_wait(now, thread, failed);
    }
}
