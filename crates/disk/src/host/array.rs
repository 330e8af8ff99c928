//! An array of drives: striped, mirrored, with parity, or several volumes over one set of drives. As in
//! operating systems, it is software above the controllers (md, the drivers of chip sets' RAID). Time that a
//! request waits in the array is *driver* time; the members' commands count as the request's effort.
//!
//! The array owns one device whose units 0, 1, … are its members. Unit 0 of the array holds the volumes one after
//! another, like partitions. Requests are split into *portions*, and portions into commands of the members. Chunks that
//! are contiguous on a member go down as one command.
//!
//! | file | what it holds |
//! |---|---|
//! | [`layout`] | the mapping of blocks to members |
//! | `portions` | portions, commands, and the locks on ranges of the members |
//! | `split` | from requests to portions to commands |
//! | `stripe_cache`, `stripe_work` | pages of rows with parity in memory, in which writes gather; work on them |
//! | `parity` | what a write to a stripe reads first |
//! | `balance` | which copy of a mirror is read |
//! | `rebuild` | lost members and new ones; what begins a rebuild or a check |
//! | `sync`, `progress` | the work of a rebuild or a check, and how far it is |
//! | `sync_pace` | how fast it goes, and when it waits for users |
//! | `bitmap` | the write-intent bitmap: which regions have writes under way |
//! | `intent` | what waits for the bitmap, and its pages on their way to the members |
//! | `numbering` | the order in which writes are accepted; landings of the members in blocks of the volumes |
//! | `member_load` | what each member did, by purpose, and when it was busy |
//!
//! The parts of a response are those of the command that ended last (and, if a write reads first, of the read that
//! ended last before it); the time between is *driver*. Stripes serve several requests: `stripe_work` says what each is
//! booked. A flush goes to all members. The data of a read that fails are
//! taken from a copy or reconstructed from the other members; the array does not rewrite the bad sectors.
//!
//! A member that loses its power while the array keeps it counts as lost. A volume that has lost too many members answers
//! every request with an error, even after a new drive has come. From then on every flush fails too, because it covers
//! what that volume had acknowledged.
//!
//! The processor's work for parity is counted ([`Effort`](crate::record::Effort)), except that of a rebuild or a check,
//! which belongs to no request. Two lost data chunks of a row cost as much as one, though solving for two takes about twice
//! the time.
//!
//! Not modelled: a journal of rows under way, and a resync after a power cut. Data and parity stay as a cut leaves them
//! (the *write hole*; `testing::parity` judges it), and regions that a write-intent bitmap has as dirty stay dirty.

mod balance;
mod bitmap;
mod group_order;
mod intent;
pub mod layout;
mod member_load;
mod numbering;
mod parity;
mod portions;
mod progress;
mod rebuild;
mod split;
mod stripe_cache;
mod stripe_work;
mod sync;
mod sync_pace;

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;

pub use self::bitmap::{BitmapCounts, BitmapSpec};
use self::bitmap::{BitmapLayout, WriteIntentBitmap};
use self::group_order::GroupOrder;
use self::intent::IntentQueue;
use self::layout::{ArrayVolume, MemberSet, VolumeShare, lay_out_volumes};
use self::numbering::Numbering;
pub use self::parity::ParityWrite;
use self::portions::{MemberCommand, NONE, Portion, PortionKind, RangeLocks, STRIPES, SectorBounds};
use self::progress::Sync;
pub use self::progress::{SyncKind, SyncProgress};
use self::stripe_cache::{PAGE, StripeCache};
use self::stripe_work::PageCommand;
pub use self::sync_pace::{BesideUsers, SyncPieces, SyncPolicy, SyncSpeed};
use self::sync_pace::{JOURNAL, MemberLoad, UserPresence};
use super::layer::{self, HostLayer, LayeredDevice, NextTurn};
use crate::block::array_load::{ArrayLoad, MemberWork};
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, Limits, Op, Request, SECTOR, Status,
};
use crate::queue::{Discipline, NoCosts, Queue};
use crate::record::{DriveLog, Part, SyncCounts};
use crate::slab::Slab;
use crate::time::{Instant, Span};

