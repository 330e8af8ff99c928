//! The pace of a rebuild or a check: how fast it may go, and when it waits for the users' requests. As Linux's md has it
//! (`drivers/md/md.c`, `md_do_sync` and `is_mddev_idle`, Linux 4.1 to 6.15).
//!
//! After each 128 KiB that it issued, the sync compares its speed over the last 30 s with two limits. Up to the lower one
//! it goes on, whatever the users do. Above the upper one it sleeps for half a second. Between the two it goes on if the
//! members are idle; if not, it waits until nothing of it is in flight.
//!
//! A member is idle unless it completed more than 64 sectors for users since it was last found busy. md counts what a
//! member completed for anybody, less what the sync has issued to it: the more of the sync is in flight, the more the
//! users must get done before the array counts as busy. Linux 6.16 changed both rules (`md: fix is_mddev_idle()`,
//! `sync_io_depth`); the model has those of 6.1.

use crate::time::{Instant, Span};

/// The limits of a sync's speed, in KiB a second of each member; on RAID 10 a check counts the array's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SyncSpeed {
    /// Up to this speed users are ignored.
    pub min_kib_s: u32,
    /// Above this speed the sync sleeps.
    pub max_kib_s: u32,
}

impl SyncSpeed {
    /// `sysctl_speed_limit_min` and `sysctl_speed_limit_max` of `drivers/md/md.c`.
    pub const LINUX: SyncSpeed = SyncSpeed { min_kib_s: 1000, max_kib_s: 200_000 };
}

/// How a rebuild or a check divides its work, and when it gives way to users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SyncPolicy {
    /// Linux's md: the runs, the speeds and the idle members of this file and of `sync`.
    #[default]
    Md,
    /// Pieces of one length, at [`SyncSpeed::max_kib_s`] at most.
    Pieces(SyncPieces),
}

/// A sync in pieces of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SyncPieces {
    /// Sectors of each member in a piece.
    pub sectors: u32,
    /// Pieces in flight at once, at most.
    pub in_flight: u32,
    pub beside_users: BesideUsers,
    /// Sectors of the groups that are taken in random order, a multiple of 8; 0: by address.
    pub group: u32,
    /// Each piece is written as a file: data, flush, the record of its name, flush.
    pub as_files: bool,
}

/// A page, which records the name of a file.
pub(super) const JOURNAL: u64 = 8;

impl SyncPolicy {
    /// Sectors of the groups that are taken in random order; 0: by address.
    pub(super) fn group_sectors(&self) -> u64 {
        match self {
            SyncPolicy::Pieces(pieces) => u64::from(pieces.group),
            SyncPolicy::Md => 0,
        }
    }

    /// True if pieces are written as files.
    pub(super) fn writes_files(&self) -> bool {
        matches!(self, SyncPolicy::Pieces(pieces) if pieces.as_files)
    }
}

/// What users change for a sync in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BesideUsers {
    /// Nothing.
    GoOn,
    /// A piece begins only while no request of users is in the array.
    Wait,
    /// As OpenZFS does (`module/zfs/vdev_queue.c` of 2.1 to 2.3: `zfs_vdev_scrub_min_active`, `zfs_vdev_nia_delay`,
    /// `zfs_vdev_nia_credit`): one piece beside users, and none once five began since a request of theirs ended; all pieces after
    /// five ended without users. OpenZFS counts for each drive, the model for the array.
    Credit,
}

/// `zfs_vdev_scrub_min_active`.
const LEAST_BESIDE_USERS: u32 = 1;
/// `zfs_vdev_nia_delay`.
const IDLE_AFTER: u32 = 5;
/// `zfs_vdev_nia_credit`.
const CREDIT: u32 = 5;

/// The users' requests in the array, and the pieces that may begin beside them: `vq_ia_active` and `vq_nia_credit`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UserPresence {
    requests: u32,
    credit: u32,
}

impl UserPresence {
    /// A request came.
    pub fn begin_request(&mut self) {
        self.requests += 1;
        if self.requests == 1 {
            self.credit = 1;
        }
    }

    /// A request was answered.
    pub fn end_request(&mut self) {
        self.requests -= 1;
        self.credit = if self.requests == 0 { 0 } else { CREDIT };
    }

    /// A piece began.
    pub fn begin_piece(&mut self) {
        if self.requests > 0 {
            self.credit = self.credit.saturating_sub(1);
        }
    }

    /// A piece ended.
    pub fn end_piece(&mut self) {
        if self.requests == 0 {
            self.credit = self.credit.saturating_add(1);
        }
    }

    /// How many pieces may be in flight now.
    pub fn most_pieces(&self, pieces: &SyncPieces) -> u32 {
        match pieces.beside_users {
            BesideUsers::GoOn => pieces.in_flight,
            BesideUsers::Wait if self.requests > 0 => 0,
            BesideUsers::Wait => pieces.in_flight,
            BesideUsers::Credit if self.requests > 0 => self.credit.min(LEAST_BESIDE_USERS),
            BesideUsers::Credit if self.credit < IDLE_AFTER => LEAST_BESIDE_USERS,
            BesideUsers::Credit => pieces.in_flight,
        }
    }
}

