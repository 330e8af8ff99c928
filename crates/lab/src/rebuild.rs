//! A rebuild or a scrub of an array from its beginning to its end: how long it takes, what users feel before, during and after it, and for
//! how long one more loss would be the end of the data.
//!
//! Days are not simulated request by request. How fast a rebuild goes depends on its place (outer tracks are faster), on the members that are
//! lost and on the users; stretches along the members are simulated (`stretch`), and the hours are the sum of lengths over rates (`hours`).
//! A short rebuild is simulated whole (`whole`), with which the tests compare the stretches. The answer says which it was.
//!
//! Interval: what chance leaves open within the model. It knows nothing of a drive that differs from its profile.
//!
//! Not here: latent errors that a rebuild meets change no time; the answer has their expected number. A second failure during the rebuild
//! comes when it is asked for, not at random.

mod hours;
pub mod page;
mod stretch;
#[cfg(test)]
mod tests;
mod whole;

use seekwise_disk::host::array::layout::{ArrayVolume, RaidLevel};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_run::work::Work;
use serde::Serialize;

use crate::stats::histogram::Histogram;
use stretch::{ArrayState, Stretch, SyncStart, simulate_stretch};

/// A rebuild, or a scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayTask {
    /// So many members are lost, and new ones take their places.
    Rebuild { lost: u32 },
    /// All members are read and compared.
    Scrub,
}

/// How an answer is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// Whole if that takes no more than the stretches would.
    Shorter,
    Whole,
    /// From so many stretches along each member.
    Stretches(u32),
}

/// A task and its conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskTerms {
    pub task: ArrayTask,
    pub computation: Computation,
    /// The share of each member that is rebuilt or read, in the order of the rebuild: all of it, or what holds data.
    pub share: f64,
    /// All new drives are there at the beginning, and are rebuilt together; else one after another.
    pub together: bool,
    /// Hours from the loss until a new drive is there.
    pub spare_after_hours: f64,
    /// Hours after the beginning of the first rebuild at which one more member is lost.
    pub next_loss_hours: Option<f64>,
    /// The hours of the day at which users work, from and until; always if there are none. Members are lost at the first of them.
    pub working_hours: Option<(f64, f64)>,
}

impl TaskTerms {
    /// The whole task, at once, without further losses.
    pub const fn new(task: ArrayTask) -> TaskTerms {
        TaskTerms {
            task,
            computation: Computation::Shorter,
            share: 1.0,
            together: false,
            spare_after_hours: 0.0,
            next_loss_hours: None,
            working_hours: None,
        }
    }
}

/// A question about an array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayQuestion<'a> {
    /// A stack with one array, whose members are all there.
    pub stack: &'a Stack,
    /// The users' work, which does not end; none for an array without users.
    pub users: Option<&'a Work>,
    pub seed: Seed,
    pub terms: TaskTerms,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArrayAnswer {
    /// How it was computed, in words.
    pub computed: String,
    pub members: u32,
    /// Bytes of each member that are rebuilt or read.
    pub member_bytes: u64,
    /// Hours of all rebuilds, or of the scrub; none if it never ends beside these users.
    pub hours: Option<f64>,
    /// The hours that chance leaves possible, 95 %.
    pub interval: Option<(f64, f64)>,
    /// Megabytes a second on each member, in the mean.
    pub mb_per_s: Option<f64>,
    pub phases: Vec<ArrayPhase>,
    pub timeline: Vec<TimelinePoint>,
    /// Hours for which so many more losses were survived, whichever members they met: least first.
    pub exposure: Vec<Exposure>,
    /// Bytes that were read from the other members.
    pub read_bytes: f64,
    /// Those of them that were read while no drive could be spared: what cannot be read of them is lost.
    pub unspared_read_bytes: f64,
    /// Users' requests that failed in the simulated time.
    pub failures: u64,
}

/// A part of the time in which the array's state does not change.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArrayPhase {
    pub name: String,
    /// Its hours; none before the loss and after the last rebuild, or if it never ends.
    pub hours: Option<f64>,
    /// Members that are missing or not yet rebuilt.
    pub lost: u32,
    /// Further losses that are survived, whichever members they meet.
    pub spare: u32,
    /// Megabytes a second on each member, of a rebuild or a scrub.
    pub mb_per_s: Option<f64>,
    /// Figures of users; `None` without users.
    pub users: Option<UserFigures>,
}