/// Which copy of a mirror to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadBalance {
    /// As md does for rotating drives (`read_balance` in Linux 6.1's `drivers/md/raid1.c` and `raid10.c`). RAID 1: the member at
    /// which the read goes on where the last one or the last completed command ended; else the first idle member; else the one
    /// whose last completed command ended nearest. So a sequential reader stays on one member. RAID 10, for each chunk: the
    /// first idle member, else the nearest.
    ///
    /// md also reads only the first member while an array is resynchronised after a crash, which is not modelled.
    Nearest,
    /// An idle member, else any; among these the member whose last queued command ends nearest, and of equals the first. For
    /// arrays whose rule is unknown: a sequential reader has all members.
    Idle,
    RoundRobin,
    First,
}

/// The description of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArraySpec {
    /// How many drives, at most 32.
    pub members: u32,
    /// The volumes, one after another.
    pub shares: Vec<VolumeShare>,
    /// In sectors.
    pub chunk: u32,
    /// How many requests it accepts at once.
    pub depth: u32,
    /// The order of waiting commands at each member; positions are LBAs of the member.
    pub queue: Discipline,
    /// Which copy to read.
    pub balance: ReadBalance,
    /// How parity is updated.
    pub parity: ParityWrite,
    /// Pages of 4 KiB of each member that the stripe cache of volumes with parity holds at first.
    pub stripe_cache: u32,
    /// How fast a rebuild or a check may go.
    pub sync_speed: SyncSpeed,
    /// How it divides its work, and treats users.
    pub sync_policy: SyncPolicy,
    /// Members lost from the start.
    pub lost: MemberSet,
    /// A write-intent bitmap, on an array of one volume with redundancy.
    pub bitmap: Option<BitmapSpec>,
}

impl ArraySpec {
    /// The volumes on members of `member_sectors` sectors, in the order of their blocks.
    pub fn volumes(&self, member_sectors: u64) -> Vec<ArrayVolume> {
        let first = self.files_journal(member_sectors).end;
        lay_out_volumes(&self.shares, self.members, first..member_sectors, u64::from(self.chunk))
    }

    /// The sectors before the volumes in which a rebuild that writes files records their names; none for any other.
    fn files_journal(&self, member_sectors: u64) -> SectorBounds {
        let from = self.bitmap_layout(member_sectors).map_or(0, |layout| layout.reserved);
        let sectors = if self.sync_policy.writes_files() { JOURNAL } else { 0 };
        SectorBounds { from, end: from + sectors }
    }

    /// The layout of the write-intent bitmap, if there is one, on members of `member_sectors` sectors.
    fn bitmap_layout(&self, member_sectors: u64) -> Option<BitmapLayout> {
        self.bitmap.map(|spec| bitmap::lay_out_bitmap(&spec, self.shares[0].level, self.members, member_sectors))
    }

    /// The promises that it breaks on members of `member_sectors` sectors. A row with parity that lacks a drive cannot be
    /// written in one step; if a cut interrupts the write, the lost drive's data of that row cannot be reconstructed
    /// (the write hole).
    pub(crate) fn broken_promises(&self, member_sectors: u64) -> Vec<BrokenPromise> {
        let has_parity = self.volumes(member_sectors).iter().any(|volume| volume.parities() > 0);
        let lost = (0..u64::BITS).filter(|member| self.lost >> member & 1 == 1).map(|member| member.to_string());
        let broken: &[Assurance] = if self.lost != 0 && has_parity { &[Assurance::Rows] } else { &[] };
        BrokenPromise::for_setting("lose", &lost.collect::<Vec<_>>().join(","), broken)
    }
}

/// The time until the array answers with an error without asking a drive. Inferred: some system calls of a microsecond
/// each. With a time of zero, a program that retries would let no time pass.
const REFUSAL: Span = Span::from_micros(10);

/// The array's view of a member.
#[derive(Clone)]
struct ArrayMember {
    /// Waiting commands, by tag.
    waiting: Queue<u32>,
    /// Commands sent and not yet returned.
    in_flight: u32,
    depth: u32,
    /// The sector after the last read or write that completed (md's `head_position`).
    completed_end: u64,
    /// The sector after the last read that was directed to it (md's `next_seq_sect`); none before the first.
    next_sequential: Option<u64>,
    /// The sector after the last command that was queued.
    queued_end: u64,
    /// The sector after the last command that was sent.
    sent_end: u64,
    /// With commands in flight: since when without a gap.
    busy_since: Instant,
    load: MemberLoad,
}

