//! Rebuilds and scrubs of modelled arrays, as `seekwise rebuild` and `seekwise scrub` compute them: hours, what users feel, and for how long
//! the array could lose nothing more.

use std::sync::atomic::{AtomicU64, Ordering};

use seekwise_disk::rng::Seed;
use seekwise_drives::key_names::array;
use seekwise_drives::spelling::nearest;
use seekwise_lab::plan::PreparedCell;
use seekwise_lab::rebuild::{self, ArrayQuestion};
use seekwise_run::place::Target;
use serde::Serialize;

use crate::error::Error;
use crate::observer::Observer;
use crate::setup::Setup;

/// Figures as pages and tables show them.
pub use seekwise_lab::rebuild::page::round_figure;
/// The task, and the answer.
pub use seekwise_lab::rebuild::{
    ArrayAnswer, ArrayPhase, ArrayTask, Computation, Exposure, STRETCHES, TaskTerms, TimelinePoint, UserFigures,
    expected_unreadable_sectors,
};

/// The users of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayUsers {
    /// None.
    Absent,
    /// So many requests a second, which arrive at random over the whole array: seven reads of 8 KiB to three writes.
    Rate(u32),
    /// A job that goes on.
    Job(String),
}

/// How a rebuild or a scrub treats users, and the settings for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPolicyChoice {
    /// As the user wrote it: `md`, `md:50m`, `idle`, `idle:100m`, `fixed:50m`, `steady:4`, `zfs`, `objects`.
    pub name: String,
    /// Keys of the stack.
    pub settings: Vec<(&'static str, String)>,
}

/// md's `sync_speed_min`, in KiB/s: a lower highest speed lowers it too.
const MD_LEAST: u32 = 1000;

/// The highest speed that can be set, in KiB/s: no limit.
const NO_LIMIT: &str = "100000000";

impl SyncPolicyChoice {
    /// Parses a policy; an error says what was expected.
    pub fn parse(text: &str) -> Result<SyncPolicyChoice, String> {
        const EXPECTED: &str = "md, md:RATE, idle, idle:RATE, fixed:RATE, steady:PIECES, zfs or objects; a rate such as 50m is bytes a second on each drive";
        let (word, argument) = text.split_once(':').map_or((text, None), |(word, argument)| (word, Some(argument)));
        let fault = || format!("`{text}` is no policy; expected {EXPECTED}");
        let kib_s = |rate: &str| -> Result<String, String> {
            let bytes = crate::values::parse_size(rate).ok_or_else(fault)?;
            (bytes >= 1024).then(|| (bytes / 1024).to_string()).ok_or_else(fault)
        };
        let policy = |word: &str| (array::SYNC_POLICY, word.to_owned());
        let most = |rate: String| (array::SYNC_SPEED_MAX, rate);
        // Of no effect but md's: it must not be above the highest.
        let least = || (array::SYNC_SPEED_MIN, "1".to_owned());
        let pieces = |count: &str| (array::SYNC_IN_FLIGHT, count.to_owned());
        let settings = match (word, argument) {
            ("md", None) => Vec::new(),
            ("md", Some(rate)) => {
                let most_kib = kib_s(rate)?;
                let is_slow = most_kib.parse().is_ok_and(|kib: u32| kib < MD_LEAST);
                is_slow.then(least).into_iter().chain([most(most_kib)]).collect()
            }
            ("idle", None) => vec![policy("idle"), most(NO_LIMIT.to_owned())],
            ("idle", Some(rate)) => vec![policy("idle"), least(), most(kib_s(rate)?)],
            ("fixed", Some(rate)) => vec![policy("steady"), pieces("2"), least(), most(kib_s(rate)?)],
            ("steady", Some(count)) => {
                let is_count = count.parse().is_ok_and(|count: u32| (1..=16).contains(&count));
                if !is_count {
                    return Err(format!("`{text}`: expected 1 to 16 pieces in flight"));
                }
                vec![policy("steady"), pieces(count), most(NO_LIMIT.to_owned())]
            }
            ("zfs", None) => vec![policy("zfs"), most(NO_LIMIT.to_owned())],
            // Ceph: `osd_recovery_max_active` is 3 on hard disks, an object of its block devices 4 MiB (`order` 22).
            ("objects", None) => vec![
                policy("steady"),
                pieces("3"),
                (array::SYNC_PIECE_KIB, "4096".to_owned()),
                (array::SYNC_GROUP_KIB, "4096".to_owned()),
                (array::SYNC_TARGET, "files".to_owned()),
                most(NO_LIMIT.to_owned()),
            ],
            ("fixed", None) => {
                return Err("`fixed` needs a rate: expected such as fixed:50m, bytes a second on each drive".to_owned());
            }
            ("steady", None) => return Err("`steady` needs a number of pieces: expected such as steady:4".to_owned()),
            _ => {
                let meant = nearest(word, ["md", "idle", "fixed", "steady", "zfs", "objects"]);
                let tip = meant
                    .filter(|meant| *meant != word)
                    .map_or(String::new(), |word| format!("; did you mean {word}?"));
                return Err(fault() + &tip);
            }
        };
        Ok(SyncPolicyChoice { name: text.to_owned(), settings })
    }
}

