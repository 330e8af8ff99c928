//! From a request to jobs, and from a job to commands of the members.

use super::jobs::{Command, Job, Kind};
use super::layout::{Level, Volume};
use super::parity::Row;
use super::{Array, Balance, Crank, Member, NOBODY, REFUSAL};
use crate::block::{Op, Status};
use crate::record::Effort;
use crate::time::Instant;

impl Array {
    /// Splits a request into jobs and begins them.
    pub(super) fn spread(&mut self, crank: &mut Crank, now: Instant, parent: u32) {
        let request = crank.slots[parent].request;
        let sectors: u64 = self.volumes.iter().map(Volume::capacity).sum();
        let mut job = Job { op: request.op, ..Job::open(parent, now) };
        let refused = match request.op {
            _ if !self.powered => Some(Status::PowerLost),
            Op::Flush => None,
            Op::Read | Op::Write if request.end() > sectors => Some(Status::OutOfRange),
            Op::Read | Op::Write => None,
            _ => Some(Status::Unsupported),
        };
        if let Some(status) = refused {
            crank.slots[parent].status = status;
            return;
        }
        if request.op == Op::Flush {
            return self.begin(crank, now, job);
        }
        if request.op == Op::Write {
            job.number = self.numbering.take(crank, now, &request);
        }
        let mut start = 0;
        for index in 0..self.volumes.len() {
            let volume = self.volumes[index];
            let (lba, end) = (request.lba.max(start), request.end().min(start + volume.capacity()));
            if lba < end {
                self.spread_in(
                    crank,
                    now,
                    &volume,
                    Job { volume: index as u8, lba: lba - start, end: end - start, ..job },
                );
            }
            start += volume.capacity();
        }
    }

    /// Splits what concerns one volume.
    fn spread_in(&mut self, crank: &mut Crank, now: Instant, volume: &Volume, job: Job) {
        let plain = Job { kind: Kind::Plain, ..job };
        match (volume.parities() > 0, job.op) {
            _ if self.dead >> job.volume & 1 == 1 => self.begin(crank, now, plain),
            (false, Op::Write) if volume.copies() > 1 => self.begin(crank, now, holding(volume, plain)),
            (false, _) => self.begin(crank, now, plain),
            (true, Op::Write) => self.spread_write(crank, now, volume, job),
            (true, _) if self.failed == 0 => self.begin(crank, now, plain),
            (true, _) => self.spread_read(crank, now, volume, job),
        }
    }

    /// Rows one by one; whole ones together, for they need no reading.
    fn spread_write(&mut self, crank: &mut Crank, now: Instant, volume: &Volume, job: Job) {
        let mut lba = job.lba;
        while lba < job.end {
            let (row, rest) = (volume.row(), job.end - lba);
            let end = match lba.is_multiple_of(row) && rest >= row {
                true => lba + rest / row * row,
                false => (lba / row * row + row).min(job.end),
            };
            self.begin(crank, now, holding(volume, Job { kind: Kind::Update, lba, end, ..job }));
            lba = end;
        }
    }

    /// Rows of which something that is wanted is lost by themselves, the others together.
    fn spread_read(&mut self, crank: &mut Crank, now: Instant, volume: &Volume, job: Job) {
        let (mut from, mut lba) = (job.lba, job.lba);
        while lba < job.end {
            let end = (lba / volume.row() * volume.row() + volume.row()).min(job.end);
            if part(volume, lba, end).misses(self.usable(member_end(volume, end))) {
                if from < lba {
                    self.begin(crank, now, Job { kind: Kind::Plain, lba: from, end: lba, ..job });
                }
                self.begin(crank, now, holding(volume, Job { kind: Kind::Recover, lba, end, ..job }));
                from = end;
            }
            lba = end;
        }
        if from < job.end {
            self.begin(crank, now, Job { kind: Kind::Plain, lba: from, end: job.end, ..job });
        }
    }

    /// Takes up a job: it runs as soon as it holds its stretch.
    pub(super) fn begin(&mut self, crank: &mut Crank, now: Instant, job: Job) {
        if job.parent != NOBODY {
            crank.slots[job.parent].note += 1;
        }
        let index = self.jobs.put(job);
        if self.turns.take(&self.jobs, index) {
            self.run(crank, now, index);
        }
    }

    /// Sends the first commands of a job, or begins it again.
    pub(super) fn run(&mut self, crank: &mut Crank, now: Instant, index: u32) {
        let job = &mut self.jobs[index];
        job.begun = true;
        let job = *job;
        // So that a job whose commands come to nothing is not over before all are made.
        self.jobs[index].left += 1;
        match job.kind {
            _ if self.is_lost(&job) => return self.failing.push_back((now + REFUSAL, index)),
            Kind::Flush | Kind::Seal => self.flush(now, index),
            Kind::Rebuild => self.read_run(now, index),
            Kind::Plain => self.plain(now, index),
            Kind::Update => self.read_before(crank, now, index),
            Kind::Recover => self.recover(crank, now, index),
        }
        self.all_made(crank, now, index);
    }