/// An array of drives.
#[derive(Clone)]
pub struct Array {
    spec: ArraySpec,
    limits: Limits,
    volumes: Vec<ArrayVolume>,
    members: Vec<ArrayMember>,
    /// Members that may have a command to send, and room for it: one bit each.
    members_to_serve: u32,
    portions: Slab<Portion>,
    numbering: Numbering,
    /// By tag.
    commands: Slab<MemberCommand>,
    locks: RangeLocks,
    /// Portions of lost volumes, by when they fail.
    refusals: VecDeque<(Instant, u32)>,
    /// Members lost or not yet rebuilt.
    missing_members: MemberSet,
    /// Volumes that have lost too many members, one bit each.
    lost_volumes: u64,
    powered: bool,
    /// When the power last returned.
    powered_since: Option<Instant>,
    /// The rebuild or check under way.
    sync: Option<Sync>,
    progress: SyncProgress,
    sync_counts: SyncCounts,
    users: UserPresence,
    bitmap: Option<WriteIntentBitmap>,
    intents: IntentQueue,
    stripes: StripeCache,
    /// When the thread that works on stripes begins; `FAR` if it sleeps.
    stripe_turn: Instant,
    /// Portions that wait to be added to stripes, in order; the first may be added in part.
    stripe_queue: VecDeque<u32>,
    /// Pages that stripes read or write, and that are not commands yet.
    page_commands: Vec<PageCommand>,
    /// The power was cut, not switched off.
    was_cut: bool,
    /// Counts mirrored reads, for [`ReadBalance::RoundRobin`].
    balanced_reads: u32,
    /// By member: contiguous chunks that will be one command, while a portion is split.
    growing_pieces: Vec<Option<SectorBounds>>,
    /// Sectors in a physical sector.
    physical: u64,
    /// Where a rebuild that writes files records their names.
    journal: SectorBounds,
    /// Counts of commands and requests that have ended.
    load: ArrayLoad,
}

/// The array's own data on a request from above.
#[derive(Clone, Copy, Default)]
pub struct ArrayNote {
    unfinished_portions: u32,
}

/// The limits within which both of two members work.
fn weakest_limits(one: Limits, other: Limits) -> Limits {
    Limits {
        sectors: one.sectors.min(other.sectors),
        physical: one.physical.max(other.physical),
        max_transfer: one.max_transfer.min(other.max_transfer),
        ..one
    }
}

type ArrayContext = layer::HostLayerContext<Array>;

impl Array {
    /// An array over the units of `below`. Panics when the specification has more members than the level allows, or a
    /// chunk that is not whole physical sectors.
    pub fn build_above(spec: ArraySpec, below: Box<dyn Device>) -> LayeredDevice<Array> {
        let count = spec.members;
        assert!((1..=32).contains(&count), "{count} members");
        let limits = (1..count).map(|unit| below.limits(unit as u8)).fold(below.limits(0), weakest_limits);
        let physical = u64::from(limits.physical) / SECTOR;
        assert!(spec.chunk > 0 && u64::from(spec.chunk).is_multiple_of(physical), "a chunk of {}", spec.chunk);
        let volumes = spec.volumes(limits.sectors);
        let journal = spec.files_journal(limits.sectors);
        let has_parity = volumes.iter().any(|volume| volume.parities() > 0);
        assert!(!has_parity || u64::from(spec.chunk).is_multiple_of(PAGE), "a chunk of {} with parity", spec.chunk);
        let bitmap = spec.bitmap.zip(spec.bitmap_layout(limits.sectors)).map(|(bitmap, layout)| {
            assert!(volumes.len() == 1 && volumes[0].copies() + volumes[0].parities() > 1, "a bitmap of {volumes:?}");
            WriteIntentBitmap::new(&bitmap, layout.chunk, volumes[0], limits.logical)
        });
        let member = |unit| ArrayMember {
            waiting: Queue::new(spec.queue, spec.depth as usize),
            in_flight: 0,
            depth: below.limits(unit as u8).depth,
            completed_end: 0,
            next_sequential: None,
            queued_end: 0,
            sent_end: 0,
            busy_since: Instant::ZERO,
            load: MemberLoad::default(),
        };
        let (depth, lost) = (spec.depth, spec.lost);
        let array = Array {
            members: (0..count).map(member).collect(),
            limits,
            volumes,
            members_to_serve: 0,
            portions: Slab::with_capacity(0),
            numbering: Numbering::default(),
            commands: Slab::with_capacity(0),
            locks: RangeLocks::default(),
            refusals: VecDeque::new(),
            missing_members: 0,
            lost_volumes: 0,
            powered: true,
            powered_since: None,
            sync: None,
            progress: SyncProgress::default(),
            sync_counts: SyncCounts::default(),
            users: UserPresence::default(),
            bitmap,
            intents: IntentQueue::new(count),
            stripes: StripeCache::new(if has_parity { spec.stripe_cache } else { 0 }),
            stripe_turn: Instant::FAR,
            stripe_queue: VecDeque::new(),
            page_commands: Vec::new(),
            was_cut: false,
            balanced_reads: 0,
            growing_pieces: alloc::vec![None; count as usize],
            physical,
            journal,
            load: member_load::no_load(count),
            spec,
        };
        let mut array = LayeredDevice::new(array, depth, below);
        for member in (0..count).filter(|member| lost >> member & 1 == 1) {
            let (array, context) = array.layer_and_context_mut();
            array.lose_member(context, Instant::ZERO, member).expect("a device that can switch its units off");
        }
        array
    }