/// Parses a level with redundancy; an error says what was expected.
pub fn parse_level(text: &str) -> Result<String, String> {
    const LEVELS: [(&str, &[&str]); 4] = [
        ("raid-1", &["raid1", "mirror"]),
        ("raid-10", &["raid10"]),
        ("raid-5", &["raid5", "raidz", "raidz1"]),
        ("raid-6", &["raid6", "raidz2"]),
    ];
    if LEVELS.iter().any(|(level, _)| *level == text) {
        return Ok(text.to_owned());
    }
    let word = text.to_lowercase();
    let meant = LEVELS.iter().find(|(_, others)| others.contains(&word.as_str())).map(|(level, _)| *level);
    let meant = meant.or_else(|| nearest(&word, LEVELS.map(|(level, _)| level)));
    let tip = meant.map_or(String::new(), |level| format!("; did you mean {level}?"));
    Err(format!("`{text}` is no level with redundancy; expected raid-1, raid-10, raid-5 or raid-6{tip}"))
}

/// The settings of a new array: its level and number of drives, and below it Linux's driver unless `set` names one.
pub fn array_settings(
    (level, drives): (Option<&str>, Option<u32>),
    policies: &[SyncPolicyChoice],
    set: &[(String, String)],
) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    if let Some(level) = level {
        settings.push(("array".to_owned(), level.to_owned()));
        if !set.iter().any(|(key, _)| key == "driver") {
            // OpenZFS orders its requests itself.
            let is_zfs = policies.iter().all(|policy| policy.name == "zfs");
            settings.push(("driver".to_owned(), if is_zfs { "linux-none" } else { "linux-mq-deadline" }.to_owned()));
        }
    }
    settings.extend(drives.map(|drives| (array::DRIVES.to_owned(), drives.to_string())));
    settings.extend(set.iter().cloned());
    settings
}

/// A question about an array.
#[derive(Clone, Debug)]
pub struct RebuildSetup {
    /// The drive or the stack, with its settings; its job is not used.
    pub setup: Setup,
    pub users: ArrayUsers,
    pub terms: TaskTerms,
}

/// An answer for one policy.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PolicyAnswer {
    pub policy: String,
    #[serde(flatten)]
    pub answer: ArrayAnswer,
}

/// Answers as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct PolicyAnswers<'a> {
    /// In the order of the question.
    pub policies: &'a [PolicyAnswer],
}

/// The name of the job that stands for a rate of requests.
const USERS: &str = "users.fio";

/// Reads and writes of 8 KiB, seven to three, which arrive at random over the whole array.
fn users_job(rate: u32) -> String {
    let writes = (rate * 3).div_ceil(10);
    let reads = rate - writes;
    format!(
        "[users]\nioengine=libaio\ndirect=1\nfilename=/dev/md0\nrw=randrw\nrwmixread=70\nbs=8k\nnorandommap=1\niodepth=256\n\
         rate_iops={reads},{writes}\nrate_process=poisson\ntime_based=1\nruntime=1000h\n"
    )
}

