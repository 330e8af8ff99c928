//! Calls through the page cache: reads from memory, writes into it, and the reads, write-back and syncs of the drive
//! that follow. `pagecache` decides what is evicted and what is read ahead.
//!
//! A read or write is served piece by piece. A read fetches the missing pages of a piece, waits for them and copies the
//! piece; a write waits until it is admitted, and changes the piece in memory. Write-back is Windows' lazy writer or
//! Linux's flusher.

use alloc::vec::Vec;

use seekwise_disk::block::{Flags, SECTOR};
use seekwise_disk::time::Instant;

use super::cache::{CacheFill, CacheService};
use super::{CallStage, CallingThread, PlanOwner, System, SystemFamily, plan_force};
use crate::files::call::{Call, File, OpenMode, ThreadId};
use crate::files::pagecache::{DirtyRun, PAGE, PageCache, ReadSpan, WriteBackRule};
use crate::files::volume::{IoPlan, PlanWait, Volume};

/// Bytes of a piece: the views of Windows' cache manager (Windows' documentation, "File caching"). Linux goes page by
/// page, which differs if a call is held up or fails midway.
const PIECE: u64 = 256 << 10;
/// Most bytes that a page fault of Windows reads (`MmReadClusterSize`, Windows Internals).
const FAULT: u64 = 64 << 10;

impl System {
    /// The page cache, which must exist.
    fn cache_service(&mut self) -> &mut CacheService {
        self.cached.as_mut().expect("a page cache")
    }

    /// Puts the pages of `bytes` bytes of a file from byte `from` on into memory, without I/O.
    pub fn preload_pages(&mut self, file: File, from: u64, bytes: u64) {
        let end = self.volumes[file.volume as usize].file_bytes(file.id).min(from + bytes);
        let cache = &mut self.cache_service().cache;
        let (mut from, to) = (from / PAGE, end.div_ceil(PAGE));
        while let Some((gap, end)) = cache.first_missing_range(file, from, to) {
            cache.insert_clean(file, gap, end);
            from = end;
        }
    }

    /// The page cache, if there is one.
    pub fn page_cache(&self) -> Option<&PageCache> {
        self.cached.as_ref().map(|cached| &cached.cache)
    }

    /// Drops the clean pages of the cache, and the metadata of volumes without dirty ones.
    pub(super) fn drop_caches(&mut self) {
        if let Some(cached) = &mut self.cached {
            cached.cache.drop_clean_pages();
        }
        self.volumes.iter_mut().for_each(Volume::drop_metadata_if_clean);
    }

