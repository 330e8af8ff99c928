//! What a disk at work holds: its bytes, and, of an array, which drives are lost and what a power cut leaves then. It hears what passes the disk, and
//! knows no clock and no client.

use std::collections::BTreeSet;
use std::io;

use seekwise_model::block::{Completion, Landing, LandingKind, Op, Request, Status};
use seekwise_model::durability::served;
use seekwise_model::history::WriteData;
use seekwise_model::stack::Stack;
use seekwise_model::time::Instant;

use super::remains::ArrayHistory;
use crate::bytes::Bytes;

/// What is said where nobody works out what a cut leaves.
const UNKNOWN: &str = "of an array that has lost a drive it is not known here what a cut leaves; replace the drive and wait until it is \
     rebuilt";

/// Bytes, and what a cut makes of them.
pub struct DiskContent {
    bytes: Bytes,
    /// Drives of an array that are lost, or are not rebuilt and flushed yet.
    gone: BTreeSet<u32>,
    /// Of these, the rebuilt ones.
    whole: BTreeSet<u32>,
    remains: Option<ArrayHistory>,
}

impl DiskContent {
    /// Of a disk that has done nothing yet.
    pub fn new(bytes: Bytes) -> DiskContent {
        DiskContent { bytes, gone: BTreeSet::new(), whole: BTreeSet::new(), remains: None }
    }

    /// Of an array that begins without these drives, a bit each.
    pub fn without(mut self, lost: u64) -> DiskContent {
        self.gone = (0..u64::BITS).filter(|member| lost >> member & 1 == 1).collect();
        self
    }

    /// Of this stack: where it has an array that survives the loss of a drive, what passes is kept, for what a cut leaves then. Said after
    /// [`DiskContent::without`].
    pub fn judged(mut self, stack: &Stack) -> DiskContent {
        if served::may_lack(stack) {
            let lost = self.gone.iter().fold(0, |lost, member| lost | 1 << member);
            self.remains = Some(ArrayHistory::new(stack, lost));
            self.bytes.keep_former(true);
        }
        self
    }

    /// Within so many bytes of memory, of which what is kept for cuts has a quarter at most. Said after [`DiskContent::judged`].
    pub fn within(mut self, bytes: u64) -> DiskContent {
        if let Some(remains) = &mut self.remains {
            remains.within(bytes / 4);
        }
        self
    }

    /// Bytes of memory that it takes, with what the writes under way will.
    pub fn held(&self) -> u64 {
        self.bytes.held() + self.kept().unwrap_or(0)
    }

    /// What a write of so many bytes at `lba` adds to that at most; of zeroes nothing is to be kept.
    pub fn cost_of(&self, lba: u64, bytes: u64) -> u64 {
        self.bytes.cost_of(lba, bytes) + self.kept().map_or(0, |_| bytes)
    }

    /// The same, less what lies there already.
    pub fn exact_cost_of(&self, lba: u64, bytes: u64) -> u64 {
        self.bytes.exact_cost_of(lba, bytes) + self.kept().map_or(0, |_| bytes)
    }

    /// The bytes, as a read finds them.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Drives that are lost, or are not rebuilt and flushed yet.
    pub fn gone(&self) -> &BTreeSet<u32> {
        &self.gone
    }

    /// Bytes of what passed that are kept for cuts; nothing where none are.
    pub fn kept(&self) -> Option<u64> {
        self.remains.as_ref().map(ArrayHistory::size)
    }

    /// The disk took a request, of a write with these data.
    pub fn taken(&mut self, now: Instant, request: &Request, data: Option<WriteData>) {
        if let Some(remains) = &mut self.remains {
            remains.taken(now, request, data.as_ref());
        }
        if let Some(data) = data {
            self.bytes.accept(request, data);
        }
        self.forget_former();
    }

    /// Something became of what was written, or of drives. All of an instant come at once.
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
        // What a lost drive had not written yet the others have.
        let counts = |it: &&Landing| it.kind == LandingKind::Landed || !self.gone.contains(&it.member);
        landings.iter().filter(counts).try_for_each(|landing| self.bytes.land(landing))
    }

    /// A request is over, when `last` was the last stamp given.
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

    /// A setting was changed; the landings of that instant have been told.
    pub fn changed(&mut self, now: Instant, key: &str, value: &str) {
        if let Some(remains) = &mut self.remains {
            remains.changed(now, key, value);
        }
    }

    /// A flush of this stamp is over. Of an array without a drive no landings tell what it covers; one that was rebuilt is as
    /// others are from its first flush on.
    pub fn settle(&mut self, flush: u64) -> io::Result<()> {
        if self.gone.is_empty() {
            return Ok(());
        }
        for member in std::mem::take(&mut self.whole) {
            self.gone.remove(&member);
        }
        self.bytes.settle(flush)
    }

    /// Too much was written: what the platters held is of no use without the history.
    fn forget_former(&mut self) {
        if self.bytes.keeps_former() && !self.remains.as_ref().is_some_and(ArrayHistory::is_kept) {
            self.bytes.keep_former(false);
        }
    }

    /// Why it is not known what a cut leaves; nothing where it is.
    pub fn refusal(&self) -> Option<&str> {
        match &self.remains {
            _ if self.gone.is_empty() => None,
            None => Some(UNKNOWN),
            Some(remains) => remains.refusal(),
        }
    }

    /// The power failed at `at`, and all was told of what that made of the writes under way.
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