/// The keys that nobody publishes and that decide much.
const INFERRED: &str = "What users feel rests on inferred rules of the drive: also try --set drive.cache.read_ahead.hold=never and --set \
                        drive.firmware.queue.max_wait_ms=300.";

/// mdadm makes one on arrays of 100 GB and more (mdadm(8), `--bitmap`).
const BITMAP: &str = "Without a write-intent bitmap, which mdadm makes on arrays of 100 GB and more: --set array.bitmap=internal has it.";

/// A note on users who got less than before; `None` if they did not.
fn slower_users_sentence(it: &PolicyAnswer) -> Option<String> {
    let before = it.answer.phases.first()?.users?.requests_per_s;
    let during = it.answer.phases.iter().filter(|phase| phase.mb_per_s.is_some()).filter_map(|phase| phase.users);
    let least = during.map(|users| users.requests_per_s).min_by(f64::total_cmp)?;
    let words =
        || format!("{}: users got {} of {} requests a second.", it.policy, round_figure(least), round_figure(before));
    (least < 0.9 * before).then(words)
}

impl RebuildSetup {
    /// The stack, and the users' work, with a policy.
    fn prepare(&self, policy: &SyncPolicyChoice) -> Result<PreparedCell, Error> {
        let mut setup = self.setup.clone();
        (setup.job, setup.runtime) = match &self.users {
            ArrayUsers::Absent => ("random-read".to_owned(), None),
            ArrayUsers::Rate(rate) => {
                setup.files = setup.files.with_text(USERS, &users_job(*rate));
                (USERS.to_owned(), None)
            }
            ArrayUsers::Job(job) => (job.clone(), Some("10000000 s".to_owned())),
        };
        for (key, value) in &policy.settings {
            if setup.set.iter().any(|(set, _)| set == key) {
                let tip = if *key == array::SYNC_SPEED_MAX { ", or md:RATE for md alone" } else { "" };
                return Err(Error::new(format!(
                    "--set {key}: the policy {} sets it; expected one of the two{tip}",
                    policy.name
                )));
            }
            setup.set.push(((*key).to_owned(), value.clone()));
        }
        setup.prepare()
    }

    /// The question, as a title.
    pub fn title(&self, answer: &ArrayAnswer) -> String {
        let next = self.terms.next_loss_hours.map(|hours| format!(", another lost after {} h", round_figure(hours)));
        let task = match self.terms.task {
            ArrayTask::Scrub => "Scrub".to_owned(),
            ArrayTask::Rebuild { lost: 1 } => "Rebuild of one drive".to_owned(),
            ArrayTask::Rebuild { lost } if self.terms.together => format!("Rebuild of {lost} drives together"),
            ArrayTask::Rebuild { lost } => format!("Rebuilds of {lost} drives, one after another"),
        };
        let level = self.setup.set.iter().find(|(key, _)| key == "array").map_or("an array", |(_, level)| level);
        let users = match &self.users {
            ArrayUsers::Absent => "without users".to_owned(),
            ArrayUsers::Rate(rate) => format!("beside {rate} random requests a second"),
            ArrayUsers::Job(job) => format!("beside {job}"),
        };
        let terabytes = round_figure(answer.member_bytes as f64 / 1e12);
        let task = task + &next.unwrap_or_default();
        format!("{task}: {level} of {} x {}, {terabytes} TB of each, {users}", answer.members, self.setup.target)
    }

