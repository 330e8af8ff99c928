//! The stripe cache of a volume with parity, as Linux md has it: pages of the members in memory, and the order in which
//! they are worked on. A *stripe* has the page of 4 KiB at the same place of each member. Reads and writes are added to
//! stripes page by page; so writes that come one after another gather in a stripe until it is worked on.
//!
//! This module has only the stripes and their lists: `stripe_work` adds requests and makes the commands, `parity` says
//! what a write reads first. Source: Linux 6.1, `drivers/md/raid5.c`.
//!
//! | here | in Linux |
//! |---|---|
//! | a page that is *current* | `R5_UPTODATE` |
//! | a stripe is worked on only while none of its pages is on its way: what comes meanwhile gathers | `sh->count`, `do_release_stripe` |
//! | *ready*: to be worked on now | `handle_list` |
//! | *delayed*: a write that nobody waits for would read first, and others read already | `STRIPE_DELAYED`, `delayed_list` |
//! | *held*: was delayed, and goes on as soon as nothing is ready and no whole row is being written | `hold_list`, `__get_priority_stripe` |
//! | *prereads*: may read before it writes | `STRIPE_PREREAD_ACTIVE` |
//! | the cache is *short* until a quarter of the stripes is free | `R5_INACTIVE_BLOCKED`, `raid5_get_active_stripe` |
//!
//! The cache grows by a stripe each time that it becomes short (`R5_ALLOC_MORE`). Not modelled: that the kernel takes
//! stripes back when memory is short, the processor time of `raid5d` beyond what a processor layer charges, and a journal
//! on another device.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::layout::MemberSet;
use crate::recency::LruList;

/// Sectors in a page (`RAID5_STRIPE_SIZE`, 4 KiB by default).
pub(super) const PAGE: u64 = 8;

/// As [`PAGE`], for sectors counted in a page.
pub(super) const PAGE_END: u8 = PAGE as u8;

/// How often ready stripes may pass the first held one before it is served (`BYPASS_THRESHOLD`).
const BYPASS_THRESHOLD: u32 = 1;

/// A request's access to sectors of one page of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageAccess {
    pub portion: u32,
    pub member: u32,
    /// Sectors of the page, without the end.
    pub from: u8,
    pub end: u8,
}

/// The list on which a stripe waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StripeList {
    None,
    Ready,
    Delayed,
    Held,
}

/// A stripe.
#[derive(Clone, Debug)]
pub(super) struct Stripe {
    pub volume: u8,
    /// The page's number on each member, from the volume's first sector.
    pub page: u64,
    /// Members whose page is in memory as it is, or will be, on the member.
    pub current: MemberSet,
    /// Members with a read or a write of the page under way.
    pub reading: MemberSet,
    pub writing: MemberSet,
    /// Members on which a read of the page failed.
    pub avoided: MemberSet,
    /// Reads not yet served.
    pub reads: Vec<PageAccess>,
    /// Writes not yet begun.
    pub writes: Vec<PageAccess>,
    /// Writes on their way to the members.
    pub under_way: Vec<PageAccess>,
    prereads: bool,
    writes_whole_row: bool,
    list: StripeList,
}

impl Stripe {
    fn blank() -> Stripe {
        Stripe {
            volume: 0,
            page: u64::MAX,
            current: 0,
            reading: 0,
            writing: 0,
            avoided: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            under_way: Vec::new(),
            prereads: false,
            writes_whole_row: false,
            list: StripeList::None,
        }
    }

    /// True if a page of it is read or written at present.
    pub fn has_pages_on_the_way(&self) -> bool {
        self.reading | self.writing != 0
    }

    /// True if it has nothing to do and nothing under way.
    fn is_idle(&self) -> bool {
        !self.has_pages_on_the_way()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.under_way.is_empty()
            && self.list == StripeList::None
    }

    /// True if `other` can be written together with the writes that wait: it touches no sector of theirs, and follows those to
    /// its page without a gap.
    pub fn can_gather(&self, other: &PageAccess) -> bool {
        let mut of_page = self.writes.iter().filter(|write| write.member == other.member);
        let adjoins = |write: &PageAccess| write.end == other.from || other.end == write.from;
        let overlaps = |write: &PageAccess| write.from < other.end && other.from < write.end;
        of_page.clone().next().is_none() || (of_page.clone().any(adjoins) && !of_page.any(overlaps))
    }