impl SyncSpeed {
    /// The time of so many sectors at the highest speed.
    pub(super) fn least_time(&self, sectors: u64) -> Span {
        Span::from_nanos((u128::from(sectors) * 500_000_000 / u128::from(self.max_kib_s)) as u64)
    }
}

/// Sectors after which the speed is compared: `window` of `md_do_sync`, 32 pages.
const SECTORS_BETWEEN_CHECKS: u64 = 32 * 8;

/// How many marks of the progress are kept, and how far apart: `SYNC_MARKS` and `SYNC_MARK_STEP`.
const MARKS: usize = 10;
const MARK_STEP: Span = Span::from_secs(3);

/// The sleep of a sync that is too fast: `msleep(500)`.
pub(super) const SLEEP: Span = Span::from_millis(500);

/// Sectors that a member may complete for users and still count as idle, in `is_mddev_idle`.
const IDLE_SECTORS: i64 = 64;

/// What the sync does after a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PaceVerdict {
    GoOn,
    /// Users are busy: it waits until nothing of it is in flight.
    Drain,
    /// It is too fast: it sleeps, then compares again.
    Sleep,
}

/// Sectors that were done at an instant.
#[derive(Clone, Copy, Debug)]
struct ProgressMark {
    at: Instant,
    sectors: u64,
}

/// The progress of a sync, from which its speed follows.
#[derive(Clone, Debug)]
pub(super) struct SyncPace {
    speed: SyncSpeed,
    issued: u64,
    /// Issued sectors at which the speed was last compared.
    compared: u64,
    marks: [ProgressMark; MARKS],
    newest_mark: usize,
    /// The mark from which the speed is measured.
    since: ProgressMark,
}

impl SyncPace {
    pub fn new(speed: SyncSpeed, now: Instant) -> SyncPace {
        let mark = ProgressMark { at: now, sectors: 0 };
        SyncPace { speed, issued: 0, compared: 0, marks: [mark; MARKS], newest_mark: 0, since: mark }
    }

    /// Sectors until the speed is to be compared; 0 if it is due.
    pub fn sectors_until_check(&self) -> u64 {
        (self.compared + SECTORS_BETWEEN_CHECKS).saturating_sub(self.issued)
    }

    /// Counts sectors that were issued.
    pub fn issue(&mut self, sectors: u64) {
        self.issued += sectors;
    }

    /// Compares the speed at `now`, when `in_flight` of the issued sectors are not done yet. Asks for idle members only
    /// between the two limits, as the question changes the answer to the next one.
    pub fn check(&mut self, now: Instant, in_flight: u64, are_members_idle: impl FnOnce() -> bool) -> PaceVerdict {
        self.compared = self.issued;
        let done = self.issued.saturating_sub(in_flight);
        if now >= self.marks[self.newest_mark].at + MARK_STEP {
            self.newest_mark = (self.newest_mark + 1) % MARKS;
            let mark = &mut self.marks[self.newest_mark];
            self.since = core::mem::replace(mark, ProgressMark { at: now, sectors: done });
        }
        let kib = done.saturating_sub(self.since.sectors) / 2;
        let seconds = now.saturating_since(self.since.at).nanos() / Span::from_secs(1).nanos();
        let kib_s = kib / (seconds + 1) + 1;
        if kib_s <= u64::from(self.speed.min_kib_s) {
            PaceVerdict::GoOn
        } else if kib_s > u64::from(self.speed.max_kib_s) {
            PaceVerdict::Sleep
        } else if are_members_idle() {
            PaceVerdict::GoOn
        } else {
            PaceVerdict::Drain
        }
    }
}

/// The load of a member, to tell whether users leave it idle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemberLoad {
    /// Sectors completed for users, and for the array's bitmap.
    users_sectors: u64,
    /// Sectors issued for a sync and not completed.
    sync_in_flight: u64,
    /// The events of [`MemberLoad::events`] at which it was last found busy.
    last_busy: i64,
}

impl MemberLoad {
    /// Counts a command that was issued for a sync.
    pub fn issue_for_sync(&mut self, sectors: u32) {
        self.sync_in_flight += u64::from(sectors);
    }

    /// Counts the end of a command.
    pub fn complete(&mut self, sectors: u32, is_for_sync: bool) {
        match is_for_sync {
            true => self.sync_in_flight -= u64::from(sectors),
            false => self.users_sectors += u64::from(sectors),
        }
    }

    /// `curr_events` of `is_mddev_idle`, with `more` sectors issued for the sync besides those counted.
    fn events(&self, more: u64) -> i64 {
        self.users_sectors as i64 - (self.sync_in_flight + more) as i64
    }

