//! Keeps the history of an array since an instant at which all its drives agreed, and works out what a power cut leaves
//! while a drive is lost.
//!
//! While the array is whole, a read finds its first copies, and [`crate::bytes`] keeps those. If a drive is lost, a
//! read finds another copy, or data computed from parity and the other drives. The effect of a cut on those is worked
//! out ([`served_array`]) from the history since an instant at which all finished writes lay on the media of all
//! drives.
//!
//! The history begins anew at each such instant: after a flush beside which nothing was under way, and after a cut. For
//! a stack whose flushes cannot be trusted it begins anew only after cuts: otherwise data would be expected that no
//! drive has.
//!
//! After a cut copies and parity count as resynchronised to the data that a read then finds, as Linux's md does it
//! (`raid1_sync_request`, resync of `raid5.c`); the time of that is not modelled. The outcome of half a rebuild after
//! another cut is not followed. Nothing here has bytes or knows the time.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Completion, Landing, LandingKind, MemberRole, Op, Request, Status};
use seekwise_disk::durability::served_array;
use seekwise_disk::history::{CutRemains, History, HistoryEvent, WriteData};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;

/// Bytes of written data and events that are kept, at most: twice that is needed, for former content is kept too.
/// Drives of the catalogue take some ten seconds to write that many without a flush between; file systems flush every
/// five (ext4's `commit`).
const MAX_BYTES: u64 = 1 << 30;

/// Sectors of a stretch, the unit in which writes since the beginning are noted: a mebibyte, so that the largest drives
/// have few.
const STRETCH_SECTORS: u64 = 2048;

const TOO_MUCH: &str = "more than 1 GiB (or what --max-memory leaves for it) was written since all of it was known to be on the media, too much to work out what a cut leaves of \
     an array that lacks a drive; expected a flush while nothing else is under way, or a new drive and its rebuild";

const HALF_REBUILT: &str = "the power failed while a drive was being rebuilt, and what another cut leaves of that is not followed; wait until it is \
     rebuilt, and flush";

/// Keeps the history of an array, and works out what a cut leaves.
pub(crate) struct ArrayHistory {
    /// The stack with the array.
    stack: Stack,
    /// A finished flush has brought to the media all writes that were finished before it.
    trusts_flushes: bool,
    /// Events since the beginning; or why they are not known.
    history: Result<History, &'static str>,
    history_bytes: u64,
    max_bytes: u64,
    /// Numbers of the stretches that were written to.
    written_stretches: BTreeSet<u64>,
    /// Changed settings, other than drives lost and replaced.
    settings: Vec<HistoryEvent>,
    /// Drives lost at the beginning, one bit each.
    lost_at_beginning: u64,
    /// Drives lost now.
    lost: u64,
    /// The lost drives that are being rebuilt.
    rebuilding: u64,
    /// The lost drives that failed by themselves.
    failed: u64,
    /// Whether a drive was lost at some time since the beginning.
    lacked_drive: bool,
    /// Why a cut cannot be judged after the settings and losses since the beginning.
    refusal: Option<String>,
    /// Stamps of the writes under way.
    writes: BTreeSet<u64>,
    /// By stamp of the flushes under way: whether a write was under way when the flush was taken.
    flushes: BTreeMap<u64, bool>,
    last_write: u64,
}

impl ArrayHistory {
    /// Begins the history of an array that lacks the drives `lost`, one bit each, and has done nothing yet.
    pub fn new(stack: &Stack, lost: u64) -> ArrayHistory {
        let mut history = ArrayHistory {
            stack: stack.clone(),
            trusts_flushes: served_array::is_flush_trusted(stack),
            history: Ok(History::default()),
            history_bytes: 0,
            max_bytes: MAX_BYTES,
            written_stretches: BTreeSet::new(),
            settings: Vec::new(),
            lost_at_beginning: lost,
            lost,
            rebuilding: 0,
            failed: 0,
            lacked_drive: false,
            refusal: None,
            writes: BTreeSet::new(),
            flushes: BTreeMap::new(),
            last_write: 0,
        };
        history.begin_anew();
        history
    }

    /// Begins anew: all finished writes are on the media, and of the past only the settings matter.
    pub(crate) fn begin_anew(&mut self) {
        self.history = Ok(History { events: self.settings.clone(), ..History::default() });
        (self.lost_at_beginning, self.lacked_drive, self.failed, self.history_bytes) =
            (self.lost, self.lost != 0, 0, 0);
        self.written_stretches.clear();
        self.update_refusal();
    }

    /// Whether the history is still kept.
    pub fn is_kept(&self) -> bool {
        self.history.is_ok()
    }

