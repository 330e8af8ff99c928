//! Jobs and kinds of requests whose shares of all requests changed, which moves the mean of all without any request changing.

use seekwise_drives::metric::MetricScope;

use super::{CHANGED, WAITING, are_equal};
use crate::run::{KindRecord, RunRecord};

/// The most shares that are named, the largest changes first.
const MOST: usize = 3;

/// The share of a job, or of a kind of request, in the requests of both sides, in percent.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareChange {
    /// `job log`, `reads`.
    pub of: String,
    pub from: f64,
    pub to: f64,
}

impl ShareChange {
    pub(super) fn text(&self) -> String {
        let digits = if self.from.min(self.to) < 1.0 { 2 } else { 1 };
        format!("{} {:.digits$} -> {:.digits$} %", self.of, self.from, self.to)
    }

    fn abs_difference(&self) -> f64 {
        (self.to - self.from).abs()
    }
}

/// A job, or a kind of request, in the mean over the runs of a side.
#[derive(Clone, Copy, Default)]
struct GroupMeans {
    share: f64,
    /// Mean response in ms.
    response: f64,
    /// The part of it that is not waiting, in ms.
    own: f64,
}

impl GroupMeans {
    fn new<'a>(runs: &[&'a RunRecord], view: impl Fn(&'a RunRecord) -> Option<&'a KindRecord>) -> GroupMeans {
        let mut all = GroupMeans::default();
        let mut ios = 0;
        for &run in runs {
            let Some(record) = view(run).filter(|record| record.ios > 0) else { continue };
            let own =
                record.anatomy_ms.iter().filter(|(part, _)| !WAITING.contains(part)).map(|(_, ms)| ms).sum::<f64>();
            all.response += record.mean_ms() * record.ios as f64;
            all.own += own * record.ios as f64;
            ios += record.ios;
        }
        let requests = runs.iter().map(|run| run.all.ios).sum::<u64>();
        let each = ios.max(1) as f64;
        GroupMeans { share: ios as f64 / requests.max(1) as f64, response: all.response / each, own: all.own / each }
    }
}

/// The shares that changed, if their change alone moves the mean response or its own work; none for parts of the requests.
pub(super) fn find_share_changes(whose: &MetricScope, sides: [&[&RunRecord]; 2]) -> Vec<ShareChange> {
    let (of_jobs, of_kinds) = match whose {
        MetricScope::All => (true, true),
        MetricScope::Read | MetricScope::Write => (true, false),
        MetricScope::Job(_) => (false, sides.iter().all(|runs| runs.iter().all(|run| run.groups.is_empty()))),
        MetricScope::Flush | MetricScope::Commit | MetricScope::Operations(_) => (false, false),
    };
    let mut names: Vec<&str> = Vec::new();
    for group in sides.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.groups).filter(|_| of_jobs) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    let job = |name: &str| {
        let of = |runs| GroupMeans::new(runs, |run| Some(&run.groups.iter().find(|group| group.name == name)?.all));
        (format!("job {name}"), sides.map(of))
    };
    let jobs = moved_shares(names.into_iter().map(job).collect());
    if !jobs.is_empty() || !of_kinds {
        return jobs;
    }
    let reads = sides.map(|runs| GroupMeans::new(runs, |run| Some(&run.read)));
    let writes = sides.map(|runs| GroupMeans::new(runs, |run| Some(&run.write)));
    moved_shares(vec![("reads".to_owned(), reads), ("writes".to_owned(), writes)])
}

/// The shares that changed, the largest change first. A mean is the sum of share times time, so the change of shares adds the change of
/// each share times the time midway between the sides.
fn moved_shares(members: Vec<(String, [GroupMeans; 2])>) -> Vec<ShareChange> {
    let is_moved = |time: fn(&GroupMeans) -> f64| {
        let all = |side: usize| members.iter().map(|(_, of)| of[side].share * time(&of[side])).sum::<f64>();
        // The time of a member that one side lacks is that of the other.
        let midway = |[from, to]: [GroupMeans; 2]| match (from.share > 0.0, to.share > 0.0) {
            (true, true) => f64::midpoint(time(&from), time(&to)),
            (true, false) => time(&from),
            _ => time(&to),
        };
        let by_mix: f64 = members.iter().map(|(_, of)| (of[1].share - of[0].share) * midway(*of)).sum();
        by_mix.abs() >= CHANGED * all(0).max(all(1)) && by_mix != 0.0
    };
    if !is_moved(|of| of.response) && !is_moved(|of| of.own) {
        return Vec::new();
    }
    let differ = members.iter().filter(|(_, [from, to])| !are_equal([from.share, to.share]));
    let mut changes: Vec<ShareChange> = differ
        .map(|(name, [from, to])| ShareChange { of: name.clone(), from: 100.0 * from.share, to: 100.0 * to.share })
        .collect();
    changes.sort_by(|one, other| other.abs_difference().total_cmp(&one.abs_difference()));
    changes.truncate(MOST);
    changes
}
