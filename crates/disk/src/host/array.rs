//! An array of drives: striped, mirrored, with parity, or several volumes over one set of drives. As in
//! operating systems, it is software above the controllers (md, the drivers of chip sets' RAID). Time that a
//! request waits here is *driver* time; the members' commands count as the request's effort.
//!
//! The array owns one device whose units 0, 1, … are its members. Unit 0 of the array holds the volumes one after
//! another, like partitions. Requests are split by chunk; pieces that are contiguous on a member go down as one command.
//!
//! | file | what it holds |
//! |---|---|
//! | [`layout`] | the mapping of blocks to members |
//! | `parity` | what a write to a row with parity reads and writes |
//! | `portions` | requests, portions, commands, and the row locks |
//! | `split` | from requests to portions to commands |
//! | `rebuild` | lost members, new ones, and the rebuild |
//! | `bitmap` | the write-intent bitmap: which regions have writes under way |
//! | `intent` | what waits for the bitmap, and its pages on their way to the members |
//! | `numbering` | the order in which writes are accepted; landings of the members in blocks of the volumes |
//!
//! The parts of a response are those of the command that ended last (and, if a write reads first, of the read that
//! ended last before it); the time between is *driver*. A flush goes to all members. A read that fails is reconstructed
//! from the other members; the array does not rewrite the bad sectors. A member that loses its power while the array
//! keeps it counts as lost. A volume that has lost too many members answers every request with an error, even after a
//! new drive has come; so does every flush from then on, because it covers what that volume had acknowledged.
//!
//! The processor's work for parity is counted ([`Effort`](crate::record::Effort)), except that of a rebuild, which
//! belongs to no request. Two lost data chunks of a row cost as much as one, though solving for two takes about twice
//! the time.
//!
//! Not modelled: a journal of rows under way, and a resync after a power cut. Data and parity stay as a cut leaves them
//! (the *write hole*; `testing::parity` judges it), and regions that a write-intent bitmap has as dirty stay dirty.

mod bitmap;
mod intent;
pub mod layout;
mod numbering;
mod parity;
mod portions;
mod progress;
mod rebuild;
mod split;

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;

pub use self::bitmap::BitmapSpec;
use self::bitmap::WriteIntentBitmap;
use self::intent::IntentQueue;
use self::layout::{ArrayVolume, VolumeShare, lay_out_volumes};
use self::numbering::Numbering;
pub use self::parity::ParityWrite;
use self::portions::{MemberCommand, NOBODY, Portion, PortionKind, RangeLocks};
use self::progress::Rebuild;
pub use self::progress::RebuildProgress;
use super::layer::{self, HostLayer, LayeredDevice, NextTurn};
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, Limits, Op, Request, SECTOR, Status,
};
use crate::queue::{Discipline, NoCosts, Queue};
use crate::record::{DriveLog, Part};
use crate::slab::Slab;
use crate::time::{Instant, Rate, Span};

/// Which copy of a mirror to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadBalance {
    /// An idle member, else the one whose last command ended nearest; of equals the first. As md's RAID 1 does for
    /// rotating drives (`read_balance` in `drivers/md/raid1.c`).
    Nearest,
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
    /// The largest rate of a rebuild's writes, in bytes a second.
    pub rebuild_rate: u64,
    /// Sectors in a run of the rebuild; rounded up to whole chunks.
    pub rebuild_run: u32,
    /// Members lost from the start, one bit each.
    pub lost: u64,
    /// A write-intent bitmap, on an array of one volume with redundancy.
    pub bitmap: Option<BitmapSpec>,
}

impl ArraySpec {
    /// The volumes on members of `sectors` sectors, in the order of their blocks.
    pub fn volumes(&self, sectors: u64) -> Vec<ArrayVolume> {
        let first = self.bitmap_layout(sectors).map_or(0, |(reserved, _)| reserved);
        lay_out_volumes(&self.shares, self.members, (first, sectors), u64::from(self.chunk))
    }