    /// The volumes, in the order of their blocks.
    pub fn volumes(&self) -> &[ArrayVolume] {
        &self.volumes
    }

    /// Members that hold all of these sectors of `volume`.
    fn members_with(&self, volume: &ArrayVolume, sectors: SectorBounds) -> MemberSet {
        let Some(sync) = self.sync.as_ref().filter(|sync| sync.rebuilt != 0) else { return !self.missing_members };
        let (order, done_until) = (self.sync_order(volume), sync.done_until());
        let is_done = |from: u64| order.position(order.part_end(from, sectors) - 1) < done_until;
        let rebuilt = if order.parts(sectors).all(is_done) { sync.rebuilt } else { 0 };
        !self.missing_members | rebuilt
    }

    /// Members that receive a write to these sectors of `volume`: the new drive too if some of them were begun to be rebuilt.
    fn members_to_write(&self, volume: &ArrayVolume, sectors: SectorBounds) -> MemberSet {
        let Some(sync) = self.sync.as_ref().filter(|sync| sync.rebuilt != 0) else { return !self.missing_members };
        let order = self.sync_order(volume);
        let is_begun = |from: u64| order.position(from) < sync.next_position;
        let rebuilt = if order.parts(sectors).any(is_begun) { sync.rebuilt } else { 0 };
        !self.missing_members | rebuilt
    }

    /// The order in which a sync takes the sectors of `volume`.
    fn sync_order(&self, volume: &ArrayVolume) -> GroupOrder {
        GroupOrder::new(volume, self.spec.sync_policy.group_sectors())
    }

    /// True if the member is lost and not yet replaced.
    fn is_member_gone(&self, member: u32) -> bool {
        (self.missing_members & !self.rebuilt_members()) >> member & 1 == 1
    }

    /// Forgets the numbers of writes that can no longer land, once there are many.
    fn forget_settled_writes(&mut self, context: &ArrayContext) {
        if self.numbering.is_scan_due() {
            let mut unsettled: BTreeSet<u64> = (0..self.portions.places_ever_used())
                .map(|portion| &self.portions[portion])
                .filter(|portion| portion.in_use)
                .map(|portion| portion.write_number)
                .collect();
            let commands = (0..self.commands.places_ever_used()).map(|tag| &self.commands[tag]);
            unsettled.extend(commands.filter(|command| command.portion == STRIPES).map(|command| command.stamp));
            context.report_unsettled_below(&mut |number| unsettled.extend([number]));
            self.numbering.keep_unsettled(&unsettled);
        }
    }

    /// Fails the portions of lost volumes whose time has come.
    fn fail_due_refusals(&mut self, context: &mut ArrayContext, now: Instant) {
        while let Some(&(_, portion_index)) = self.refusals.front().filter(|(at, _)| *at <= now) {
            self.refusals.pop_front();
            self.fail_portion(portion_index);
            self.finish_dispatch(context, now, portion_index);
        }
    }