    /// Limits the history to so many bytes; beyond them it is dropped.
    pub(crate) fn limit_bytes(&mut self, bytes: u64) {
        self.max_bytes = self.max_bytes.min(bytes);
    }

    /// Bytes of the history.
    pub fn history_bytes(&self) -> u64 {
        self.history_bytes
    }

    /// Determines whether a cut can be judged; settings and losses alone decide.
    fn update_refusal(&mut self) {
        let Ok(history) = &self.history else { return };
        let is_setting = |event: &&HistoryEvent| matches!(event, HistoryEvent::Changed(..));
        let events = history.events.iter().filter(is_setting).cloned().collect();
        let settings = History { events, ..History::default() };
        self.refusal =
            served_array::remains_after_cut(&self.stack, &settings, self.lost_at_beginning, Instant::ZERO).err();
    }

    fn push_event(&mut self, event: HistoryEvent) {
        self.add_bytes(size_of::<HistoryEvent>() as u64);
        if let Ok(history) = &mut self.history {
            history.events.push(event);
        }
    }

    fn add_bytes(&mut self, bytes: u64) {
        if self.is_kept() {
            self.history_bytes += bytes;
            if self.history_bytes > self.max_bytes {
                (self.history, self.history_bytes) = (Err(TOO_MUCH), 0);
            }
        }
    }

    /// Records a request that the disk took, with the data of a write.
    pub fn record_request(&mut self, at: Instant, request: &Request, data: Option<&WriteData>) {
        match request.op {
            Op::Write => {
                self.last_write = request.stamp;
                self.writes.insert(request.stamp);
                self.written_stretches.extend(touched_stretches(request.lba, request.end()));
            }
            Op::Flush => drop(self.flushes.insert(request.stamp, !self.writes.is_empty())),
            // Other requests leave nothing on a medium.
            _ => return,
        }
        self.add_bytes(size_of::<HistoryEvent>() as u64 + data.map_or(0, WriteData::memory_bytes));
        if let Ok(history) = &mut self.history {
            history.record_request(at, request, data);
        }
    }

    /// Records a landing, or a drive lost or rebuilt.
    pub(crate) fn record_landing(&mut self, landing: &Landing) {
        let drive = 1 << landing.member;
        match landing.kind {
            LandingKind::Gone => {
                self.failed |= drive & !self.lost;
                (self.lost, self.rebuilding, self.lacked_drive) = (self.lost | drive, self.rebuilding & !drive, true);
            }
            LandingKind::Whole => {
                (self.lost, self.rebuilding) = (self.lost & !drive, self.rebuilding & !drive);
            }
            _ => {}
        }
        if !self.changes_nothing(landing) {
            self.push_event(HistoryEvent::Landed(*landing));
        }
    }

    /// Whether a rebuild only wrote what lay there at the beginning; of a whole drive these would be most landings.
    fn changes_nothing(&self, landing: &Landing) -> bool {
        let has_data = matches!(landing.kind, LandingKind::Taken | LandingKind::Landed);
        let is_rebuilt_copy = matches!(landing.role, MemberRole::RebuiltCopy(_));
        let mut stretches = touched_stretches(landing.lba, landing.end());
        has_data && is_rebuilt_copy && stretches.all(|stretch| !self.written_stretches.contains(&stretch))
    }

    /// Records the end of a request. True if all finished writes are on the media, and the history may begin anew.
    pub fn record_completion(&mut self, request: &Request, completion: &Completion) -> bool {
        let is_known = match request.op {
            Op::Write => self.writes.remove(&request.stamp),
            Op::Flush => self.flushes.contains_key(&request.stamp),
            _ => false,
        };
        if !is_known {
            // A cut came between.
            return false;
        }
        self.push_event(HistoryEvent::Over(*request, *completion));
        let was_beside_writes = request.op != Op::Flush || self.flushes.remove(&request.stamp) == Some(true);
        let is_all_on_media =
            !was_beside_writes && completion.status == Status::Done && self.last_write < request.stamp;
        is_all_on_media && self.trusts_flushes && self.rebuilding == 0
    }

    /// Records a changed setting.
    pub fn record_setting(&mut self, at: Instant, setting: LayerSetting) {
        match setting {
            LayerSetting::Array(ArraySetting::Replace(member)) => self.rebuilding |= self.lost & 1 << member,
            LayerSetting::Array(ArraySetting::Lose(member)) => {
                let drive = 1 << member;
                (self.lost, self.rebuilding, self.lacked_drive) = (self.lost | drive, self.rebuilding & !drive, true);
                self.failed &= !drive;
            }
            // It writes nothing.
            LayerSetting::Array(ArraySetting::Check(_)) => {}
            _ => {
                self.trusts_flushes = false;
                self.settings.push(HistoryEvent::Changed(at, setting));
            }
        }
        self.push_event(HistoryEvent::Changed(at, setting));
        self.update_refusal();
    }

