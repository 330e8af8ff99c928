//! Requests at the device: the data of each write until all its sectors have a fate, the order of the journal, and the
//! flush after a write that must be durable on a device without FUA.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use seekwise_disk::block::{Device, Flags, Landing, LandingKind, Limits, Op, Request};
use seekwise_work::files::volume::SectorRole;

use crate::medium::{Medium, WriteData, is_seen_by_mount};

/// Writes that may be kept before those that have a fate are looked for: one look costs as much as so many writes.
const MIN_SWEEP: usize = 1024;

/// A write whose sectors do not all have a fate.
#[derive(Debug)]
struct UnsettledWrite {
    data: WriteData,
    /// Sectors without a fate.
    left: u64,
}

/// A write to the journal that is not on the medium as a whole.
#[derive(Debug)]
struct LogWrite {
    stamp: u64,
    /// Sectors that are not on the medium.
    left: u64,
    /// The latest change that it commits; 0 for a write before the commit block.
    commits: u64,
}

/// A request that is prepared, and the data of a write to a file.
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) data: Option<WriteData>,
    pub(crate) role: SectorRole,
    pub(crate) latest_change: u64,
}

/// All requests.
#[derive(Debug)]
pub(crate) struct Requests {
    has_fua: bool,
    is_volatile: bool,
    stamp: u64,
    /// Tags of writes that a flush follows.
    forced: BTreeSet<u32>,
    unsettled: BTreeMap<u64, UnsettledWrite>,
    sweep_at: usize,
    log: VecDeque<LogWrite>,
    /// The latest change that is committed on the medium.
    committed: u64,
}

impl Requests {
    pub(crate) fn new(limits: &Limits) -> Requests {
        Requests {
            has_fua: limits.fua,
            is_volatile: limits.volatile_cache,
            stamp: 0,
            forced: BTreeSet::new(),
            unsettled: BTreeMap::new(),
            sweep_at: MIN_SWEEP,
            log: VecDeque::new(),
            committed: 0,
        }
    }

    /// True if a request was ever prepared.
    pub(crate) fn has_begun(&self) -> bool {
        self.stamp > 0
    }

    /// The latest change that is committed on the medium.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Gives a request its stamp and the flags that the device knows, and keeps the data of a write.
    pub(crate) fn prepare(&mut self, prepared: Prepared) -> Request {
        let Prepared { mut request, data, role, latest_change } = prepared;
        self.stamp += 1;
        request.stamp = self.stamp;
        if request.flags.has(Flags::FUA) && !self.has_fua {
            request.flags = request.flags.without(Flags::FUA);
            if self.is_volatile {
                self.forced.insert(request.tag);
            }
        }
        let left = u64::from(request.sectors);
        if let Some(data) = data {
            self.unsettled.insert(self.stamp, UnsettledWrite { data, left });
        }
        if request.op == Op::Write && role.is_log() {
            let commits = if role == SectorRole::JournalCommit { latest_change } else { 0 };
            self.log.push_back(LogWrite { stamp: self.stamp, left, commits });
        }
        request
    }

    /// Returns the flush that follows a completed write, if one does.
    pub(crate) fn flush_after(&mut self, tag: u32) -> Option<Request> {
        if !self.forced.remove(&tag) {
            return None;
        }
        self.stamp += 1;
        Some(Request { tag, op: Op::Flush, stamp: self.stamp, ..Request::NONE })
    }

    /// Applies a landing to the medium and the journal.
    pub(crate) fn apply_landing(&mut self, landing: &Landing, medium: &mut Medium) {
        if matches!(landing.kind, LandingKind::Taken | LandingKind::Gone | LandingKind::Whole)
            || !is_seen_by_mount(landing)
        {
            return;
        }
        let sectors = u64::from(landing.sectors);
        if let Some(write) = self.unsettled.get_mut(&landing.stamp) {
            medium.apply_landing(landing, &write.data);
            write.left = write.left.saturating_sub(sectors);
            if write.left == 0 {
                self.unsettled.remove(&landing.stamp);
            }
        } else if landing.kind == LandingKind::Landed
            && let Some(write) = self.log.iter_mut().find(|write| write.stamp == landing.stamp)
        {
            write.left = write.left.saturating_sub(sectors);
            while self.log.front().is_some_and(|first| first.left == 0) {
                let commits = self.log.pop_front().map_or(0, |first| first.commits);
                self.committed = self.committed.max(commits);
            }
        }
    }

    /// Drops the data of writes that can no longer land, if many are kept.
    pub(crate) fn sweep(&mut self, device: &impl Device) {
        if self.unsettled.len() < self.sweep_at {
            return;
        }
        let mut kept = BTreeSet::new();
        device.report_unsettled(&mut |stamp| _ = kept.insert(stamp));
        self.unsettled.retain(|stamp, _| kept.contains(stamp));
        self.sweep_at = MIN_SWEEP.max(2 * self.unsettled.len());
    }

    /// Begins anew after a mount; stamps go on.
    pub(crate) fn restart(&mut self) {
        self.forced.clear();
        self.unsettled.clear();
        self.log.clear();
        self.committed = 0;
    }
}