    /// The sectors that the bitmap reserves at the start of the members, and those that a bit stands for.
    fn bitmap_layout(&self, sectors: u64) -> Option<(u64, u64)> {
        self.bitmap.map(|spec| bitmap::reserve_space(&spec, self.shares[0].level, self.members, sectors))
    }

    /// The promises that it breaks on members of `sectors` sectors. A row with parity that lacks a drive cannot be
    /// written in one step; if a cut interrupts the write, the lost drive's data of that row cannot be reconstructed
    /// (the write hole).
    pub(crate) fn broken_promises(&self, sectors: u64) -> Vec<BrokenPromise> {
        let rows = self.volumes(sectors).iter().any(|volume| volume.parities() > 0);
        let lost = (0..u64::BITS).filter(|member| self.lost >> member & 1 == 1).map(|member| member.to_string());
        let broken: &[Assurance] = if self.lost != 0 && rows { &[Assurance::Rows] } else { &[] };
        BrokenPromise::for_setting("lose", &lost.collect::<Vec<_>>().join(","), broken)
    }
}

/// The time of an error that no drive takes part in. Inferred: some system calls of a microsecond each. Without it, a
/// program that retries would let no time pass.
const REFUSAL: Span = Span::from_micros(10);

/// The array's view of a member.
struct ArrayMember {
    waiting: Queue<u32>,
    /// Commands sent and not yet returned.
    flying: u32,
    depth: u32,
    /// The end of its last returned command.
    head: u64,
    /// The end of the last command that was sent.
    sent: u64,
}

/// An array of drives.
pub struct Array {
    spec: ArraySpec,
    limits: Limits,
    volumes: Vec<ArrayVolume>,
    members: Vec<ArrayMember>,
    /// Members that may have a command to send, and room for it: one bit each.
    asking: u32,
    portions: Slab<Portion>,
    numbering: Numbering,
    commands: Slab<MemberCommand>,
    turns: RangeLocks,
    /// Portions of lost volumes, by when they are answered.
    failing: VecDeque<(Instant, u32)>,
    /// Members lost or not yet rebuilt, one bit each.
    failed: u64,
    /// Volumes that have lost too many members, one bit each.
    dead: u64,
    powered: bool,
    /// When the power last returned.
    since: Option<Instant>,
    rebuild: Option<Rebuild>,
    rebuild_rate: Rate,
    progress: RebuildProgress,
    bitmap: Option<WriteIntentBitmap>,
    intents: IntentQueue,
    /// The power was cut, not switched off.
    was_cut: bool,
    /// Counts mirrored reads.
    turn: u32,
    /// By member: the growing piece, while a portion is split.
    open: Vec<Option<(u64, u64)>>,
    /// Sectors in a physical sector.
    physical: u64,
}

/// A request's note counts its unfinished portions.
type ArrayContext = layer::HostLayerContext<Array>;