    /// Sends waiting commands to members that have room for them. True if it sent any.
    fn send_waiting_commands(&mut self, context: &mut ArrayContext, now: Instant) -> bool {
        let mut sent = false;
        while self.members_to_serve != 0 {
            let index = self.members_to_serve.trailing_zeros();
            self.members_to_serve &= self.members_to_serve - 1;
            let member = &mut self.members[index as usize];
            while member.in_flight < member.depth && !member.waiting.is_empty() {
                let choice = member.waiting.choose(now, member.sent_end, &NoCosts).expect("one waits");
                let tag = member.waiting.take(choice);
                let command = &mut self.commands[tag];
                command.sent = true;
                member.note_sent(now);
                member.sent_end = command.lba + u64::from(command.sectors);
                sent = true;
                let MemberCommand { portion, op, lba, sectors, stamp, flags, .. } = *command;
                if portion == STRIPES {
                    let request = Request { tag, unit: index as u8, op, flags, lba, sectors, stamp, ..Request::NONE };
                    context.submit_below(now, request);
                    continue;
                }
                let request = match self.portions[portion].request_slot {
                    NONE => Request::NONE,
                    slot => context.slots[slot].request,
                };
                debug_assert!(
                    intent::is_covered_by_bitmap(self.bitmap.as_ref(), &self.portions[portion], op),
                    "data before their bit of the bitmap"
                );
                let has_fua = self.intents.fua_members >> index & 1 == 1;
                // A read on behalf of a write is an ordinary read.
                let flags = match self.portions[portion].kind {
                    PortionKind::BitmapPages if op == Op::Write && has_fua => Flags::FUA,
                    _ if op == request.op => request.flags.without(Flags::BACKGROUND),
                    _ => Flags::NONE,
                };
                let request = Request { tag, unit: index as u8, op, flags, lba, sectors, stamp, ..request };
                context.submit_below(now, request);
            }
        }
        sent
    }

    /// Applies the status with which a command ended to its portion; a lost member's commands end with a medium error. A
    /// plain read that failed is read elsewhere.
    fn apply_command_status(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        command: &MemberCommand,
        status: Status,
    ) {
        let portion = &mut self.portions[command.portion];
        let volume_survives = self.lost_volumes >> portion.volume & 1 == 0;
        match (status, command.op, portion.kind) {
            (Status::Done, ..) => {}
            (Status::MediumError, Op::Read, PortionKind::Plain) => self.read_elsewhere(context, now, command),
            (Status::MediumError, Op::Read, kind) if kind != PortionKind::CheckRun => {
                portion.avoided_members |= 1 << command.member;
                portion.must_restart = true;
            }
            // Lost with its member; the other members hold the data or can reconstruct them.
            (Status::MediumError, Op::Write, PortionKind::Plain) if volume_survives => {}
            (Status::MediumError, Op::Flush, PortionKind::Flush) if self.lost_volumes == 0 => {}
            // The other members have the bitmap.
            (Status::MediumError, _, PortionKind::BitmapPages) => {}
            _ if portion.status == Status::Done => portion.status = status,
            _ => {}
        }
    }

    /// Continues a portion whose commands have all returned: restarts it, lets it write, or ends it.
    fn advance_portion(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        let portion = &mut self.portions[portion_index];
        if portion.status != Status::Done {
            return self.finish_portion(context, now, portion_index);
        }
        if core::mem::take(&mut portion.must_restart) {
            return self.dispatch_portion(context, now, portion_index);
        }
        if portion.kind != PortionKind::RebuildRun || !self.take_rebuild_step(context, now, portion_index) {
            self.finish_portion(context, now, portion_index);
        }
    }