    /// Begins a call that a volume serves through the page cache.
    pub(super) fn begin_cached_call(&mut self, now: Instant, thread: ThreadId, call: Call) {
        let entry = self.cache_service().spec.call;
        self.callers[thread as usize].owed += entry;
        match call {
            Call::Read { handle: OpenMode::Direct, file, .. } => {
                let mut plan = self.issue.take_empty_plan();
                self.plan_dirty_pages_of(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.begin_volume_call_after(now, thread, call, plan, PlanOwner::FileSync(thread, file));
            }
            Call::Write { handle: OpenMode::Direct, file, from, bytes } => {
                let mut plan = self.issue.take_empty_plan();
                self.plan_dirty_pages_of(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.cache_service().cache.drop_pages(file, from / PAGE, (from + bytes).div_ceil(PAGE));
                self.begin_volume_call_after(now, thread, call, plan, PlanOwner::FileSync(thread, file));
            }
            Call::Read { file, from, bytes, .. } => {
                let end = self.volumes[file.volume as usize].file_bytes(file.id).min(from + bytes).max(from);
                self.callers[thread as usize].reads.asked = end - from;
                self.begin_pieces(thread, CallStage::Fetch, from, end);
            }
            Call::Write { from, bytes, .. } => self.begin_pieces(thread, CallStage::Admit, from, from + bytes),
            Call::Sync(file, _) => {
                let flags = self.forced_flags();
                let mut plan = self.issue.take_empty_plan();
                self.plan_sync_of(now, file, flags, &mut plan);
                self.begin_volume_call_after(now, thread, call, plan, PlanOwner::FileSync(thread, file));
            }
            Call::Shift { file, .. } => {
                let mut plan = self.issue.take_empty_plan();
                self.plan_dirty_pages_of(now, file, Flags::NONE, &mut plan);
                plan.begin_phase();
                self.begin_volume_call_after(now, thread, call, plan, PlanOwner::FileSync(thread, file));
            }
            Call::SyncVolume(volume) => {
                let mut plan = self.issue.take_empty_plan();
                let files: Vec<File> =
                    self.cache_service().cache.dirty_files().filter(|file| file.volume == volume).collect();
                for file in files {
                    self.plan_dirty_pages_of(now, file, Flags::NONE, &mut plan);
                }
                plan.wait = PlanWait::Writes;
                plan.begin_phase();
                self.begin_volume_call_after(now, thread, call, plan, PlanOwner::VolumeSync(thread, volume));
            }
            Call::SetLength { file, bytes } => self.begin_set_length(now, thread, file, bytes),
            Call::Delete(file) => {
                let cached = self.cache_service();
                cached.cache.drop_pages(file, 0, u64::MAX);
                cached.drop_read_streams(file);
                self.begin_volume_call(now, thread, call);
            }
            call => self.begin_volume_call(now, thread, call),
        }
    }

    /// Cuts or extends a file. As on Linux, a page that the old or the new end cuts is zeroed behind it, and written before a
    /// commit holds the new length (`ext4_setattr`, `ext4_block_truncate_page`, `data=ordered`); here at once, there by the
    /// commit.
    fn begin_set_length(&mut self, now: Instant, thread: ThreadId, file: File, bytes: u64) {
        let end = bytes.min(self.volumes[file.volume as usize].file_bytes(file.id));
        self.begin_volume_call(now, thread, Call::SetLength { file, bytes });
        if self.callers[thread as usize].refused.is_some() {
            return;
        }
        // A write under way goes on below the new length only.
        for caller in &mut self.callers {
            if let Some(Call::Write { file: written, .. }) = caller.call
                && written == file
            {
                caller.end = caller.end.min(bytes.max(caller.at));
            }
        }
        let (page, pages) = (end / PAGE, bytes.div_ceil(PAGE));
        self.cache_service().cache.drop_pages(file, pages, u64::MAX);
        let runs = self.volumes[file.volume as usize].file_runs(file.id);
        let has_place = runs.last().is_some_and(|run| run.from + run.len > page);
        if end.is_multiple_of(PAGE) || !has_place {
            return;
        }
        self.wait_for_fills(thread, file, page, page + 1);
        if let Some(fill) = self.begin_fill(thread, file, page, page + 1) {
            self.wait_for_fill(fill, thread);
        }
        self.cache_service().cache.mark_pages_dirty(now, file, page, page + 1);
        let mut runs = core::mem::take(&mut self.cache_service().runs);
        runs.clear();
        self.cache_service().cache.begin_write_back(file, page, 1, &mut runs);
        self.issue_write_back(now, file, runs);
    }

    /// Begins to serve bytes `from..end` of a read or write in pieces.
    fn begin_pieces(&mut self, thread: ThreadId, stage: CallStage, from: u64, end: u64) {
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.at, caller.end, caller.bytes) = (stage, from, end, end - from);
    }

    /// The flags of writes that a program waits for: Windows NT forces them to the medium.
    fn forced_flags(&self) -> Flags {
        if self.spec.family == SystemFamily::WindowsNt { Flags::FUA } else { Flags::NONE }
    }

    /// True if the file exists. A read or write in progress stops if another thread has deleted it.
    fn has_file(&self, file: File) -> bool {
        self.volumes[file.volume as usize].has_file(file.id)
    }

    /// The file and open mode of a thread's read or write.
    fn call_target(&self, thread: ThreadId) -> (File, OpenMode) {
        match self.callers[thread as usize].call {
            Some(Call::Read { file, handle, .. } | Call::Write { file, handle, .. }) => (file, handle),
            call => unreachable!("{call:?} is not served in pieces"),
        }
    }

    /// Begins the reads of the missing pages of the next piece, and read-ahead.
    pub(super) fn fetch_piece(&mut self, _now: Instant, thread: ThreadId) {
        let (file, handle) = self.call_target(thread);
        let CallingThread { at: from, end, .. } = self.callers[thread as usize];
        let has_file = self.has_file(file);
        let bytes = if has_file { self.volumes[file.volume as usize].file_bytes(file.id) } else { 0 };
        // The file may have been cut since the call began.
        let end = end.min(bytes);
        if from >= end {
            self.callers[thread as usize].stage = CallStage::Return;
            return;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        self.callers[thread as usize].stage = CallStage::Copy(to);
        self.wait_for_fills(thread, file, from / PAGE, to.div_ceil(PAGE));
        let mut wanted = ReadSpan::new(file, bytes, from, to, end, handle == OpenMode::Sequential);
        let cached = self.cache_service();
        let (rule, mut stream) = (cached.ahead[usize::from(file.volume)], *cached.read_stream_mut(thread, file));
        self.callers[thread as usize].first_page_used = from % PAGE > 0 && stream.ended_at(from);
        while let Some((first, last)) = stream.next_range(rule, &self.cache_service().cache, &mut wanted) {
            if let Some(fill) = self.begin_fill(thread, file, first, last)
                && self.cache_service().fills[fill].from < to.div_ceil(PAGE)
            {
                self.wait_for_fill(fill, thread);
            }
        }
        stream.record_read(&wanted);
        *self.cache_service().read_stream_mut(thread, file) = stream;
    }

    /// Makes a thread wait for the fills in flight that read any of the pages `from_page..to_page`.
    fn wait_for_fills(&mut self, thread: ThreadId, file: File, from_page: u64, to_page: u64) {
        let cached = self.cached.as_mut().expect("a page cache");
        for &id in &cached.filling {
            let fill = &cached.fills[id];
            if fill.file == file && fill.from < to_page && from_page < fill.to {
                cached.waiters.push((id, thread));
                self.callers[thread as usize].pending += 1;
            }
        }
    }

    /// Makes a thread wait for a fill.
    fn wait_for_fill(&mut self, fill: u32, thread: ThreadId) {
        self.cache_service().waiters.push((fill, thread));
        self.callers[thread as usize].pending += 1;
    }

    /// Begins a fill of the missing pages among `from_page..to_page`, and returns its number; `None` if none are
    /// missing.
    fn begin_fill(&mut self, thread: ThreadId, file: File, from_page: u64, to_page: u64) -> Option<u32> {
        let cached = self.cached.as_mut().expect("a page cache");
        let volume = &mut self.volumes[file.volume as usize];
        let mut plan = self.issue.take_empty_plan();
        let (mut at, mut first, mut fetched) = (from_page, None, 0);
        while at < to_page
            && let Some((gap, end)) = cached.cache.first_missing_range(file, at, to_page)
        {
            first = first.or(Some(gap));
            // Windows waits for each fault; Linux has all of a window in flight.
            let limit = if self.spec.family == SystemFamily::Linux { u64::MAX } else { gap + FAULT / PAGE };
            let end = end.min(limit);
            volume.read(file.id, gap * PAGE, (end - gap) * PAGE, &mut plan);
            fetched += (end - gap) * PAGE;
            if self.spec.family != SystemFamily::Linux {
                plan.begin_phase();
            }
            cached.cache.insert_clean(file, gap, end);
            at = end;
        }
        let Some(first) = first else {
            self.issue.recycle_plan(plan);
            return None;
        };
        if self.spec.family == SystemFamily::Linux {
            plan.round_data_up(PAGE / SECTOR);
        }
        // Pages that are read because a write changes them in part do not count: no program asked for their bytes.
        let caller = &mut self.callers[thread as usize];
        if matches!(caller.call, Some(Call::Read { .. })) {
            caller.reads.fetched += fetched;
        }
        let fill = cached.fills.put(CacheFill { file, from: first, to: at });
        cached.filling.push(fill);
        self.issue.begin_plan(PlanOwner::Fill(fill), thread, file.volume, plan);
        Some(fill)
    }

    /// Ends a fill, and continues the threads that wait for it.
    pub(super) fn complete_fill(&mut self, now: Instant, fill: u32, failed: bool) {
        let cached = self.cache_service();
        cached.filling.retain(|&other| other != fill);
        if failed {
            let CacheFill { file, from, to } = cached.fills[fill];
            cached.cache.drop_pages(file, from, to);
        }
        while let Some(at) = self.cache_service().waiters.iter().position(|waiter| waiter.0 == fill) {
            let (_, thread) = self.cache_service().waiters.remove(at);
            self.end_wait(now, thread, failed);
        }
        // Freed last, because a continued thread may begin another fill, which must not get this number.
        self.cache_service().fills.free(fill);
    }

    /// Copies a piece, up to byte `to`, from memory to the program; Windows reads ahead after the last piece.
    pub(super) fn copy_piece(&mut self, thread: ThreadId, to: u64) {
        let (file, handle) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Return;
            return;
        }
        let CallingThread { at: from, end, bytes: call_bytes, first_page_used, .. } = self.callers[thread as usize];
        let bytes = self.volumes[file.volume as usize].file_bytes(file.id);
        let wanted = ReadSpan::new(file, bytes, from, to, end, handle == OpenMode::Sequential);
        let rule = self.cache_service().ahead[usize::from(file.volume)];
        if let Some((first, last)) =
            self.cache_service().read_stream_mut(thread, file).next_granules(rule, &wanted, call_bytes)
        {
            self.begin_fill(thread, file, first, last);
        }
        let (first, last) = (from / PAGE + u64::from(first_page_used), to.div_ceil(PAGE));
        if first < last {
            self.cache_service().cache.record_use(file, first, last);
        }
        self.finish_piece(thread, to, CallStage::Fetch);
    }

    /// Ends a piece, up to byte `to`: charges the time of copying it.
    fn finish_piece(&mut self, thread: ThreadId, to: u64, next: CallStage) {
        let from = self.callers[thread as usize].at;
        let time = self.cache_service().copy.transfer_time(to - from);
        let caller = &mut self.callers[thread as usize];
        (caller.at, caller.stage) = (to, next);
        caller.owed += time;
        self.issue_owed_computing(thread);
    }

    /// Admits the next piece of a write: extends the file, and begins to read the pages that are changed in part. False
    /// if the writer is held up because too much is dirty.
    pub(super) fn try_admit_piece(&mut self, now: Instant, thread: ThreadId) -> bool {
        let (file, handle) = self.call_target(thread);
        let has_file = self.has_file(file);
        let caller = &mut self.callers[thread as usize];
        let (from, end) = (caller.at, caller.end);
        if !has_file {
            caller.stage = CallStage::Return;
            return true;
        }
        if from >= end {
            caller.stage = if handle == OpenMode::WriteThrough { CallStage::Force } else { CallStage::Return };
            return true;
        }
        if self.cache_service().must_hold_writers() {
            self.cache_service().held_writers.push(thread);
            self.begin_allowed_write_back(now);
            return false;
        }
        let to = end.min((from / PIECE + 1) * PIECE);
        let had = self.volumes[file.volume as usize].file_bytes(file.id);
        let mut plan = self.issue.take_empty_plan();
        let caller = &mut self.callers[thread as usize];
        caller.stage = CallStage::Store(to);
        if let Err(refused) = self.volumes[file.volume as usize].extend_file(now, file.id, to, &mut plan) {
            caller.refused = Some(refused);
            caller.bytes -= end - from;
            self.issue.recycle_plan(plan);
            return true;
        }
        caller.grew |= to > had;
        if plan.steps().is_empty() {
            self.issue.recycle_plan(plan);
        } else {
            caller.pending += 1;
            self.issue.begin_plan(PlanOwner::Thread(thread), thread, file.volume, plan);
        }
        for (at, whole) in [(from / PAGE, from % PAGE == 0), (to / PAGE, to % PAGE == 0 || to >= had)] {
            if !whole && at * PAGE < had {
                self.wait_for_fills(thread, file, at, at + 1);
                if let Some(fill) = self.begin_fill(thread, file, at, at + 1) {
                    self.wait_for_fill(fill, thread);
                }
            }
        }
        true
    }

    /// Changes a piece, up to byte `to`, in memory.
    pub(super) fn store_piece(&mut self, now: Instant, thread: ThreadId, to: u64) {
        let (file, _) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Return;
            return;
        }
        let from = self.callers[thread as usize].at;
        let cached = self.cache_service();
        cached.cache.mark_pages_dirty(now, file, from / PAGE, to.div_ceil(PAGE));
        if cached.due == Instant::FAR {
            cached.due = match cached.spec.back {
                WriteBackRule::Lazy { clock, .. } => now + clock.first,
                WriteBackRule::Flusher { wake, .. } => now + wake,
            };
        }
        self.finish_piece(thread, to, CallStage::Admit);
        self.begin_allowed_write_back(now);
    }

