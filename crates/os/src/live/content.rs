//! The content of a disk at work: its bytes, and for an array the lost drives and what a power cut leaves while they
//! are lost. The disk passes its events to it; it has no clock and no clients.

use std::collections::BTreeSet;
use std::io;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Landing, LandingKind, Op, Request, Status};
use seekwise_disk::durability::served_array;
use seekwise_disk::history::WriteData;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;

use super::array_history::ArrayHistory;
use crate::bytes::Bytes;

/// Refusal of a cut if no history is kept to work out its outcome.
const UNKNOWN_OUTCOME: &str = "of an array that has lost a drive it is not known here what a cut leaves; replace the drive and wait until it is \
     rebuilt";

/// Bytes, and the effect of a cut on them.
pub struct DiskContent {
    bytes: Bytes,
    /// Drives of an array that are lost, or not rebuilt and flushed yet.
    missing: BTreeSet<u32>,
    /// The drives among them that are rebuilt.
    rebuilt: BTreeSet<u32>,
    array_history: Option<ArrayHistory>,
}

impl DiskContent {
    /// Creates the content of a disk that has done nothing yet.
    pub fn new(bytes: Bytes) -> DiskContent {
        DiskContent { bytes, missing: BTreeSet::new(), rebuilt: BTreeSet::new(), array_history: None }
    }

    /// Sets the drives that the array lacks at the beginning, a bit each.
    pub fn without_drives(mut self, lost_drives: u64) -> DiskContent {
        self.missing = (0..u64::BITS).filter(|member| lost_drives >> member & 1 == 1).collect();
        self
    }

    /// Keeps the history of this stack's array, if it survives the loss of a drive, to work out what a cut leaves then.
    /// To be called after [`DiskContent::without_drives`].
    pub fn with_cut_history(mut self, stack: &Stack) -> DiskContent {
        if served_array::can_lose_drive(stack) {
            let lost = self.missing.iter().fold(0, |lost, member| lost | 1 << member);
            self.array_history = Some(ArrayHistory::new(stack, lost));
            self.bytes.keep_former_content(true);
        }
        self
    }

    /// Limits the history for cuts to a quarter of so many bytes of memory. To be called after
    /// [`DiskContent::with_cut_history`].
    pub(crate) fn with_history_limit(mut self, bytes: u64) -> DiskContent {
        if let Some(array_history) = &mut self.array_history {
            array_history.limit_bytes(bytes / 4);
        }
        self
    }

    /// Memory in use, including that of writes under way, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.memory_bytes() + self.history_bytes().unwrap_or(0)
    }

    /// Upper bound of the memory for a write at `lba`; zeroes have no data (`data_bytes` is 0).
    pub(crate) fn write_memory_bound(&self, lba: u64, data_bytes: u64) -> u64 {
        self.bytes.write_memory_bound(lba, data_bytes) + self.history_bytes().map_or(0, |_| data_bytes)
    }

    /// Memory for such a write, without the pieces that exist already.
    pub(crate) fn write_memory(&self, lba: u64, data_bytes: u64) -> u64 {
        self.bytes.write_memory(lba, data_bytes) + self.history_bytes().map_or(0, |_| data_bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Drives that are lost, or not rebuilt and flushed yet.
    pub fn missing_drives(&self) -> &BTreeSet<u32> {
        &self.missing
    }

    /// Size of the history for cuts, in bytes; `None` without one.
    pub fn history_bytes(&self) -> Option<u64> {
        self.array_history.as_ref().map(ArrayHistory::history_bytes)
    }

    /// Records a request that the disk took, with the data of a write.
    pub fn record_request(&mut self, now: Instant, request: &Request, data: Option<WriteData>) {
        if let Some(array_history) = &mut self.array_history {
            array_history.record_request(now, request, data.as_ref());
        }
        if let Some(data) = data {
            self.bytes.accept_write(request, data);
        }
        self.drop_stale_former();
    }

    /// Applies all landings of an instant.
    pub fn apply_landings(&mut self, landings: &[Landing]) -> io::Result<()> {
        for landing in landings {
            match landing.kind {
                LandingKind::Gone => {
                    self.missing.insert(landing.member);
                    self.rebuilt.remove(&landing.member);
                }
                LandingKind::Whole => {
                    self.rebuilt.insert(landing.member);
                }
                _ => {}
            }
            if let Some(array_history) = &mut self.array_history {
                array_history.record_landing(landing);
            }
        }
        self.drop_stale_former();
        // A lost drive discards writes that the other drives have.
        let reaches_bytes = |it: &&Landing| it.kind == LandingKind::Landed || !self.missing.contains(&it.member);
        landings.iter().filter(reaches_bytes).try_for_each(|landing| self.bytes.apply_landing(landing))
    }

    /// Records the end of a request, when `last_stamp` was the last one given.
    pub fn record_completion(&mut self, request: &Request, completion: &Completion, last_stamp: u64) -> io::Result<()> {
        match (request.op, completion.status) {
            (Op::Write, Status::Done) => self.bytes.mark_answered(request.stamp, last_stamp),
            (Op::Write, _) => self.bytes.drop_failed_write(request.stamp),
            (Op::Flush, Status::Done) => self.apply_flush(request.stamp)?,
            _ => {}
        }
        if let Some(array_history) = &mut self.array_history
            && array_history.record_completion(request, completion)
            && self.bytes.bytes_at_risk() == 0
        {
            array_history.begin_anew();
            self.bytes.keep_former_content(true);
        }
        self.drop_stale_former();
        Ok(())
    }

    /// Records a changed setting, after the landings of that instant.
    pub fn record_setting(&mut self, now: Instant, setting: LayerSetting) {
        if let Some(array_history) = &mut self.array_history {
            array_history.record_setting(now, setting);
        }
    }

    /// Applies a finished flush. In an array without a drive no landings tell what it covers. A rebuilt drive counts as
    /// the others do from its first flush on.
    pub(crate) fn apply_flush(&mut self, flush_stamp: u64) -> io::Result<()> {
        if self.missing.is_empty() {
            return Ok(());
        }
        for member in std::mem::take(&mut self.rebuilt) {
            self.missing.remove(&member);
        }
        self.bytes.apply_flush(flush_stamp)
    }

    /// Drops the former content if the history was given up, without which it is of no use.
    fn drop_stale_former(&mut self) {
        if self.bytes.keeps_former_content() && !self.array_history.as_ref().is_some_and(ArrayHistory::is_kept) {
            self.bytes.keep_former_content(false);
        }
    }

    /// Why it is not known what a cut leaves; `None` if it is.
    pub fn cut_refusal(&self) -> Option<&str> {
        match &self.array_history {
            _ if self.missing.is_empty() => None,
            None => Some(UNKNOWN_OUTCOME),
            Some(array_history) => array_history.cut_refusal(),
        }
    }

    /// Applies a power cut at `at`, after the landings of the writes under way.
    pub fn apply_cut(&mut self, at: Instant) -> io::Result<()> {
        let Some(array_history) = &mut self.array_history else {
            self.bytes.apply_cut();
            return Ok(());
        };
        let applied = match array_history.cut_remains(at) {
            None => {
                self.bytes.apply_cut();
                Ok(())
            }
            Some(Ok((remains, history))) => self.bytes.apply_remains(&remains, history),
            Some(Err(why)) => Err(io::Error::other(why)),
        };
        array_history.record_cut();
        self.bytes.keep_former_content(array_history.is_kept());
        applied
    }
}