    /// Ends a portion, and its request if it was the last.
    fn finish_portion(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        let mut portion = self.portions[portion_index];
        if portion.kind == PortionKind::Flush && portion.status == Status::Done && self.must_refuse(&portion) {
            // A volume was lost while the portion was under way.
            portion.status = Status::MediumError;
        }
        self.portions[portion_index].in_use = false;
        self.portions.free(portion_index);
        if portion.locked_columns != 0 {
            self.locks.release_lock(portion_index);
        }
        if portion.in_bitmap {
            self.intents.forget_waiting(portion_index);
            if let Some(bitmap) = &mut self.bitmap {
                bitmap.end_write(portion.blocks, portion.locked);
            }
        }
        if portion.kind == PortionKind::BitmapPages {
            return self.end_page_write(portion_index, portion.status);
        }
        if portion.request_slot == NONE {
            return self.finish_sync_portion(context, now, &portion);
        }
        let request = &mut context.slots[portion.request_slot];
        request.note.unfinished_portions -= 1;
        // The account is that of the portion that ends last.
        request.account_mut().ledger = portion.ledger;
        request.keep_first_error(portion.status);
        if request.note.unfinished_portions == 0 {
            let accepted = request.account_mut().ledger.start();
            self.count_answer(accepted, now, &request.request, request.status);
            self.users.end_request();
            context.answer_request(now, portion.request_slot, context.slots[portion.request_slot].status);
        }
    }

    /// Counts `member` as lost. Waiting commands to it end now; commands below return by themselves.
    fn mark_member_lost(&mut self, context: &mut ArrayContext, now: Instant, member: u32) {
        self.missing_members |= 1 << member;
        for (index, volume) in self.volumes.iter().enumerate() {
            self.lost_volumes |= u64::from(!volume.survives_loss(self.missing_members)) << index;
        }
        self.break_off_sync_of(now, member);
        let mut waiting_tags: Vec<u32> = Vec::new();
        self.members[member as usize].waiting.retain(|&tag| {
            waiting_tags.push(tag);
            false
        });
        for tag in waiting_tags {
            let command = self.free_unsent_command(tag);
            if command.portion == STRIPES {
                self.end_page_command(context, now, &command, Status::MediumError, None);
                continue;
            }
            self.apply_command_status(context, now, &command, Status::MediumError);
            self.count_off_unsent_command(context, now, command.portion);
        }
        self.fail_accesses_of_lost_volumes(context, now);
    }

    /// Frees the command `tag`, which has left its queue and was not sent.
    fn free_unsent_command(&mut self, tag: u32) -> MemberCommand {
        let command = self.commands[tag];
        if command.work == MemberWork::Sync {
            self.members[command.member as usize].load.complete(command.sectors, true);
        }
        self.commands[tag].portion = NONE;
        self.commands.free(tag);
        command
    }

    /// Counts off a command of a portion, one that was never sent.
    fn count_off_unsent_command(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        let portion = &mut self.portions[portion_index];
        portion.commands_left -= 1;
        if portion.commands_left == 0 {
            portion.ledger.book_until(Part::Driver, now);
            self.advance_portion(context, now, portion_index);
        }
    }

    /// Ends the portions that `is_chosen` selects: waiting ones at once, others when their commands return.
    fn end_portions_where(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        status: Status,
        is_chosen: impl Fn(&Portion) -> bool,
    ) {
        for index in 0..self.portions.places_ever_used() {
            let portion = &mut self.portions[index];
            if portion.in_use && is_chosen(portion) && portion.status == Status::Done {
                portion.status = status;
            }
        }
        let mut unsent_tags: Vec<u32> = Vec::new();
        let (portions, commands) = (&self.portions, &self.commands);
        for member in &mut self.members {
            member.waiting.retain(|&tag| {
                let command = &commands[tag];
                let stays = !command.has_portion() || !is_chosen(&portions[command.portion]);
                if !stays {
                    unsent_tags.push(tag);
                }
                stays
            });
        }
        for tag in unsent_tags {
            let command = self.free_unsent_command(tag);
            self.count_off_unsent_command(context, now, command.portion);
        }
        self.withdraw_unadded_portions(context, now, &is_chosen);
        let refusals_before = core::mem::take(&mut self.refusals);
        for (at, portion) in refusals_before {
            match is_chosen(&self.portions[portion]) {
                true => self.finish_dispatch(context, now, portion),
                false => self.refusals.push_back((at, portion)),
            }
        }
        for index in 0..self.portions.places_ever_used() {
            let portion = &mut self.portions[index];
            if portion.in_use && !portion.begun && is_chosen(portion) {
                portion.ledger.book_until(Part::Driver, now);
                self.finish_portion(context, now, index);
            }
        }
    }
}