    /// Sentences that stand below the figures; one of so many bits cannot be read.
    pub fn notes(&self, answers: &[PolicyAnswer], bits_per_error: f64) -> Vec<String> {
        let ended = answers.iter().find(|it| it.answer.hours.is_some()).or(answers.first());
        let mut notes: Vec<String> =
            ended.into_iter().map(|it| self.unreadable_sentence(&it.answer, bits_per_error)).collect();
        notes.extend(answers.iter().filter_map(slower_users_sentence));
        let failed = answers.iter().filter(|it| it.answer.failures > 0);
        notes.extend(failed.map(|it| format!("{}: {} requests of users failed.", it.policy, it.answer.failures)));
        if self.users != ArrayUsers::Absent {
            notes.push(INFERRED.to_owned());
        }
        if self.lacks_bitmap(answers) {
            notes.push(BITMAP.to_owned());
        }
        let mut computed: Vec<&str> = answers.iter().map(|it| it.answer.computed.as_str()).collect();
        computed.dedup();
        notes.extend(computed.into_iter().map(|how| format!("Computed {how}.")));
        notes
    }

    /// True if md would have a write-intent bitmap here that the question leaves out, and users that may feel it.
    fn lacks_bitmap(&self, answers: &[PolicyAnswer]) -> bool {
        let is_md = answers.iter().any(|it| it.policy.starts_with("md"));
        let is_large = answers.first().is_some_and(|it| it.answer.member_bytes > 100_000_000_000);
        let is_set = self.setup.set.iter().any(|(key, _)| key == array::BITMAP);
        is_md && is_large && !is_set && self.users != ArrayUsers::Absent
    }

    /// How many sectors are expected to be unreadable.
    fn unreadable_sentence(&self, answer: &ArrayAnswer, bits_per_error: f64) -> String {
        let expected = expected_unreadable_sectors(answer.read_bytes, bits_per_error);
        let lost = expected_unreadable_sectors(answer.unspared_read_bytes, bits_per_error);
        let consequence = match self.terms.task {
            ArrayTask::Scrub => "the other drives have their data".to_owned(),
            _ if lost > 0.0 => format!(
                "{} of them while no drive can be spared, and their data are lost (at least one with {:.0} %)",
                round_figure(lost),
                100.0 * (1.0 - (-lost).exp())
            ),
            _ => "another drive has their data".to_owned(),
        };
        format!(
            "It reads {} TB. With one unreadable sector in {bits_per_error:e} bits, {} are expected; {consequence}.",
            round_figure(answer.read_bytes / 1e12),
            round_figure(expected),
        )
    }

    /// Refuses terms that have no meaning.
    fn check_terms(&self, policies: &[SyncPolicyChoice]) -> Result<(), Error> {
        let terms = &self.terms;
        let are_hours = |hours: f64| (0.0..=10_000.0).contains(&hours);
        let is_day = |(from, until): (f64, f64)| 0.0 <= from && from < until && until <= 24.0;
        let fault = match self.terms.task {
            _ if policies.is_empty() => "no policy; expected at least one, such as md",
            ArrayTask::Rebuild { lost: 0 } => "lose 0: nothing is lost; expected at least 1",
            _ if !(0.01..=1.0).contains(&terms.share) => "live: expected a share from 1 to 100 %",
            _ if !are_hours(terms.spare_after_hours) => "spare-after: expected hours, such as 10",
            _ if !terms.next_loss_hours.is_none_or(are_hours) => "next-loss: expected hours, such as 10",
            _ if !terms.working_hours.is_none_or(is_day) => "working-hours: expected hours of one day, such as 8-18",
            _ if terms.working_hours.is_some() && self.users == ArrayUsers::Absent => {
                "working-hours: there are no users; expected users or a load as well"
            }
            _ if matches!(self.users, ArrayUsers::Rate(rate) if !(2..=1_000_000).contains(&rate)) => {
                "users: expected 2 to 1,000,000 requests a second"
            }
            _ => return Ok(()),
        };
        Err(Error::new(fault))
    }

