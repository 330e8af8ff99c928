//! The content of a disk at work: its bytes, and for an array the lost drives and what a power cut leaves then. The disk tells it its
//! events; it has no clock and no clients.

use std::collections::BTreeSet;
use std::io;

use seekwise_model::block::{Completion, Landing, LandingKind, Op, Request, Status};
use seekwise_model::durability::served;
use seekwise_model::history::WriteData;
use seekwise_model::stack::Stack;
use seekwise_model::time::Instant;

use super::remains::ArrayHistory;
use crate::bytes::Bytes;

/// Refusal of a cut whose outcome nobody works out.
const UNKNOWN: &str = "of an array that has lost a drive it is not known here what a cut leaves; replace the drive and wait until it is \
     rebuilt";

/// Bytes, and the effect of a cut on them.
pub struct DiskContent {
    bytes: Bytes,
    /// Drives of an array that are lost, or not rebuilt and flushed yet.
    gone: BTreeSet<u32>,
    /// The rebuilt drives among them.
    whole: BTreeSet<u32>,
    remains: Option<ArrayHistory>,
}

impl DiskContent {
    /// Creates the content of a disk that has done nothing yet.
    pub fn new(bytes: Bytes) -> DiskContent {
        DiskContent { bytes, gone: BTreeSet::new(), whole: BTreeSet::new(), remains: None }
    }

    /// Sets the drives that the array lacks at the beginning, a bit each.
    pub fn without(mut self, lost: u64) -> DiskContent {
        self.gone = (0..u64::BITS).filter(|member| lost >> member & 1 == 1).collect();
        self
    }

    /// Keeps the history of this stack's array, if it survives the loss of a drive, to work out what a cut leaves then. To be called after
    /// [`DiskContent::without`].
    pub fn judged(mut self, stack: &Stack) -> DiskContent {
        if served::may_lack(stack) {
            let lost = self.gone.iter().fold(0, |lost, member| lost | 1 << member);
            self.remains = Some(ArrayHistory::new(stack, lost));
            self.bytes.keep_former(true);
        }
        self
    }

    /// Limits the history for cuts to a quarter of so many bytes of memory. To be called after [`DiskContent::judged`].
    pub fn within(mut self, bytes: u64) -> DiskContent {
        if let Some(remains) = &mut self.remains {
            remains.within(bytes / 4);
        }
        self
    }

    /// Memory in use, including that of writes under way, in bytes.
    pub fn held(&self) -> u64 {
        self.bytes.held() + self.kept().unwrap_or(0)
    }

    /// Upper bound of the memory for a write of `bytes` at `lba`; zeroes have no data (`bytes` is 0).
    pub fn cost_of(&self, lba: u64, bytes: u64) -> u64 {
        self.bytes.cost_of(lba, bytes) + self.kept().map_or(0, |_| bytes)
    }

    /// Memory for such a write, without the pieces that exist already.
    pub fn exact_cost_of(&self, lba: u64, bytes: u64) -> u64 {
        self.bytes.exact_cost_of(lba, bytes) + self.kept().map_or(0, |_| bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Drives that are lost, or not rebuilt and flushed yet.
    pub fn gone(&self) -> &BTreeSet<u32> {
        &self.gone
    }

    /// Size of the history for cuts, in bytes; `None` without one.
    pub fn kept(&self) -> Option<u64> {
        self.remains.as_ref().map(ArrayHistory::size)
    }

    /// Records a request that the disk took, with the data of a write.
    pub fn taken(&mut self, now: Instant, request: &Request, data: Option<WriteData>) {
        if let Some(remains) = &mut self.remains {
            remains.taken(now, request, data.as_ref());
        }
        if let Some(data) = data {
            self.bytes.accept(request, data);
        }
        self.forget_former();
    }

    /// Applies all landings of an instant.
    pub fn landed(&mut self, landings: &[Landing]) -> io::Result<()> {
        for landing in landings {
            match landing.kind {
                LandingKind::Gone => {
                    self.gone.insert(landing.member);
                    self.whole.remove(&landing.member);
                }
                LandingKind::Whole => {
                    self.whole.insert(landing.member);
                }
                _ => {}
            }
            if let Some(remains) = &mut self.remains {
                remains.landed(landing);
            }
        }
        self.forget_former();
        // The other drives have what a lost one had not written yet.
        let counts = |it: &&Landing| it.kind == LandingKind::Landed || !self.gone.contains(&it.member);
        landings.iter().filter(counts).try_for_each(|landing| self.bytes.land(landing))
    }

    /// Records the end of a request, when `last` was the last stamp given.
    pub fn over(&mut self, request: &Request, completion: &Completion, last: u64) -> io::Result<()> {
        match (request.op, completion.status) {
            (Op::Write, Status::Done) => self.bytes.done(request.stamp, last),
            (Op::Write, _) => self.bytes.forget(request.stamp),
            (Op::Flush, Status::Done) => self.settle(request.stamp)?,
            _ => {}
        }
        if let Some(remains) = &mut self.remains
            && remains.over(request, completion)
            && self.bytes.at_risk() == 0
        {
            remains.begin();
            self.bytes.keep_former(true);
        }
        self.forget_former();
        Ok(())
    }

    /// Records a changed setting, after the landings of that instant.
    pub fn changed(&mut self, now: Instant, key: &str, value: &str) {
        if let Some(remains) = &mut self.remains {
            remains.changed(now, key, value);
        }
    }

    /// Applies a flush of this stamp that is over. In an array without a drive no landings tell what it covers; a rebuilt drive is as
    /// others from its first flush on.
    pub fn settle(&mut self, flush: u64) -> io::Result<()> {
        if self.gone.is_empty() {
            return Ok(());
        }
        for member in std::mem::take(&mut self.whole) {
            self.gone.remove(&member);
        }
        self.bytes.settle(flush)
    }

    /// Drops the former content if the history was given up, without which it is of no use.
    fn forget_former(&mut self) {
        if self.bytes.keeps_former() && !self.remains.as_ref().is_some_and(ArrayHistory::is_kept) {
            self.bytes.keep_former(false);
        }
    }

    /// Why it is not known what a cut leaves; `None` if it is.
    pub fn refusal(&self) -> Option<&str> {
        match &self.remains {
            _ if self.gone.is_empty() => None,
            None => Some(UNKNOWN),
            Some(remains) => remains.refusal(),
        }
    }

    /// Applies a power cut at `at`, after the landings of the writes under way.
    pub fn cut(&mut self, at: Instant) -> io::Result<()> {
        let Some(remains) = &mut self.remains else {
            self.bytes.cut();
            return Ok(());
        };
        let done = match remains.left(at) {
            None => {
                self.bytes.cut();
                Ok(())
            }
            Some(Ok((left, history))) => self.bytes.leave(&left, history),
            Some(Err(why)) => Err(io::Error::other(why)),
        };
        remains.cut();
        self.bytes.keep_former(remains.is_kept());
        done
    }
}