/// Rate and response times of users, from when requests were due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct UserFigures {
    pub requests_per_s: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

/// A place of the timeline.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct TimelinePoint {
    /// Hours since the loss, or since the scrub began.
    pub hour: f64,
    /// Done share of the rebuild under way.
    pub done: f64,
    pub lost: u32,
    pub mb_per_s: f64,
    /// Figures of users there; `None` without users.
    pub users: Option<UserFigures>,
}

/// Hours in which so many more losses were survived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Exposure {
    pub spare: u32,
    pub hours: f64,
}

/// Stretches of a member, if none are asked for: with 16, users' 99th percentile of an answer is up to 16 % off, with 24 up to 8 % (twenty
/// arrays of 200 GB members against whole simulations).
pub const STRETCHES: u32 = 24;

/// Answers the question; `on_stretch` is called after each simulated stretch, with how many there will be.
pub fn answer(question: &ArrayQuestion<'_>, on_stretch: &(dyn Fn(u64) + Sync)) -> Result<ArrayAnswer, String> {
    let array = ArrayUnderSync::new(question)?;
    let count = match question.terms.computation {
        Computation::Whole => return whole::simulate_whole(&array),
        Computation::Stretches(count) => count,
        Computation::Shorter if array.is_short()? => return whole::simulate_whole(&array),
        Computation::Shorter => STRETCHES,
    };
    hours::answer_from_stretches(&array, count, on_stretch)
}

/// A question with what follows from its array.
struct ArrayUnderSync<'a> {
    question: &'a ArrayQuestion<'a>,
    volume: ArrayVolume,
    /// The members in the order in which they are lost.
    order: Vec<u32>,
    /// Members that are lost at first.
    lost: u32,
    /// Sectors of each member that are rebuilt or read.
    sectors: u64,
}