    /// The job is refused: what it asks for is on a volume that is lost. A flush is about all volumes, so it fails when
    /// any of them is lost: what that had acknowledged will never be durable.
    pub(super) fn is_lost(&self, job: &Job) -> bool {
        match job.kind {
            Kind::Flush => self.dead != 0,
            Kind::Seal | Kind::Rebuild => false,
            _ => self.dead >> job.volume & 1 == 1,
        }
    }

    pub(super) fn all_made(&mut self, crank: &mut Crank, now: Instant, index: u32) {
        let job = &mut self.jobs[index];
        job.left -= 1;
        if job.left == 0 {
            job.ledger.until(crate::record::Part::Driver, now);
            self.advance(crank, now, index);
        }
    }

    pub(super) fn fail(&mut self, index: u32) {
        self.jobs[index].status = Status::MediumError;
    }

    fn flush(&mut self, now: Instant, index: u32) {
        let only = self.jobs[index].kind == Kind::Seal;
        let new = self.rebuild.map_or(0, |rebuild| 1 << rebuild.member);
        let wanted = if only { new } else { !self.failed | new };
        for member in (0..self.spec.members).filter(|member| wanted >> member & 1 == 1) {
            let lba = self.members[member as usize].head;
            self.queue(now, Command { job: index, member, op: Op::Flush, lba, sectors: 0, sent: false });
        }
    }

    /// Reads from one copy, or writes to all: chunk by chunk, joined where they follow one another on a member.
    fn plain(&mut self, now: Instant, index: u32) {
        let job = self.jobs[index];
        let volume = self.volumes[usize::from(job.volume)];
        let mut lba = job.lba;
        while lba < job.end {
            let place = volume.place(lba);
            let sectors = (volume.chunk - place.within).min(job.end - lba);
            let from = volume.row_start(place.row) + place.within;
            let to = from + sectors;
            if job.op == Op::Write {
                let writable = self.writable(from);
                for copy in 0..volume.copies() {
                    let member = volume.member(place.row, place.column, copy);
                    if writable >> member & 1 == 1 {
                        self.join(now, index, member, from, to);
                    }
                }
            } else {
                match self.copy(&volume, place.row, place.column, (from, to), job.avoid) {
                    Some(member) => self.join(now, index, member, from, to),
                    None => self.fail(index),
                }
            }
            lba += sectors;
        }
        for member in 0..self.spec.members {
            if let Some((from, to)) = self.open[member as usize].take() {
                self.command(now, index, member, job.op, from, to);
            }
        }
    }

    /// Adds a piece to the member's growing one, or begins the next.
    fn join(&mut self, now: Instant, index: u32, member: u32, from: u64, to: u64) {
        match &mut self.open[member as usize] {
            Some(open) if open.1 == from => open.1 = to,
            open => {
                if let Some((from, to)) = open.replace((from, to)) {
                    let op = self.jobs[index].op;
                    self.command(now, index, member, op, from, to);
                }
            }
        }
    }

    /// The member to read a chunk from: where there are copies, the one at which the last piece ended, or as the
    /// balance says.
    fn copy(&mut self, volume: &Volume, row: u64, column: u32, span: (u64, u64), avoid: u64) -> Option<u32> {
        let usable = self.usable(span.1) & !avoid;
        let members = (0..volume.copies()).map(|copy| volume.member(row, column, copy));
        let mut members = members.filter(|member| usable >> member & 1 == 1);
        if volume.copies() == 1 {
            return members.next();
        }
        let goes_on = |member: &u32| self.open[*member as usize].is_some_and(|open| open.1 == span.0);
        if let Some(member) = members.clone().find(goes_on) {
            return Some(member);
        }
        match self.spec.balance {
            Balance::First => members.next(),
            Balance::RoundRobin => {
                self.turn = self.turn.wrapping_add(1);
                let count = members.clone().count().max(1);
                members.nth(self.turn as usize % count)
            }
            Balance::Nearest => members.min_by_key(|&member| {
                let Member { waiting, flying, head, .. } = &self.members[member as usize];
                (*flying > 0 || !waiting.is_empty(), head.abs_diff(span.0), member)
            }),
        }
    }

    /// What a write to a row with parity reads first.
    fn read_before(&mut self, crank: &mut Crank, now: Instant, index: u32) {
        let job = self.jobs[index];
        let volume = self.volumes[usize::from(job.volume)];
        if job.end - job.lba > volume.row() {
            return self.compute(crank, index, job.end - job.lba);
        }
        let row = part(&volume, job.lba, job.end);
        let usable = self.usable(job.span.1) & !job.avoid;
        match row.way(usable, self.writable(job.span.0), self.spec.parity) {
            Some(way) => {
                self.compute(crank, index, row.computed_from(way, self.writable(job.span.0)));
                row.reads(way, usable, |member, from, to| self.command(now, index, member, Op::Read, from, to));
            }
            None => self.fail(index),
        }
    }