impl HostLayer for Array {
    type Note = ArrayNote;
    const PART: Part = Part::Driver;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        let sectors = self.volumes.iter().map(ArrayVolume::capacity).sum();
        let volatile_cache = below.volatile_cache;
        // Both volumes of a pair of drives are one unit, and it states one length.
        let optimal_transfer = self.volumes.iter().map(ArrayVolume::optimal_transfer).max().unwrap_or(0);
        let (depth, max_transfer) = (max_in_flight, u32::MAX);
        Limits { sectors, max_transfer, optimal_transfer, depth, volatile_cache, ..self.limits }
    }

    /// The limits of the first member, with the cache of any: one that was switched off is stated until its own dirty data are
    /// written.
    fn limits_below(&self, context: &ArrayContext, unit: u8) -> Limits {
        let caches = (0..self.members.len() as u8).any(|member| context.limits_below(member).volatile_cache);
        Limits { volatile_cache: caches, ..context.limits_below(unit) }
    }

    fn accept_request(&mut self, context: &mut ArrayContext, now: Instant, slot: u32) -> NextTurn {
        self.forget_settled_writes(context);
        // Keeps the count above zero until the request is split.
        context.slots[slot].note.unfinished_portions = 1;
        self.users.begin_request();
        self.split_request(context, now, slot);
        let request = &mut context.slots[slot];
        request.note.unfinished_portions -= 1;
        if request.note.unfinished_portions == 0 {
            let status = request.status;
            self.users.end_request();
            context.answer_request(now, slot, status);
        }
        now
    }

    fn handle_completion(&mut self, context: &mut ArrayContext, completion: &mut Completion) -> NextTurn {
        let (tag, at) = (completion.tag, completion.finished);
        let command = self.commands[tag];
        self.count_returned_command(&command, completion);
        self.members_to_serve |= 1 << command.member;
        let portion = command.has_portion().then(|| &self.portions[command.portion]);
        if let Some(portion) = portion.filter(|portion| portion.request_slot != NONE) {
            let effort = &mut context.slots[portion.request_slot].account_mut().effort;
            effort.add(&completion.effort);
            member_load::count_read_before_write(effort, command.work);
        }
        let mut status = completion.status;
        let is_gone = self.is_member_gone(command.member);
        let goes_on = portion.map_or(command.portion == STRIPES, |portion| portion.status == Status::Done);
        if status == Status::Aborted && goes_on && !is_gone {
            // Aborted with another's error, or by a reset that does not concern it.
            self.commands[tag].sent = false;
            self.members_to_serve |= 1 << command.member;
            self.members[command.member as usize].waiting.push(at, command.lba, tag);
            return at;
        }
        let is_for_sync = command.work == MemberWork::Sync;
        self.members[command.member as usize].load.complete(command.sectors, is_for_sync);
        // An error of a command from before the power returned is no sign of a lost member.
        let was_powered = self.powered && self.powered_since.is_none_or(|since| completion.submitted > since);
        if status == Status::PowerLost && was_powered && !is_gone {
            self.mark_member_lost(context, at, command.member);
            numbering::report_member_event(&mut context.landings, at, command.member, LandingKind::Gone);
        }
        if was_powered && self.is_member_gone(command.member) {
            status = Status::MediumError;
        }
        if command.op != Op::Flush && command.work != MemberWork::Bitmap {
            self.members[command.member as usize].completed_end = command.lba + u64::from(command.sectors);
        }
        self.commands[tag].portion = NONE;
        self.commands.free(tag);
        if !command.has_portion() {
            if command.portion == STRIPES {
                self.end_page_command(context, at, &command, status, Some(completion));
            }
            return at;
        }
        self.apply_command_status(context, at, &command, status);
        if self.portions[command.portion].kind == PortionKind::BitmapPages {
            self.continue_page_write_on(context, at, command.portion, command.member);
        }
        let portion = &mut self.portions[command.portion];
        portion.commands_left -= 1;
        if portion.commands_left == 0 {
            portion.ledger.book_child(Part::Driver, completion);
            self.advance_portion(context, at, command.portion);
        }
        at
    }

    /// Fails refused portions, begins portions that can lock their range and work of a sync and the bitmap, and sends
    /// commands.
    fn run_due_work(&mut self, context: &mut ArrayContext, now: Instant) -> NextTurn {
        self.fail_due_refusals(context, now);
        while let Some(portion) = self.locks.lock_next_waiting(&self.portions) {
            self.dispatch_portion(context, now, portion);
        }
        self.advance_sync(context, now);
        let bitmap_turn = self.advance_bitmap(context, now);
        let stripe_turn = self.work_on_stripes(context, now);
        if self.send_waiting_commands(context, now) || self.locks.was_released {
            return now;
        }
        let refusal = self.refusals.front().map_or(Instant::FAR, |&(at, _)| at);
        refusal.min(self.sync_turn()).min(bitmap_turn).min(stripe_turn)
    }

    fn add_own_counts(&self, log_below: DriveLog) -> DriveLog {
        let bitmap_writes = log_below.bitmap_writes + self.bitmap_counts().pages_written;
        DriveLog { bitmap_writes, syncs: self.sync_counts, ..log_below }
    }

    fn array_load(&self, now: Instant) -> Option<ArrayLoad> {
        Some(self.load_until(now))
    }

    /// The request's portions end when their commands are back.
    fn withdraw_request(&mut self, context: &mut ArrayContext, now: Instant, slot: u32, status: Status) -> bool {
        self.end_portions_where(context, now, status, |portion: &Portion| {
            portion.request_slot == slot && !portion.must_finish()
        });
        false
    }

    fn tags_to_abort(&self, _: &ArrayContext, slot: u32) -> Vec<u32> {
        let is_chosen = |portion: &Portion| portion.request_slot == slot && !portion.must_finish();
        let sent = |command: &MemberCommand| {
            command.has_portion() && command.sent && is_chosen(&self.portions[command.portion])
        };
        (0..self.commands.places_ever_used()).filter(|&tag| sent(&self.commands[tag])).collect()
    }

    /// Translates a member's sectors into blocks of the volumes, and the write's number into its stamp.
    fn report_landing(&mut self, context: &mut ArrayContext, landing: Landing) {
        if let Some(parts) = self.numbering.find_gathered(landing.stamp) {
            numbering::report_gathered(&self.volumes, &landing, parts, |part| context.landings.push_landing(part));
        } else if let Some(stamp) = self.numbering.find_stamp(landing.stamp) {
            numbering::report_in_blocks(&self.volumes, &landing, stamp, |part| context.landings.push_landing(part));
        }
    }

    fn report_unsettled(&self, _: &ArrayContext, report_stamp: &mut dyn FnMut(u64)) {
        self.numbering.kept_stamps().for_each(report_stamp);
    }

    fn change_setting(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        setting: LayerSetting,
    ) -> Option<Result<(), ControlError>> {
        let LayerSetting::Array(setting) = setting else { return None };
        Some(match setting {
            ArraySetting::Lose(member) | ArraySetting::Replace(member) if member >= self.spec.members => {
                Err(ControlError::BadValue)
            }
            ArraySetting::Lose(member) => self.lose_member(context, now, member),
            ArraySetting::Replace(member) => self.replace_member(context, now, member),
            ArraySetting::SkipSync(sector) => self.skip_sync(sector),
            ArraySetting::Check(true) => self.begin_check(now),
            ArraySetting::Check(false) => {
                self.stop_check(now);
                Ok(())
            }
        })
    }

    fn apply_control(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        match control {
            Control::Reset => self.end_portions_where(context, now, Status::Aborted, |portion| !portion.must_finish()),
            Control::PowerCut | Control::PowerOff => {
                self.powered = false;
                // An array that stops with writes under way is as unclean as one that was cut.
                let has_writes = self.bitmap.as_ref().is_some_and(WriteIntentBitmap::has_writes_under_way);
                self.was_cut |= *control == Control::PowerCut || has_writes;
                self.stop_sync_without_power(now);
                if *control == Control::PowerCut {
                    self.end_portions_where(context, now, Status::PowerLost, |_| true);
                    self.lose_stripes(context, now);
                }
            }
            Control::PowerOn => {
                (self.powered, self.powered_since) = (true, Some(now));
                self.reload_bitmap(now);
                if self.stripes.busy_stripes().next().is_none() {
                    self.stripes.forget_all();
                }
                self.restart_rebuild(now);
            }
            Control::Abort(_) | Control::Set(_) => {}
        }
        context.apply_default_control(self, now, control)
    }
}