impl<'a> ArrayUnderSync<'a> {
    fn new(question: &'a ArrayQuestion<'a>) -> Result<ArrayUnderSync<'a>, String> {
        let volumes = question.stack.volumes();
        let [volume] = volumes[..] else {
            return Err("expected an array of one volume: `array` with a level, and no `array.second`".to_owned());
        };
        if !volume.survives_loss(1) {
            return Err("the array has no redundancy, so nothing can be rebuilt or checked; expected raid-1, raid-10, raid-5 or raid-6".to_owned());
        }
        if question.terms.together && question.terms.next_loss_hours.is_some() {
            return Err("new drives that are rebuilt together, and a further loss: expected one of the two".to_owned());
        }
        let (lost, more) = match question.terms.task {
            ArrayTask::Rebuild { lost } => (lost, u32::from(question.terms.next_loss_hours.is_some())),
            ArrayTask::Scrub => (0, 0),
        };
        let order = order_of_losses(volume.members);
        let set = order.iter().take((lost + more) as usize).fold(0u64, |set, member| set | 1 << member);
        if set.count_ones() != lost + more || !volume.survives_loss(set) {
            let most = (0..).take_while(|&count| survives(&volume, &order, count)).last().unwrap_or(0);
            return Err(format!("{} lost drives are the end of this array; expected at most {most}", lost + more));
        }
        let sectors = ((volume.end() as f64 * question.terms.share) as u64).min(volume.end());
        Ok(ArrayUnderSync { question, volume, order, lost, sectors })
    }

    /// The lost members, if there are so many.
    fn first_lost(&self, count: u32) -> Vec<u32> {
        self.order.iter().copied().take(count as usize).collect()
    }

    /// Further losses that are survived, whichever members they meet, if so many are lost.
    fn spare(&self, lost: u32) -> u32 {
        match self.volume.level {
            RaidLevel::Raid1 => self.volume.members - 1 - lost,
            RaidLevel::Raid10 => u32::from(lost == 0),
            _ => self.volume.parities() - lost,
        }
    }

    /// True if so many are lost that no drive can be spared.
    fn is_unspared(&self, lost: u32) -> bool {
        lost > 0 && self.spare(lost) == 0
    }

    /// Members that are read for each sector that is rebuilt or checked.
    fn sources(&self, lost: u32) -> u32 {
        match (self.question.terms.task, self.volume.level) {
            (ArrayTask::Rebuild { .. }, RaidLevel::Raid1 | RaidLevel::Raid10) => 1,
            _ => self.volume.members - lost,
        }
    }

    /// The phases of the task with a rebuild or a scrub under way, in order: how many members are lost in each.
    fn lost_by_pass(&self) -> Vec<u32> {
        match self.question.terms.task {
            ArrayTask::Scrub => vec![0],
            ArrayTask::Rebuild { .. } if self.question.terms.together => vec![self.lost],
            ArrayTask::Rebuild { .. } => {
                (1..=self.lost + u32::from(self.question.terms.next_loss_hours.is_some())).rev().collect()
            }
        }
    }

    /// True if the whole takes no longer than the stretches, by the rate at its beginning.
    fn is_short(&self) -> Result<bool, String> {
        if self.question.terms.working_hours.is_some() {
            return Ok(false);
        }
        let lost = self.lost;
        let state = ArrayState { lost: self.first_lost(lost), sync: Some(self.sync(lost, 0)), with_users: true };
        let first = simulate_stretch(self, &state, 0)?;
        let Some(pace) = first.pace.filter(|_| !first.ended) else { return Ok(first.ended) };
        let passes = self.lost_by_pass().len() as f64;
        let whole_s = pace.seconds_per_sector * self.sectors as f64 * passes;
        Ok(whole_s <= f64::from(STRETCHES) * passes * stretch::simulated_seconds())
    }

    /// The sync of a pass with so many lost members, from `sector` on.
    fn sync(&self, lost: u32, sector: u64) -> SyncStart {
        SyncStart { members: self.replaced(&self.first_lost(lost)), sector }
    }

    /// The members of those that are lost whose new drives are rebuilt next.
    fn replaced(&self, lost: &[u32]) -> Vec<u32> {
        let count = if self.question.terms.together { lost.len() } else { lost.len().min(1) };
        lost[..count].to_vec()
    }
}

/// The members of an array in the order in which they are lost: of pairs, one each first.
fn order_of_losses(members: u32) -> Vec<u32> {
    let odd = (0..members).filter(|member| member % 2 == 1);
    odd.chain((0..members).filter(|member| member % 2 == 0)).collect()
}

fn survives(volume: &ArrayVolume, order: &[u32], count: usize) -> bool {
    count <= order.len() && volume.survives_loss(order[..count].iter().fold(0u64, |set, member| set | 1 << member))
}

/// Figures of users, from all their requests of so many seconds.
fn user_figures(latency: &Histogram, seconds: f64) -> Option<UserFigures> {
    let ms = |share| latency.quantile(share).map(|span| span.nanos() as f64 / 1e6);
    Some(UserFigures {
        requests_per_s: latency.count() as f64 / seconds,
        mean_ms: latency.mean_ns()? / 1e6,
        p50_ms: ms(0.5)?,
        p99_ms: ms(0.99)?,
        max_ms: latency.max()?.nanos() as f64 / 1e6,
    })
}

/// Megabytes a second on a member at a pace.
fn mb_per_s(seconds_per_sector: f64) -> f64 {
    512.0 / 1e6 / seconds_per_sector
}

/// A phase in which no rebuild or scrub goes on.
fn quiet_phase(name: &str, array: &ArrayUnderSync<'_>, (lost, hours): (u32, Option<f64>), of: &Stretch) -> ArrayPhase {
    let users = user_figures(&of.latency, of.seconds);
    ArrayPhase { name: name.to_owned(), hours, lost, spare: array.spare(lost), mb_per_s: None, users }
}

/// The expected number of unreadable sectors among bytes read, with one in so many bits: `1e15` in datasheets of nearline drives.
pub fn expected_unreadable_sectors(bytes: f64, bits_per_error: f64) -> f64 {
    8.0 * bytes / bits_per_error
}