    /// The sectors of the page of `member` that the writes under way cover.
    pub fn written_sectors(&self, member: u32) -> Option<(u8, u8)> {
        let of_page = self.under_way.iter().filter(|write| write.member == member);
        of_page.map(|write| (write.from, write.end)).reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// The members to which writes wait, and those of them whose pages they cover wholly.
    pub fn written_members(&self) -> (MemberSet, MemberSet) {
        let touched = self.writes.iter().fold(0, |set, write| set | 1 << write.member);
        let covers = |member: u32| {
            let of_member = self.writes.iter().filter(|write| write.member == member);
            of_member.map(|write| u64::from(write.end - write.from)).sum::<u64>() == PAGE
        };
        let whole = (0..u64::BITS).filter(|&member| touched >> member & 1 == 1 && covers(member));
        (touched, whole.fold(0, |set, member| set | 1 << member))
    }
}

/// All stripes.
#[derive(Clone)]
pub(super) struct StripeCache {
    stripes: Vec<Stripe>,
    /// By volume and page.
    by_place: BTreeMap<(u8, u64), u32>,
    /// Stripes without work; the oldest is reused first.
    inactive: LruList,
    active: usize,
    is_short: bool,
    ready: VecDeque<u32>,
    delayed: VecDeque<u32>,
    held: VecDeque<u32>,
    /// Stripes that may read before they write.
    prereading: u32,
    /// Stripes whose whole row is being written.
    whole_rows: u32,
    /// How often ready stripes passed the first held one, `last_held`.
    bypassed: u32,
    last_held: Option<u32>,
}

impl StripeCache {
    /// A cache of `stripes` stripes, which is as many pages of each member.
    pub fn new(stripes: u32) -> StripeCache {
        StripeCache {
            stripes: (0..stripes).map(|_| Stripe::blank()).collect(),
            by_place: BTreeMap::new(),
            inactive: LruList::new(stripes as usize),
            active: 0,
            is_short: false,
            ready: VecDeque::new(),
            delayed: VecDeque::new(),
            held: VecDeque::new(),
            prereading: 0,
            whole_rows: 0,
            bypassed: 0,
            last_held: None,
        }
    }

    pub fn stripe(&self, index: u32) -> &Stripe {
        &self.stripes[index as usize]
    }

    pub fn stripe_mut(&mut self, index: u32) -> &mut Stripe {
        &mut self.stripes[index as usize]
    }

    /// The stripe of a page, if it is in the cache.
    pub fn find(&self, volume: u8, page: u64) -> Option<u32> {
        self.by_place.get(&(volume, page)).copied()
    }

    /// The first stripe of `pages` of a volume that is in the cache.
    pub fn find_first(&self, volume: u8, pages: core::ops::Range<u64>) -> Option<u32> {
        self.by_place.range((volume, pages.start)..(volume, pages.end)).next().map(|(_, &index)| index)
    }

    /// All stripes with work.
    pub fn busy_stripes(&self) -> impl Iterator<Item = u32> {
        (0..self.stripes.len() as u32).filter(|&index| !self.stripe(index).is_idle())
    }

    /// The stripe of a page, taken into the cache if it is not there. `None` if no stripe is free.
    pub fn find_or_claim(&mut self, volume: u8, page: u64) -> Option<u32> {
        if let Some(index) = self.find(volume, page) {
            self.activate(index);
            return Some(index);
        }
        if self.is_short && 4 * self.active >= 3 * self.stripes.len() {
            return None;
        }
        let oldest = self.inactive.oldest();
        if oldest.is_none() && !self.is_short {
            self.stripes.push(Stripe::blank());
            self.inactive.push_newest();
        }
        self.is_short = oldest.is_none();
        let index = oldest? as u32;
        self.by_place.remove(&(self.stripe(index).volume, self.stripe(index).page));
        self.by_place.insert((volume, page), index);
        let stripe = self.stripe_mut(index);
        (stripe.volume, stripe.page, stripe.current, stripe.avoided) = (volume, page, 0, 0);
        self.activate(index);
        Some(index)
    }

    fn activate(&mut self, index: u32) {
        if !self.inactive.is_retired(index as usize) {
            self.inactive.retire(index as usize);
            self.active += 1;
        }
    }