    /// Begins to force the data of a write-through handle to the drive.
    pub(super) fn force_written_data(&mut self, now: Instant, thread: ThreadId) {
        let (file, _) = self.call_target(thread);
        if !self.has_file(file) {
            self.callers[thread as usize].stage = CallStage::Return;
            return;
        }
        let flags = self.forced_flags();
        let mut plan = self.issue.take_empty_plan();
        self.plan_sync_of(now, file, flags, &mut plan);
        let grew = self.callers[thread as usize].grew;
        plan_force(&mut self.volumes[file.volume as usize], self.spec.family, now, file.id, grew, &mut plan);
        let caller = &mut self.callers[thread as usize];
        (caller.stage, caller.pending) = (CallStage::Return, caller.pending + 1);
        self.issue.begin_plan(PlanOwner::FileSync(thread, file), thread, file.volume, plan);
    }

    /// Adds the writes of all dirty pages of a file to the plan of a call that makes them durable. Linux also waits for
    /// pages of the file that other calls are writing (`file_write_and_wait_range`).
    fn plan_sync_of(&mut self, now: Instant, file: File, flags: Flags, plan: &mut IoPlan) {
        self.plan_dirty_pages_of(now, file, flags, plan);
        let calls = self.callers.iter().filter_map(|caller| caller.call);
        let uses_file = |call: &Call| call.existing_file() == Some(file) || *call == Call::SyncVolume(file.volume);
        if self.spec.family == SystemFamily::Linux && calls.filter(uses_file).nth(1).is_some() {
            plan.wait = PlanWait::Writes;
        }
    }