impl Array {
    /// An array over the units of `below`. Panics when the specification has more members than the level allows, or a
    /// chunk that is not whole physical sectors.
    pub fn build_above(spec: ArraySpec, below: Box<dyn Device>) -> LayeredDevice<Array> {
        let count = spec.members;
        assert!((1..=32).contains(&count), "{count} members");
        let mut limits = below.limits(0);
        for unit in 1..count {
            let other = below.limits(unit as u8);
            limits.sectors = limits.sectors.min(other.sectors);
            limits.physical = limits.physical.max(other.physical);
            limits.max_transfer = limits.max_transfer.min(other.max_transfer);
        }
        let physical = u64::from(limits.physical) / SECTOR;
        assert!(spec.chunk > 0 && u64::from(spec.chunk).is_multiple_of(physical), "a chunk of {}", spec.chunk);
        let volumes = spec.volumes(limits.sectors);
        let bitmap = spec.bitmap.zip(spec.bitmap_layout(limits.sectors)).map(|(bitmap, (_, chunk))| {
            assert!(volumes.len() == 1 && volumes[0].copies() + volumes[0].parities() > 1, "a bitmap of {volumes:?}");
            WriteIntentBitmap::new(&bitmap, chunk, volumes[0], limits.logical)
        });
        let member = |unit| ArrayMember {
            waiting: Queue::new(spec.queue, spec.depth as usize),
            flying: 0,
            depth: below.limits(unit as u8).depth,
            head: 0,
            sent: 0,
        };
        let (depth, lost) = (spec.depth, spec.lost);
        let array = Array {
            members: (0..count).map(member).collect(),
            limits,
            volumes,
            asking: 0,
            portions: Slab::with_capacity(0),
            numbering: Numbering::default(),
            commands: Slab::with_capacity(0),
            turns: RangeLocks::default(),
            failing: VecDeque::new(),
            failed: 0,
            dead: 0,
            powered: true,
            since: None,
            rebuild: None,
            rebuild_rate: Rate::new(spec.rebuild_rate),
            progress: RebuildProgress::default(),
            bitmap,
            intents: IntentQueue::new(count),
            was_cut: false,
            turn: 0,
            open: alloc::vec![None; count as usize],
            physical,
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

    /// Members that hold all of their sectors before `end`, one bit each.
    fn readable_members(&self, end: u64) -> u64 {
        let whole = !self.failed;
        match self.rebuild {
            Some(rebuild) if end <= rebuild.rebuilt_until() => whole | 1 << rebuild.member,
            _ => whole,
        }
    }

    /// Members that receive a write from sector `from` on, one bit each.
    fn writable_members(&self, from: u64) -> u64 {
        let whole = !self.failed;
        match self.rebuild {
            Some(rebuild) if from < rebuild.next => whole | 1 << rebuild.member,
            _ => whole,
        }
    }

    /// True if the member is lost and not yet replaced.
    fn is_gone(&self, member: u32) -> bool {
        self.failed >> member & 1 == 1 && self.rebuild.is_none_or(|rebuild| rebuild.member != member)
    }

    /// Forgets the numbers of writes that can no longer land, when there are many.
    fn forget_settled(&mut self, context: &ArrayContext) {
        if self.numbering.is_scan_due() {
            let mut unsettled: BTreeSet<u64> = (0..self.portions.len())
                .map(|portion| &self.portions[portion])
                .filter(|portion| portion.live)
                .map(|portion| portion.number)
                .collect();
            context.report_unsettled_below(&mut |number| unsettled.extend([number]));
            self.numbering.keep_unsettled(&unsettled);
        }
    }

    /// Fails the portions of lost volumes that are due.
    fn refuse_due(&mut self, context: &mut ArrayContext, now: Instant) {
        while let Some(&(_, portion)) = self.failing.front().filter(|(at, _)| *at <= now) {
            self.failing.pop_front();
            self.fail_portion(portion);
            self.finish_dispatch(context, now, portion);
        }
    }

    /// Sends waiting commands to members with room. True if it sent any.
    fn send_commands(&mut self, context: &mut ArrayContext, now: Instant) -> bool {
        let mut sent = false;
        while self.asking != 0 {
            let index = self.asking.trailing_zeros();
            self.asking &= self.asking - 1;
            let member = &mut self.members[index as usize];
            while member.flying < member.depth && !member.waiting.is_empty() {
                let choice = member.waiting.choose(now, member.sent, &NoCosts).expect("one waits");
                let tag = member.waiting.take(choice);
                let command = &mut self.commands[tag];
                command.sent = true;
                member.flying += 1;
                member.sent = command.lba + u64::from(command.sectors);
                sent = true;
                let MemberCommand { portion, op, lba, sectors, .. } = *command;
                let stamp = self.portions[portion].number;
                let request = match self.portions[portion].parent {
                    NOBODY => Request::NONE,
                    parent => context.slots[parent].request,
                };
                debug_assert!(
                    intent::is_covered(self.bitmap.as_ref(), &self.portions[portion], op),
                    "data before their bit of the bitmap"
                );
                // A read on behalf of a write is an ordinary read.
                let flags = match self.portions[portion].kind {
                    PortionKind::Intent if op == Op::Write && self.intents.forced >> index & 1 == 1 => Flags::FUA,
                    _ if op == request.op => request.flags,
                    _ => Flags::NONE,
                };
                let request = Request { tag, unit: index as u8, op, flags, lba, sectors, stamp, ..request };
                context.submit_below(now, request);
            }
        }
        sent
    }

    /// Applies the end of a command to its portion. A lost member answers with an error.
    fn settle_command(&mut self, context: &mut ArrayContext, now: Instant, command: &MemberCommand, status: Status) {
        let portion = &mut self.portions[command.portion];
        let survived = self.dead >> portion.volume & 1 == 0;
        match (status, command.op, portion.kind) {
            (Status::Done, ..) => {}
            (Status::MediumError, Op::Read, PortionKind::Plain) => self.fail_over(context, now, command),
            (Status::MediumError, Op::Read, _) => {
                portion.avoid |= 1 << command.member;
                portion.again = true;
            }
            // Lost with its member; the other members hold the data or can reconstruct them.
            (Status::MediumError, Op::Write, PortionKind::Plain | PortionKind::Update) if survived => {}
            (Status::MediumError, Op::Flush, PortionKind::Flush) if self.dead == 0 => {}
            // The other members have the bitmap.
            (Status::MediumError, _, PortionKind::Intent) => {}
            _ if portion.status == Status::Done => portion.status = status,
            _ => {}
        }
    }

    /// Continues a portion whose commands are all back.
    fn advance_portion(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        if self.pause_for_bitmap(index) {
            return;
        }
        let portion = &mut self.portions[index];
        if portion.status != Status::Done {
            return self.finish_portion(context, now, index);
        }
        if core::mem::take(&mut portion.again) {
            return self.run_portion(context, now, index);
        }
        match (portion.kind, portion.writing) {
            (PortionKind::Update | PortionKind::Rebuild, false) => {
                portion.writing = true;
                self.write_portion(context, now, index);
            }
            _ => self.finish_portion(context, now, index),
        }
    }

    /// Ends a portion.
    fn finish_portion(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let mut portion = self.portions[index];
        if portion.kind == PortionKind::Flush && portion.status == Status::Done && self.is_lost(&portion) {
            // A volume was lost while the portion was under way.
            portion.status = Status::MediumError;
        }
        self.portions[index].live = false;
        self.portions.free(index);
        if portion.lanes != 0 {
            self.turns.release_lock(index);
        }
        if portion.noted {
            self.intents.forget_portion(index);
            if let Some(bitmap) = &mut self.bitmap {
                bitmap.end_write((portion.lba, portion.end), portion.span);
            }
        }
        if portion.kind == PortionKind::Intent {
            return self.end_page_write(index, portion.status);
        }
        if portion.parent == NOBODY {
            return self.finish_run(context, now, &portion);
        }
        let parent = &mut context.slots[portion.parent];
        parent.note -= 1;
        // The account is that of the portion that ends last.
        parent.account_mut().ledger = portion.ledger;
        parent.keep_first_error(portion.status);
        if parent.note == 0 {
            context.answer_request(now, portion.parent, context.slots[portion.parent].status);
        }
    }

    /// Loses `member`. Waiting commands are settled now; commands below come back by themselves.
    fn drop_member(&mut self, context: &mut ArrayContext, now: Instant, member: u32) {
        self.failed |= 1 << member;
        for (index, volume) in self.volumes.iter().enumerate() {
            self.dead |= u64::from(!volume.survives_loss(self.failed)) << index;
        }
        self.rebuild = self.rebuild.filter(|rebuild| rebuild.member != member);
        let mut lost: Vec<u32> = Vec::new();
        self.members[member as usize].waiting.retain(|&tag| {
            lost.push(tag);
            false
        });
        for tag in lost {
            let command = self.take_unqueued(tag);
            self.settle_command(context, now, &command, Status::MediumError);
            self.count_off_command(context, now, command.portion);
        }
    }

    /// Takes back the command `tag`, which has left its queue.
    fn take_unqueued(&mut self, tag: u32) -> MemberCommand {
        let command = self.commands[tag];
        self.commands[tag].portion = NOBODY;
        self.commands.free(tag);
        command
    }

    /// Counts off a command of a portion that was never sent.
    fn count_off_command(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let portion = &mut self.portions[index];
        portion.left -= 1;
        if portion.left == 0 {
            portion.ledger.book_until(Part::Driver, now);
            self.advance_portion(context, now, index);
        }
    }

    /// Ends the portions that `chosen` selects: waiting ones at once, others when their commands come back.
    fn end_portions(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        status: Status,
        chosen: impl Fn(&Portion) -> bool,
    ) {
        for index in 0..self.portions.len() {
            let portion = &mut self.portions[index];
            if portion.live && chosen(portion) && portion.status == Status::Done {
                portion.status = status;
            }
        }
        let mut gone: Vec<u32> = Vec::new();
        let (portions, commands) = (&self.portions, &self.commands);
        for member in &mut self.members {
            member.waiting.retain(|&tag| {
                let portion = &portions[commands[tag].portion];
                let stays = !chosen(portion);
                if !stays {
                    gone.push(tag);
                }
                stays
            });
        }
        for tag in gone {
            let command = self.take_unqueued(tag);
            self.count_off_command(context, now, command.portion);
        }
        let failing = core::mem::take(&mut self.failing);
        for (at, portion) in failing {
            match chosen(&self.portions[portion]) {
                true => self.finish_dispatch(context, now, portion),
                false => self.failing.push_back((at, portion)),
            }
        }
        for index in 0..self.portions.len() {
            let portion = &mut self.portions[index];
            if portion.live && !portion.begun && chosen(portion) {
                portion.ledger.book_until(Part::Driver, now);
                self.finish_portion(context, now, index);
            }
        }
    }
}

impl HostLayer for Array {
    type Note = u32;
    const PART: Part = Part::Driver;

    fn limits(&self, max_in_flight: u32, _: Limits) -> Limits {
        let sectors = self.volumes.iter().map(ArrayVolume::capacity).sum();
        Limits { sectors, max_transfer: u32::MAX, depth: max_in_flight, ..self.limits }
    }

    fn accept_request(&mut self, context: &mut ArrayContext, now: Instant, slot: u32) -> NextTurn {
        self.forget_settled(context);
        // Keeps the count above zero until the request is split.
        context.slots[slot].note = 1;
        self.split_request(context, now, slot);
        let parent = &mut context.slots[slot];
        parent.note -= 1;
        if parent.note == 0 {
            let status = parent.status;
            context.answer_request(now, slot, status);
        }
        now
    }

    fn handle_completion(&mut self, context: &mut ArrayContext, completion: &mut Completion) -> NextTurn {
        let (tag, at) = (completion.tag, completion.finished);
        let command = self.commands[tag];
        self.members[command.member as usize].flying -= 1;
        self.asking |= 1 << command.member;
        let portion = &self.portions[command.portion];
        if portion.parent != NOBODY {
            context.slots[portion.parent].account_mut().effort.add(&completion.effort);
        }
        let mut status = completion.status;
        let gone = self.is_gone(command.member);
        if status == Status::Aborted && portion.status == Status::Done && !gone {
            // Aborted with another's error, or by a reset that does not concern it.
            self.commands[tag].sent = false;
            self.asking |= 1 << command.member;
            self.members[command.member as usize].waiting.push(at, command.lba, tag);
            return at;
        }
        // An error from before the power returned is no sign of a lost member.
        let whole_life = self.powered && self.since.is_none_or(|since| completion.submitted > since);
        if status == Status::PowerLost && whole_life && !gone {
            self.drop_member(context, at, command.member);
            numbering::report_member(&mut context.landings, at, command.member, LandingKind::Gone);
        }
        if whole_life && self.is_gone(command.member) {
            status = Status::MediumError;
        }
        self.commands[tag].portion = NOBODY;
        self.commands.free(tag);
        self.settle_command(context, at, &command, status);
        if self.portions[command.portion].kind == PortionKind::Intent {
            self.take_next_step(context, at, command.portion, command.member);
        }
        let portion = &mut self.portions[command.portion];
        portion.left -= 1;
        if portion.left == 0 {
            portion.ledger.book_child(Part::Driver, completion);
            self.advance_portion(context, at, command.portion);
        }
        at
    }

    /// Sends commands while there is room, and starts portions whose turn it is.
    fn run_due_work(&mut self, context: &mut ArrayContext, now: Instant) -> NextTurn {
        self.refuse_due(context, now);
        while let Some(portion) = self.turns.next(&self.portions) {
            self.run_portion(context, now, portion);
        }
        self.begin_due_rebuild_work(context, now);
        let look = self.advance_bitmap(context, now);
        if self.send_commands(context, now) || self.turns.freed {
            return now;
        }
        self.failing.front().map_or(Instant::FAR, |&(at, _)| at).min(self.rebuild_due()).min(look)
    }

    fn add_own_counts(&self, below: DriveLog) -> DriveLog {
        DriveLog { bitmap_writes: below.bitmap_writes + self.bitmap_counts().0, ..below }
    }

    /// The request's portions end when their commands are back.
    fn withdraw_request(&mut self, context: &mut ArrayContext, now: Instant, slot: u32, status: Status) -> bool {
        self.end_portions(context, now, status, |portion: &Portion| portion.parent == slot && !portion.must_finish());
        false
    }

    fn tags_to_abort(&self, _: &ArrayContext, slot: u32) -> Vec<u32> {
        let chosen = |portion: &Portion| portion.parent == slot && !portion.must_finish();
        let sent = |command: &MemberCommand| {
            command.portion != NOBODY && command.sent && chosen(&self.portions[command.portion])
        };
        (0..self.commands.len()).filter(|&tag| sent(&self.commands[tag])).collect()
    }

    /// Translates a member's sectors into blocks of the volumes, and the write's number into its stamp.
    fn report_landing(&mut self, context: &mut ArrayContext, landing: Landing) {
        if let Some(stamp) = self.numbering.find_stamp(landing.stamp) {
            numbering::report_in_blocks(&self.volumes, &landing, stamp, |part| context.landings.push_landing(part));
        }
    }

    fn report_unsettled(&self, _: &ArrayContext, tell: &mut dyn FnMut(u64)) {
        self.numbering.kept_stamps().for_each(tell);
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
        })
    }

    fn apply_control(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        match control {
            Control::Reset => self.end_portions(context, now, Status::Aborted, |portion| !portion.must_finish()),
            Control::PowerCut | Control::PowerOff => {
                self.powered = false;
                // An array that stops with writes under way is as unclean as one that was cut.
                let busy = self.bitmap.as_ref().is_some_and(WriteIntentBitmap::is_busy);
                self.was_cut |= *control == Control::PowerCut || busy;
                self.restart_rebuild();
                if *control == Control::PowerCut {
                    self.end_portions(context, now, Status::PowerLost, |_| true);
                }
            }
            Control::PowerOn => {
                (self.powered, self.since) = (true, Some(now));
                self.reload_bitmap(now);
                if let Some(rebuild) = &mut self.rebuild {
                    rebuild.due = now;
                }
            }
            Control::Abort(_) | Control::Set(_) => {}
        }
        context.apply_default_control(self, now, control)
    }
}