    /// Puts a stripe on the list of those to be worked on, unless it is on a list already or waits for its pages.
    pub fn make_ready(&mut self, index: u32) {
        if self.stripe(index).list == StripeList::None && !self.stripe(index).has_pages_on_the_way() {
            self.stripe_mut(index).list = StripeList::Ready;
            self.ready.push_back(index);
        }
    }

    /// Puts a stripe to which something was added on the list of those to be worked on, also if it was delayed or held: it
    /// may be a whole row now. `at_once`: it may read before it writes.
    pub fn make_ready_again(&mut self, index: u32, at_once: bool) {
        let stripe = &mut self.stripes[index as usize];
        if at_once && !stripe.prereads {
            stripe.prereads = true;
            self.prereading += 1;
        }
        let list = match stripe.list {
            StripeList::Ready => return,
            StripeList::Delayed => &mut self.delayed,
            StripeList::Held => &mut self.held,
            StripeList::None => return self.make_ready(index),
        };
        list.retain(|&other| other != index);
        stripe.list = StripeList::None;
        self.make_ready(index);
    }

    /// True if the stripe may read before it writes. If not, the stripe is delayed.
    pub fn may_preread(&mut self, index: u32) -> bool {
        let stripe = &mut self.stripes[index as usize];
        if !stripe.prereads && stripe.list == StripeList::None {
            stripe.list = StripeList::Delayed;
            self.delayed.push_back(index);
        }
        stripe.prereads
    }

    /// Notes that a stripe's writes go out; `whole_row`: all of the row.
    pub fn begin_writes(&mut self, index: u32, whole_row: bool) {
        let stripe = &mut self.stripes[index as usize];
        if core::mem::take(&mut stripe.prereads) {
            self.prereading -= 1;
        }
        stripe.writes_whole_row = whole_row;
        self.whole_rows += u32::from(whole_row);
    }

    /// Notes that a stripe's writes have arrived.
    pub fn end_writes(&mut self, index: u32) {
        if core::mem::take(&mut self.stripe_mut(index).writes_whole_row) {
            self.whole_rows -= 1;
        }
    }

    /// The next stripe to work on, taken off its list.
    pub fn take_next(&mut self) -> Option<u32> {
        if self.prereading == 0 {
            while let Some(index) = self.delayed.pop_front() {
                let stripe = &mut self.stripes[index as usize];
                (stripe.prereads, stripe.list) = (true, StripeList::Held);
                self.prereading += 1;
                self.held.push_back(index);
            }
        }
        let first_held = self.held.front().copied();
        let next = match self.ready.pop_front() {
            Some(index) => {
                self.count_bypass(index, first_held);
                Some(index)
            }
            None if self.whole_rows == 0 || self.bypassed > BYPASS_THRESHOLD => {
                self.bypassed = self.bypassed.saturating_sub(u32::from(first_held.is_some()) * BYPASS_THRESHOLD);
                self.held.pop_front()
            }
            None => None,
        };
        next.inspect(|&index| self.stripe_mut(index).list = StripeList::None)
    }

    /// Counts that a ready stripe goes before the first held one, unless its reads or writes have begun.
    fn count_bypass(&mut self, index: u32, first_held: Option<u32>) {
        let stripe = self.stripe(index);
        if first_held.is_none() {
            self.bypassed = 0;
        } else if stripe.reading | stripe.writing == 0 {
            match first_held == self.last_held {
                true => self.bypassed += 1,
                false => self.bypassed = self.bypassed.saturating_sub(BYPASS_THRESHOLD),
            }
            self.last_held = first_held;
        }
    }

    /// Makes a stripe without work free for others. It keeps its pages until then.
    pub fn release_if_idle(&mut self, index: u32) {
        if self.stripe(index).is_idle() && self.inactive.is_retired(index as usize) {
            let stripe = &mut self.stripes[index as usize];
            if core::mem::take(&mut stripe.prereads) {
                self.prereading -= 1;
            }
            self.inactive.touch(index as usize);
            self.active -= 1;
        }
    }

    /// Forgets all pages and all work, as when the host has lost its power.
    pub fn forget_all(&mut self) {
        *self = StripeCache::new(self.stripes.len() as u32);
    }
}