    /// Adds the writes of all dirty pages of a file to the plan. The plan waits for write-back of the file in flight.
    fn plan_dirty_pages_of(&mut self, now: Instant, file: File, flags: Flags, plan: &mut IoPlan) {
        let cached = self.cache_service();
        let mut runs = core::mem::take(&mut cached.runs);
        runs.clear();
        cached.cache.take_dirty_runs(file, 0, u64::MAX, &mut runs);
        cached.cache.clear_dirty_mark(file);
        if cached.cache.is_being_written_back(file) {
            plan.wait = PlanWait::Writes;
        }
        self.plan_runs(now, file, &runs, flags, plan);
        self.cache_service().runs = runs;
    }

    /// Adds the writes of runs of pages of a file to the plan.
    fn plan_runs(&mut self, now: Instant, file: File, runs: &[DirtyRun], flags: Flags, plan: &mut IoPlan) {
        // A removed file counts as dirty while write-back of it is in flight.
        if !self.has_file(file) {
            return;
        }
        let cached = self.cached.as_mut().expect("a page cache");
        let (max_bytes, is_serial) = match cached.spec.back {
            WriteBackRule::Lazy { most, .. } => (most, true),
            WriteBackRule::Flusher { .. } => (u64::MAX, false),
        };
        let volume = &mut self.volumes[file.volume as usize];
        let bytes = volume.file_bytes(file.id);
        for &DirtyRun { from, pages } in runs {
            let (mut at, end) = (from * PAGE, ((from + pages) * PAGE).min(bytes));
            while at < end {
                let to = end.min(at.saturating_add(max_bytes));
                // Without free clusters the data are lost, as after a failed write-back.
                if volume.write(now, file.id, at, to - at, flags, plan).is_err() {
                    cached.failed_files.push(file);
                }
                if is_serial {
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
        let (dirty, writing) = cached.cache.dirty_and_writing_pages();
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
                    cached.cache.expire_files(Instant::from_nanos(now.nanos() - expire.nanos()));
                    cached.expired = cached.cache.has_expired_files();
                }
                if dirty + writing > 0 {
                    cached.due = now + wake;
                }
            }
        }
        self.begin_allowed_write_back(now);
    }