    /// Reads a row in place of what is lost of it.
    fn recover(&mut self, crank: &mut Crank, now: Instant, index: u32) {
        let job = self.jobs[index];
        let volume = self.volumes[usize::from(job.volume)];
        let row = part(&volume, job.lba, job.end);
        let usable = self.usable(job.span.1) & !job.avoid;
        if row.sources(usable).is_none() {
            return self.fail(index);
        }
        let (low, high) = row.hull();
        self.compute(crank, index, u64::from(volume.columns()) * (high - low));
        row.read_sources(usable, |member, from, to| self.command(now, index, member, Op::Read, from, to));
    }

    /// The request of a job costs the processor this many sectors of parity.
    fn compute(&mut self, crank: &mut Crank, index: u32, sectors: u64) {
        let parent = self.jobs[index].parent;
        if parent != NOBODY {
            let effort = Effort { parity: sectors as u32, ..Effort::default() };
            crank.slots[parent].effort.add(&effort);
        }
    }

    /// What is written when all that had to be read is read.
    pub(super) fn write_back(&mut self, crank: &mut Crank, now: Instant, index: u32) {
        let job = self.jobs[index];
        let volume = self.volumes[usize::from(job.volume)];
        self.jobs[index].left += 1;
        if job.kind == Kind::Rebuild {
            if let Some(rebuild) = self.rebuild {
                self.command(now, index, rebuild.member, Op::Write, job.span.0, job.span.1);
            }
        } else {
            let writable = self.writable(job.span.0);
            if job.end - job.lba <= volume.row() {
                let row = part(&volume, job.lba, job.end);
                row.writes(writable, |member, from, to| self.command(now, index, member, Op::Write, from, to));
            } else {
                for member in (0..volume.members).filter(|member| writable >> member & 1 == 1) {
                    self.command(now, index, member, Op::Write, job.span.0, job.span.1);
                }
            }
        }
        self.all_made(crank, now, index);
    }

    /// A command of a plain read has failed: another copy is read, or its rows are recovered.
    pub(super) fn fail_over(&mut self, crank: &mut Crank, now: Instant, command: &Command) {
        let job = self.jobs[command.job];
        let volume = self.volumes[usize::from(job.volume)];
        let (mut from, end) = (command.lba, command.lba + u64::from(command.sectors));
        let avoid = job.avoid | 1 << command.member;
        self.jobs[command.job].avoid = avoid;
        while from < end {
            let row = (from - volume.first) / volume.chunk;
            let to = (volume.row_start(row) + volume.chunk).min(end);
            let block = volume.block(command.member, from).map(|(_, block)| block);
            let place = block.map(|block| volume.place(block));
            let copy = place.and_then(|place| self.copy(&volume, row, place.column, (from, to), avoid));
            match (copy, block) {
                (Some(member), _) => self.command(now, command.job, member, Op::Read, from, to),
                (None, Some(block)) if volume.parities() > 0 => {
                    let end = block + (to - from);
                    let recover = Job { kind: Kind::Recover, lba: block, end, avoid, left: 0, begun: false, ..job };
                    self.begin(crank, now, holding(&volume, recover));
                }
                _ => self.fail(command.job),
            }
            from = to;
        }
    }

    /// Queues a command, or several where it is too long for one. A split falls between physical sectors.
    pub(super) fn command(&mut self, now: Instant, job: u32, member: u32, op: Op, from: u64, to: u64) {
        let mut lba = from;
        while lba < to {
            let most = lba + u64::from(self.limits.max_transfer);
            let aligned = most - most % self.physical;
            let stop = if to <= most {
                to
            } else if aligned > lba {
                aligned
            } else {
                most
            };
            self.queue(now, Command { job, member, op, lba, sectors: (stop - lba) as u32, sent: false });
            lba = stop;
        }
    }

    fn queue(&mut self, now: Instant, command: Command) {
        let tag = self.commands.put(command);
        self.jobs[command.job].left += 1;
        let member = &mut self.members[command.member as usize];
        member.head = command.lba + u64::from(command.sectors);
        member.waiting.push(now, command.lba, tag);
        self.asking |= 1 << command.member;
    }
}

/// The part of one row that blocks `lba..end` are.
fn part(volume: &Volume, lba: u64, end: u64) -> Row {
    let row = lba / volume.row();
    Row { volume: *volume, row, from: lba - row * volume.row(), to: end - row * volume.row() }
}

/// The first sector behind the rows of all blocks before `end` on the members.
fn member_end(volume: &Volume, end: u64) -> u64 {
    volume.row_start(end.div_ceil(volume.row()))
}

/// The job, holding the rows of its blocks; of mirrors only the pairs that it touches.
fn holding(volume: &Volume, job: Job) -> Job {
    let (first, last) = (volume.place(job.lba), volume.place(job.end - 1));
    let span = match (volume.parities() > 0, first.row == last.row && first.column == last.column) {
        (false, true) => {
            let start = volume.row_start(first.row);
            (start + first.within, start + last.within + 1)
        }
        _ => (volume.row_start(first.row), volume.row_start(last.row + 1)),
    };
    let lanes = match volume.level {
        Level::Raid10 if first.row == last.row => (first.column..=last.column).fold(0, |all, pair| all | 1 << pair),
        _ => u64::MAX,
    };
    Job { span, lanes, ..job }
}