    /// Answers for each policy.
    pub fn answer(&self, policies: &[SyncPolicyChoice], observer: &dyn Observer) -> Result<Vec<PolicyAnswer>, Error> {
        self.check_terms(policies)?;
        let mut answers = Vec::new();
        for policy in policies {
            let prepared = self.prepare(policy)?;
            crate::study::warn_once(&prepared.warnings);
            let Target::Sim(stack, _) = &prepared.target else {
                return Err(Error::new(format!(
                    "{}: not a modelled disk; expected a drive or a stack file",
                    self.setup.target
                )));
            };
            if stack.array().is_none() {
                return Err(Error::new("there is no array; expected --array raid-6, or another level"));
            }
            observer.report_work(&policy.name);
            let (done, is_begun) = (AtomicU64::new(0), std::sync::Once::new());
            let on_stretch = |all: u64| {
                is_begun.call_once(|| observer.begin_work(Some(all), 0, "stretches"));
                observer.report_done(done.fetch_add(1, Ordering::Relaxed) + 1);
            };
            let question = ArrayQuestion {
                stack,
                users: Some(&prepared.job).filter(|_| self.users != ArrayUsers::Absent),
                seed: Seed(self.setup.seed),
                terms: self.terms,
            };
            let answer = rebuild::answer(&question, &on_stretch).map_err(Error::new)?;
            answers.push(PolicyAnswer { policy: policy.name.clone(), answer });
        }
        Ok(answers)
    }
}

/// The answers as one self-contained HTML page; `notes` stand below its tables, `command` makes it again.
pub fn render_page(title: &str, answers: &[PolicyAnswer], notes: &[String], command: &str) -> String {
    let named: Vec<(&str, &ArrayAnswer)> = answers.iter().map(|it| (it.policy.as_str(), &it.answer)).collect();
    rebuild::page::render_html(&title_question(title), &named, notes, command)
}

/// The question for which a title stands: `Scrub: …` is `How long does the scrub take: …?`.
fn title_question(title: &str) -> String {
    let Some((task, array)) = title.split_once(": ") else { return title.to_owned() };
    let verb = if task.starts_with("Rebuilds") { "do" } else { "does" };
    let task = task.replacen(['R', 'S'], if task.starts_with('R') { "r" } else { "s" }, 1);
    format!("How long {verb} the {task} take: {array}?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_with_a_question() {
        let questions =
            ["Scrub: a", "Rebuild of one drive: a", "Rebuilds of 2 drives, one after another: a"].map(title_question);
        assert_eq!(questions[0], "How long does the scrub take: a?");
        assert_eq!(questions[1], "How long does the rebuild of one drive take: a?");
        assert_eq!(questions[2], "How long do the rebuilds of 2 drives, one after another take: a?");
    }

    #[test]
    fn policies_are_settings_of_the_array() {
        let settings = |text| SyncPolicyChoice::parse(text).unwrap().settings;
        assert_eq!(settings("md"), []);
        assert_eq!(settings("zfs")[0], (array::SYNC_POLICY, "zfs".to_owned()));
        assert!(settings("fixed:50m").contains(&(array::SYNC_SPEED_MAX, "51200".to_owned())));
        assert!(settings("steady:4").contains(&(array::SYNC_IN_FLIGHT, "4".to_owned())));
        assert_eq!(settings("md:50m"), [(array::SYNC_SPEED_MAX, "51200".to_owned())]);
        assert_eq!(settings("md:500k").len(), 2, "the lower speed follows");
        assert!(settings("objects").contains(&(array::SYNC_TARGET, "files".to_owned())));
        assert!(SyncPolicyChoice::parse("zsf").unwrap_err().contains("did you mean zfs?"));
        assert!(parse_level("raidz2").unwrap_err().contains("did you mean raid-6?"));
        assert_eq!(parse_level("raid-10").as_deref(), Ok("raid-10"));
        for bad in ["", "fast", "md:3", "fixed", "fixed:x", "fixed:1", "steady", "steady:0", "steady:17", "zfs:2"] {
            let why = SyncPolicyChoice::parse(bad).unwrap_err();
            assert!(why.contains("expected"), "{why}");
        }
    }

    #[test]
    fn a_rate_of_users_is_seven_reads_to_three_writes() {
        assert!(users_job(50).contains("rate_iops=35,15\n"));
        assert!(users_job(2).contains("rate_iops=1,1\n"));
    }
}