    /// Begins write-back until as much is in flight as the rule allows.
    fn begin_allowed_write_back(&mut self, now: Instant) {
        loop {
            let cached = self.cache_service();
            let (dirty, _) = cached.cache.dirty_and_writing_pages();
            let (pages, next) = match cached.spec.back {
                WriteBackRule::Lazy { files, .. } => {
                    // While writers are held up, the lazy writer writes an eighth at a time without a pause.
                    let pages = if cached.held_writers.is_empty() { cached.share } else { dirty.max(8) / 8 };
                    if cached.writing >= files || pages == 0 {
                        return;
                    }
                    (pages, cached.cache.take_next_dirty_file(|_| true))
                }
                WriteBackRule::Flusher { background, chunk, chunks, .. } => {
                    let all = dirty > cached.pages_of_percent(background) || !cached.held_writers.is_empty();
                    if cached.writing >= chunks || !(all || cached.expired) {
                        return;
                    }
                    (chunk / PAGE, cached.cache.take_next_dirty_file(|file| all || file.expired))
                }
            };
            let Some((file, dirty)) = next else {
                // Further writes of a file that takes one at a time follow when that has ended.
                if cached.writing == 0 {
                    (cached.share, cached.expired) = (0, false);
                }
                return;
            };
            let mut runs = core::mem::take(&mut cached.runs);
            runs.clear();
            let mut taken = cached.cache.take_dirty_runs(file, dirty.resume, pages, &mut runs);
            if taken == 0 {
                taken = cached.cache.take_dirty_runs(file, 0, pages, &mut runs);
            }
            cached.share = cached.share.saturating_sub(taken);
            cached.cache.continue_later(file, runs.last().map_or(0, DirtyRun::end));
            self.issue_write_back(now, file, runs);
        }
    }