    /// Begins to tell idle from busy.
    pub fn begin(&mut self) {
        self.last_busy = self.events(0);
    }

    /// True if users had work done since the member was last found busy; from now on it counts as found busy again.
    pub fn take_busy(&mut self, more: u64) -> bool {
        let events = self.events(more);
        let is_busy = events - self.last_busy > IDLE_SECTORS;
        if is_busy {
            self.last_busy = events;
        }
        is_busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Seconds are counted from one, and rounded down: 1,000 KiB are within a limit of 1,000 KiB/s in the first second, 2,000 in
    /// the next.
    #[test]
    fn the_speed_is_kib_by_begun_seconds() {
        let speed = SyncSpeed { min_kib_s: 1, max_kib_s: 1000 };
        for (ms, kib, verdict) in [
            (0, 999, PaceVerdict::GoOn),
            (0, 1000, PaceVerdict::Sleep),
            (999, 1000, PaceVerdict::Sleep),
            (1000, 1000, PaceVerdict::GoOn),
            (1999, 1999, PaceVerdict::GoOn),
            (1999, 2000, PaceVerdict::Sleep),
        ] {
            let mut pace = SyncPace::new(speed, Instant::ZERO);
            pace.issue(2 * kib + 64);
            assert_eq!(pace.check(at_ms(ms), 64, || true), verdict, "{kib} KiB in {ms} ms");
        }
    }

    /// At 2 MiB/s and a limit of 1 MiB/s: too fast for as long as the time before counts, and for longer if it does not.
    #[test]
    fn the_last_thirty_seconds_count() {
        let mut pace = SyncPace::new(SyncSpeed { min_kib_s: 1, max_kib_s: 1 << 20 }, Instant::ZERO);
        for second in 0..=100 {
            pace.check(at_ms(1000 * second), 0, || true);
            pace.issue(2 * 1024);
        }
        // The marks are 3 s apart; the tenth before the newest is the one that was overwritten last.
        assert_eq!(pace.since.at, at_ms(69_000));
        assert_eq!(pace.marks[pace.newest_mark].at, at_ms(99_000));
        assert_eq!(pace.since.sectors, 69 * 2 * 1024);
    }

    #[test]
    fn users_count_between_the_limits_only() {
        let speed = SyncSpeed { min_kib_s: 100, max_kib_s: 1000 };
        for (kib, verdict) in [(99, PaceVerdict::GoOn), (100, PaceVerdict::Drain), (999, PaceVerdict::Drain)] {
            let mut pace = SyncPace::new(speed, Instant::ZERO);
            pace.issue(2 * kib);
            assert_eq!(pace.check(Instant::ZERO, 0, || false), verdict, "{kib} KiB/s");
        }
    }

    #[test]
    fn a_member_is_busy_after_more_than_64_sectors_for_users() {
        let mut load = MemberLoad::default();
        load.complete(1000, false);
        load.begin();
        load.complete(64, false);
        assert!(!load.take_busy(0));
        load.complete(8, false);
        assert!(load.take_busy(0) && !load.take_busy(0));
    }

    /// By hand, after the rules of `vdev_queue.c`: three in flight once five ended alone; beside users one, and none when the credit
    /// is used up; an answer renews it.
    #[test]
    fn pieces_beside_users_have_a_credit() {
        let pieces = |beside_users| SyncPieces { sectors: 2048, in_flight: 3, beside_users, group: 0, as_files: false };
        let (credit, wait) = (pieces(BesideUsers::Credit), pieces(BesideUsers::Wait));
        let mut users = UserPresence::default();
        for _ in 0..5 {
            assert_eq!((users.most_pieces(&credit), users.most_pieces(&wait)), (1, 3));
            users.begin_piece();
            users.end_piece();
        }
        assert_eq!(users.most_pieces(&credit), 3);
        users.begin_request();
        users.begin_request();
        assert_eq!((users.most_pieces(&credit), users.most_pieces(&wait)), (1, 0));
        users.begin_piece();
        assert_eq!(users.most_pieces(&credit), 0);
        users.end_request();
        (0..5).for_each(|_| users.begin_piece());
        assert_eq!((users.most_pieces(&credit), users.most_pieces(&pieces(BesideUsers::GoOn))), (0, 3));
        users.end_request();
        assert_eq!((users.most_pieces(&credit), users.most_pieces(&wait)), (1, 3));
    }

    /// What the sync has in flight counts against the users, until it is done.
    #[test]
    fn a_sync_in_flight_hides_as_many_sectors_of_users() {
        let mut load = MemberLoad::default();
        load.begin();
        load.issue_for_sync(256);
        load.complete(256 + 64, false);
        assert!(!load.take_busy(0));
        load.complete(256, true);
        assert!(!load.take_busy(256) && load.take_busy(0));
    }
}