    /// Why it is not known what a cut leaves; `None` if it is.
    pub fn cut_refusal(&self) -> Option<&str> {
        match &self.history {
            Err(why) => Some(why),
            Ok(_) if self.failed != 0 => {
                Some("a drive of the array failed by itself; expected a flush since, while nothing else is under way")
            }
            Ok(_) => self.refusal.as_deref(),
        }
    }

    /// Returns the state that the cut at `at` leaves, with its history; `None` if no drive was lost, or if that state
    /// is not known. The landings of the cut were recorded before.
    pub fn cut_remains(&self, at: Instant) -> Option<Result<(CutRemains, &History), String>> {
        let history = self.history.as_ref().ok().filter(|_| self.lacked_drive && self.cut_refusal().is_none())?;
        Some(
            served_array::remains_after_cut(&self.stack, history, self.lost_at_beginning, at)
                .map(|left| (left, history)),
        )
    }

    /// Records a power cut: nothing is under way.
    pub fn record_cut(&mut self) {
        self.writes.clear();
        self.flushes.clear();
        self.begin_anew();
        if self.rebuilding != 0 {
            self.history = Err(HALF_REBUILT);
        }
    }
}

/// Returns the stretches that these sectors lie in.
fn touched_stretches(lba: u64, end: u64) -> impl Iterator<Item = u64> {
    lba / STRETCH_SECTORS..end.div_ceil(STRETCH_SECTORS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::Flags;
    use seekwise_disk::block::setting::{DriverSetting, FlushPolicy};
    use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
    use seekwise_disk::host::array::{ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
    use seekwise_disk::queue::{Discipline, Policy};
    use seekwise_disk::record::{Effort, Parts};
    use seekwise_disk::testing::{Layer, SmallDrive};

    /// A mirror of two drives that cache writes, and may complete flushes too early.
    fn mirror(early_flush: bool) -> Stack {
        let mut stack = Stack::bare(SmallDrive::default().with_buffer(4, 64).with_write_back(2).profile()).with_layer(
            Layer::Array(ArraySpec {
                members: 2,
                shares: vec![VolumeShare { level: RaidLevel::Raid1, permille: 1000 }],
                chunk: 16,
                depth: 32,
                queue: Discipline::plain(Policy::Fcfs),
                balance: ReadBalance::First,
                parity: ParityWrite::Fewest,
                stripe_cache: 256,
                sync_speed: SyncSpeed::LINUX,
                sync_policy: SyncPolicy::Md,
                lost: 0,
                bitmap: None,
            }),
        );
        stack.profile.faults.early_flush = early_flush;
        stack
    }

    struct Disk(ArrayHistory, u64);

    impl Disk {
        fn new(trusted: bool) -> Disk {
            Disk(ArrayHistory::new(&mirror(!trusted), 0), 0)
        }

        fn take(&mut self, op: Op) -> Request {
            self.1 += 1;
            let (tag, unit, origin, flags, lba, stamp) = (0, 0, 0, Flags::NONE, 0, self.1);
            let sectors = if op == Op::Write { 8 } else { 0 };
            let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
            let data = WriteData::from(vec![0; 4096]);
            self.0.record_request(Instant::ZERO, &request, (op == Op::Write).then_some(&data));
            request
        }

        /// Over as it should; begins anew where it may, and says so.
        fn end(&mut self, request: &Request) -> bool {
            let (tag, status, at) = (0, Status::Done, Instant::ZERO);
            let (parts, effort) = (Parts::default(), Effort::default());
            let all = self
                .0
                .record_completion(request, &Completion { tag, status, submitted: at, finished: at, parts, effort });
            if all {
                self.0.begin_anew();
            }
            all
        }

        fn tell(&mut self, member: u32, kind: LandingKind) {
            let landing = Landing::new((0, 0), 0, (Instant::ZERO, Instant::ZERO), kind);
            self.0.record_landing(&Landing { member, ..landing });
        }

        fn set(&mut self, setting: ArraySetting) {
            self.0.record_setting(Instant::ZERO, LayerSetting::Array(setting));
        }

        fn lose(&mut self, member: u32) {
            self.tell(member, LandingKind::Gone);
            self.set(ArraySetting::Lose(member));
        }

        /// The drives that were lost when its history began, and the events since; nothing where a cut is not judged.
        fn left(&self) -> Option<(u64, u64)> {
            let (_, history) = self.0.cut_remains(Instant::ZERO)?.unwrap();
            Some((self.0.lost_at_beginning, history.events.len() as u64))
        }
    }

    #[test]
    fn it_begins_anew_after_a_flush_beside_which_nothing_was_under_way() {
        let mut disk = Disk::new(true);
        let (one, flush) = (disk.take(Op::Write), disk.take(Op::Flush));
        assert!(!disk.end(&one) && !disk.end(&flush), "a write was under way when it was taken");
        let (flush, two) = (disk.take(Op::Flush), disk.take(Op::Write));
        assert!(!disk.end(&flush) && !disk.end(&two), "one came while it was under way");
        assert_eq!(disk.left(), None, "no drive is lost");
        disk.lose(1);
        assert_eq!(disk.left(), Some((0, 10)));
        let flush = disk.take(Op::Flush);
        assert!(disk.end(&flush));
        assert_eq!((disk.left(), disk.0.history_bytes()), (Some((2, 0)), 0));
        disk.take(Op::Read);
        assert_eq!(disk.left(), Some((2, 0)), "reads leave nothing");
    }

    #[test]
    fn flushes_that_cannot_be_trusted_begin_nothing_and_a_cut_does() {
        for changed in [false, true] {
            let mut disk = Disk::new(changed);
            if changed {
                let setting = DriverSetting::Flush(FlushPolicy::Drop);
                disk.0.record_setting(Instant::ZERO, LayerSetting::Driver { number: 1, setting });
            }
            disk.lose(0);
            let flush = disk.take(Op::Flush);
            assert!(!disk.end(&flush));
            disk.0.record_cut();
            // What was set stays set.
            assert_eq!(disk.left(), Some((1, u64::from(changed))));
            assert!(!disk.end(&flush), "it was under way when the power failed");
        }
    }

    #[test]
    fn half_a_rebuild_is_not_followed_over_a_cut() {
        let mut disk = Disk::new(true);
        disk.lose(0);
        disk.set(ArraySetting::Replace(0));
        let flush = disk.take(Op::Flush);
        assert!(!disk.end(&flush), "a drive is being rebuilt");
        assert!(disk.left().is_some());
        disk.0.record_cut();
        assert!(disk.left().is_none() && disk.0.cut_refusal().unwrap().contains("being rebuilt"));
        disk.tell(0, LandingKind::Whole);
        assert!(disk.left().is_none());
        let flush = disk.take(Op::Flush);
        assert!(disk.end(&flush));
        assert_eq!((disk.0.cut_refusal(), disk.left()), (None, None), "it is whole");
        disk.lose(1);
        assert_eq!(disk.left(), Some((0, 2)));
    }

    #[test]
    fn a_rebuild_of_what_was_not_written_takes_no_room() {
        let mut disk = Disk::new(true);
        disk.take(Op::Write);
        disk.lose(0);
        let before = disk.0.history_bytes();
        let rebuilt = |lba| {
            let landing = Landing::new((lba, 128), 0, (Instant::ZERO, Instant::ZERO), LandingKind::Landed);
            Landing { role: MemberRole::RebuiltCopy(0), ..landing }
        };
        disk.0.record_landing(&rebuilt(STRETCH_SECTORS));
        assert_eq!(disk.0.history_bytes(), before);
        disk.0.record_landing(&rebuilt(STRETCH_SECTORS - 128));
        disk.0.record_landing(&Landing { role: MemberRole::RebuiltParity(0), ..rebuilt(STRETCH_SECTORS) });
        assert_eq!(disk.0.history_bytes(), before + 2 * size_of::<HistoryEvent>() as u64);
    }

    #[test]
    fn what_is_too_much_or_not_judged_or_unforeseen_is_said() {
        let mut disk = Disk::new(true);
        disk.0.max_bytes = 100_000;
        for _ in 0..30 {
            disk.take(Op::Write);
        }
        disk.lose(0);
        assert!(disk.left().is_none() && disk.0.cut_refusal().unwrap().contains("1 GiB"));
        disk.0.record_cut();
        assert_eq!(disk.left(), Some((1, 0)));
        disk.lose(1);
        assert!(disk.left().is_none() && disk.0.cut_refusal().unwrap().contains("too many drives"));
        let mut disk = Disk::new(true);
        disk.tell(1, LandingKind::Gone);
        assert!(disk.left().is_none() && disk.0.cut_refusal().unwrap().contains("by itself"));
        let flush = disk.take(Op::Flush);
        assert!(disk.end(&flush));
        assert_eq!(disk.left(), Some((2, 0)));
    }
}