    /// Issues the write-back of runs of pages, which are taken already.
    fn issue_write_back(&mut self, now: Instant, file: File, runs: Vec<DirtyRun>) {
        self.cache_service().writing += 1;
        let mut plan = self.issue.take_empty_plan();
        self.plan_runs(now, file, &runs, Flags::BACKGROUND, &mut plan);
        let write_back = self.cache_service().write_backs.put(Some((file, runs)));
        self.issue.begin_plan(PlanOwner::WriteBack(write_back), self.system_origin(), file.volume, plan);
    }

    /// Ends a write-back. Others of its file may be in flight, between its runs too.
    pub(super) fn complete_write_back(&mut self, now: Instant, write_back: u32, failed: bool) {
        let cached = self.cache_service();
        let (file, runs) = cached.write_backs.take(write_back).expect("it is in flight");
        cached.writing -= 1;
        for run in &runs {
            cached.cache.mark_written(file, run.from, run.end());
        }
        cached.runs = runs;
        cached.cache.end_write_back(file);
        if failed {
            cached.failed_files.push(file);
        }
        self.resume_writers(now);
        self.begin_allowed_write_back(now);
    }

    /// Continues held-up writers until too much is dirty again.
    fn resume_writers(&mut self, now: Instant) {
        while !self.cache_service().held_writers.is_empty() && !self.cache_service().must_hold_writers() {
            let thread = self.cache_service().held_writers.remove(0);
            self.continue_thread(now, thread);
        }
    }

    /// Ends the sync of a file: its pages are on the drive, and the thread that waited continues.
    pub(super) fn complete_sync(&mut self, now: Instant, thread: ThreadId, file: File, failed: bool) {
        let cached = self.cache_service();
        cached.cache.mark_written(file, 0, u64::MAX);
        let earlier_failure = cached.failed_files.iter().position(|&other| other == file);
        earlier_failure.map(|at| cached.failed_files.swap_remove(at));
        self.resume_writers(now);
        self.end_wait(now, thread, failed || earlier_failure.is_some());
    }

    /// Ends the sync of a volume: its pages are on the drive, and the thread that waited continues.
    pub(super) fn complete_volume_sync(&mut self, now: Instant, thread: ThreadId, volume: u8, failed: bool) {
        self.cache_service().cache.mark_volume_written(volume);
        self.resume_writers(now);
        self.end_wait(now, thread, failed);
    }
}
