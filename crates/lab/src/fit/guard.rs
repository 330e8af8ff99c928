//! The guard over a fit's result: it never makes worse what it was shown or what was held back, as a whole or for a class of requests.
//!
//! A group of the loss is *off* if its simulated mean differs from the measured one in both halves, to the same side, beyond noise. The
//! result must not make such a group worse in either half, nor all reads or all writes. If it does, changes are put back one by one until
//! it does not; so much of the fit stays as the held-back data confirm. While a group stays off, changes that both halves confirm are added.
//! A group that stays off although everything was tried is named.

use super::data::LossAndDraws;
use super::evaluator::{PointEvaluator, Question, share_of_draws_better};
use super::judge::{JudgeShares, RejectionReason};
use super::loss::{GroupError, READS, WRITES};
use super::search::{self, SearchEffort};
use super::slope::{best_of_points, descend_by_least_squares, set_with_followers};

/// Standard errors by which both halves' means must differ to the same side: by chance one group in a thousand does.
const CLEAR: f64 = 2.0;

/// The least share of the measured mean that counts as off: the eight measured drives are reproduced within 0.4 to 3 %.
const LEAST_SHARE: f64 = 0.02;

/// The share of draws in which a group must be worse, or better, to count. Up to eleven groups are compared in two halves: at one standard
/// error, as for the whole, one of them nearly always looks worse by chance; at this share one in five times.
const GROUP_SURE: f64 = 0.99;

/// The largest share of a group's distance that may remain for the group to be mended.
const MENDED: f64 = 0.75;

/// The most groups that are named.
const MOST_NAMED: usize = 3;

/// The most changes that are added for groups that stay off.
const ADDITIONS: usize = 8;

/// Steps in which the range of a number is scanned for such a change.
const SCANNED: u32 = 8;

/// The most such changes whose numbers follow, each time.
const FOLLOWED: usize = 5;

/// The errors of the groups of the seen and of the held-back requests.
type HalfErrors = [Vec<GroupError>; 2];

/// A group that stays off in both halves.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmendedGroup {
    /// The file and the requests in words.
    pub name: String,
    /// The measured mean of the seen and of the held-back requests.
    pub measured_ms: [f64; 2],
    /// The simulated means.
    pub simulated_ms: [f64; 2],
}

impl UnmendedGroup {
    /// The warning, in a sentence.
    pub(crate) fn warning_text(&self) -> String {
        let UnmendedGroup { name, measured_ms: [seen, held], simulated_ms: [seen_simulated, held_simulated] } = self;
        format!(
            "{name}: they take {seen:.3} ms and the model {seen_simulated:.3} ms (held back: {held:.3} and {held_simulated:.3}); \
             no rule and no figure in its range mends it without harm elsewhere: the drive does something that the model lacks, or the measurement had \
             another condition"
        )
    }
}

/// The start of a fit, with which its result is compared.
pub(crate) struct Guard<'a, 'b> {
    evaluator: &'a PointEvaluator<'b>,
    origin: &'a [f64],
    shares: JudgeShares,
    seen_loss: f64,
    held_losses: Option<LossAndDraws>,
    groups: HalfErrors,
    /// Names of the groups that are off at the start.
    off: Vec<String>,
}

impl<'a, 'b> Guard<'a, 'b> {
    /// Measures the start.
    pub fn new(evaluator: &'a PointEvaluator<'b>, origin: &'a [f64], shares: JudgeShares) -> Guard<'a, 'b> {
        let groups = evaluator.group_errors(origin).unwrap_or_default();
        Guard {
            evaluator,
            origin,
            shares,
            seen_loss: evaluator.loss(origin),
            held_losses: evaluator.has_held_data().then(|| evaluator.ask(Question::Held, origin)),
            off: groups_off_in_both_halves(&groups),
            groups,
        }
    }

    /// True if `point` makes nothing worse, and is surely better on the held-back data or for a group that was off.
    pub fn accepts(&self, point: &[f64]) -> bool {
        self.fault_count(point, true) == 0
    }

    /// The number of ways in which `point` is worse than the start; with `needs_gain`, no sure gain is one more.
    fn fault_count(&self, point: &[f64], needs_gain: bool) -> usize {
        let mut faults = usize::from(self.evaluator.loss(point) > self.seen_loss);
        let mut gained = true;
        if let Some(before) = &self.held_losses {
            let after = self.evaluator.ask(Question::Held, point);
            faults += usize::from(share_of_draws_better(before, &after) >= self.shares.sure);
            gained = share_of_draws_better(&after, before) >= self.shares.sure;
        }
        if let Some(after) = self.evaluator.group_errors(point) {
            let comparison = compare_groups(&self.groups, &after, &self.off);
            faults += comparison.worse;
            gained |= comparison.mends_one;
        }
        faults + usize::from(needs_gain && !gained)
    }

    /// Puts back as few changes of `point` as the guard asks for, and marks them in `reasons`.
    pub fn keep_acceptable(
        &self,
        point: Vec<f64>,
        effort: SearchEffort,
        reasons: &mut [Option<RejectionReason>],
    ) -> Vec<f64> {
        if point == self.origin || self.accepts(&point) {
            return point;
        }
        // Jobs take seconds a point: they are kept or put back as a whole.
        let kept = match effort.thorough {
            true => self.best_acceptable_part(&point, effort),
            false => self.origin.to_vec(),
        };
        if self.evaluator.ended_at_checkpoint() {
            return point;
        }
        for index in (0..kept.len()).filter(|&index| kept[index] == self.origin[index] && point[index] != kept[index]) {
            reasons[index] = Some(RejectionReason::NotBetter);
        }
        kept
    }

    /// The better of two parts of the changes: those that remain if changes are put back one by one, and those that can be added one by
    /// one.
    fn best_acceptable_part(&self, point: &[f64], effort: SearchEffort) -> Vec<f64> {
        let parts = [self.without_refused_changes(point.to_vec()), self.with_accepted_changes(point)];
        let settled = parts.map(|part| self.settle_numbers(part, effort));
        best_of_points(self.evaluator, settled.into())
    }

    /// Adds changes to `point` while a group stays off: a change that was put back, because others had taken its share or hidden it, may be
    /// what the group needs. A change stays that both halves confirm.
    pub fn mend_groups(
        &self,
        mut point: Vec<f64>,
        free: &[bool],
        effort: SearchEffort,
        reasons: &mut [Option<RejectionReason>],
    ) -> Vec<f64> {
        for _ in 0..ADDITIONS {
            if self.unmended_groups(&point).is_empty() || self.evaluator.ended_at_checkpoint() {
                break;
            }
            let is_confirmed = |other: &Vec<f64>| {
                let is_better = |question| {
                    let [after, before] = [other, &point].map(|point| self.evaluator.ask(question, point));
                    share_of_draws_better(&after, &before) >= self.shares.sure
                };
                is_better(Question::Drawn) && is_better(Question::Held) && self.accepts(other)
            };
            let Some(next) = self.additions(&point, free, effort).into_iter().find(is_confirmed) else { break };
            point = next;
        }
        self.moved_indices(&point).into_iter().for_each(|index| reasons[index] = None);
        point
    }

    /// `point` with one more change, its moved numbers following: the changes that alone lower the loss most, the best first.
    fn additions(&self, point: &[f64], free: &[bool], effort: SearchEffort) -> Vec<Vec<f64>> {
        let with_value = |index: usize, value: f64| {
            let mut other = point.to_vec();
            other[index] = value;
            other
        };
        let unmoved = (0..point.len()).filter(|&index| free[index] && point[index] == self.origin[index]);
        let numbers = unmoved.filter_map(|index| Some((index, self.evaluator.parameters[index].range()?)));
        let scans = numbers.map(|(index, range)| {
            let values = (0..=SCANNED).map(|place| range.value_at(f64::from(place) / f64::from(SCANNED)));
            best_of_points(self.evaluator, values.map(|value| with_value(index, value)).collect())
        });
        let choices = search::promising_choices(self.evaluator, point, &[]);
        let mut candidates: Vec<Vec<f64>> =
            scans.chain(choices.into_iter().map(|(index, word)| with_value(index, word))).collect();
        self.sort_by_loss(&mut candidates);
        candidates.truncate(FOLLOWED);
        let mut followed: Vec<Vec<f64>> = candidates
            .into_iter()
            .map(|other| {
                let moved = self.moved_indices(&other);
                let free: Vec<bool> = (0..other.len()).map(|index| moved.contains(&index)).collect();
                descend_by_least_squares(self.evaluator, other, &free, effort.step_widths())
            })
            .collect();
        self.sort_by_loss(&mut followed);
        followed
    }

    fn sort_by_loss(&self, points: &mut [Vec<f64>]) {
        points.sort_by(|a, b| self.evaluator.loss(a).total_cmp(&self.evaluator.loss(b)));
    }

    fn moved_indices(&self, point: &[f64]) -> Vec<usize> {
        (0..point.len()).filter(|&index| point[index] != self.origin[index]).collect()
    }

    /// Puts back changes one by one, each time the one that leaves fewest faults, and of equal ones the least loss.
    fn without_refused_changes(&self, mut point: Vec<f64>) -> Vec<f64> {
        while point != self.origin && !self.accepts(&point) && !self.evaluator.ended_at_checkpoint() {
            let moved = self.moved_indices(&point);
            let free: Vec<bool> = (0..point.len()).map(|index| moved.contains(&index)).collect();
            let mut candidates = Vec::new();
            for index in moved {
                let mut alone = point.clone();
                alone[index] = self.origin[index];
                candidates.push(alone);
                if self.evaluator.parameters[index].range().is_some() {
                    candidates.push(set_with_followers(self.evaluator, &point, &free, index, self.origin[index]));
                }
            }
            let rank = |other: &Vec<f64>| (self.fault_count(other, true), self.evaluator.loss(other));
            let ranked = candidates.into_iter().map(|other| (rank(&other), other));
            let least = ranked.min_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            point = least.map_or_else(|| self.origin.to_vec(), |(_, other)| other);
        }
        point
    }

    /// Adds changes of `point` to the start one by one, each time the one that lowers the seen loss most without a fault.
    fn with_accepted_changes(&self, point: &[f64]) -> Vec<f64> {
        let mut kept = self.origin.to_vec();
        loop {
            let rest = (0..point.len()).filter(|&index| kept[index] != point[index]);
            let mut candidates: Vec<Vec<f64>> = Vec::new();
            for index in rest {
                let mut other = kept.clone();
                other[index] = point[index];
                candidates.push(other);
            }
            let losses = self.evaluator.losses(&candidates);
            let loss = self.evaluator.loss(&kept);
            let mut order: Vec<usize> = (0..candidates.len()).filter(|&index| losses[index] < loss).collect();
            order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
            let next = order.into_iter().find(|&index| self.fault_count(&candidates[index], false) == 0);
            match next.filter(|_| !self.evaluator.ended_at_checkpoint()) {
                Some(index) => kept.clone_from(&candidates[index]),
                None => return if self.accepts(&kept) { kept } else { self.origin.to_vec() },
            }
        }
    }

    /// `point` with its moved numbers settled by least squares, if the guard accepts that.
    fn settle_numbers(&self, point: Vec<f64>, effort: SearchEffort) -> Vec<f64> {
        if point == self.origin {
            return point;
        }
        let moved = self.moved_indices(&point);
        let free: Vec<bool> = (0..point.len()).map(|index| moved.contains(&index)).collect();
        let settled = descend_by_least_squares(self.evaluator, point.clone(), &free, effort.step_widths());
        if self.accepts(&settled) { settled } else { point }
    }

    /// The groups that were off at the start and remain so at `point`, the furthest first.
    pub fn unmended_groups(&self, point: &[f64]) -> Vec<UnmendedGroup> {
        let Some(after) = self.evaluator.group_errors(point) else { return Vec::new() };
        let mut unmended = unmended_groups(&self.groups, &after, &self.off);
        unmended.truncate(MOST_NAMED);
        unmended
    }
}

/// The error of a group in each half; `None` unless both halves have it.
fn errors_of_group<'e>(halves: &'e HalfErrors, name: &str) -> Option<[&'e GroupError; 2]> {
    let [seen, held] = [0, 1].map(|half| halves[half].iter().find(|error| error.name == name));
    Some([seen?, held?])
}

/// The difference of a group's means, simulated less measured.
fn mean_difference_ms(error: &GroupError) -> f64 {
    error.simulated_ms - error.measured_ms
}

/// True if a group's means differ beyond noise.
fn is_off(error: &GroupError) -> bool {
    mean_difference_ms(error).abs() > (CLEAR * error.noise_ms).max(LEAST_SHARE * error.measured_ms)
}

/// The names of groups that are off in both halves to the same side.
fn groups_off_in_both_halves(halves: &HalfErrors) -> Vec<String> {
    let is_off_twice = |name: &str| {
        errors_of_group(halves, name).is_some_and(|[seen, held]| {
            is_off(seen) && is_off(held) && (mean_difference_ms(seen) > 0.0) == (mean_difference_ms(held) > 0.0)
        })
    };
    halves[0].iter().map(|error| &error.name).filter(|name| is_off_twice(name)).cloned().collect()
}

/// The result of a comparison of groups before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupComparison {
    /// Number of guarded groups that became worse, counted in each half.
    worse: usize,
    /// True if a group that was off became better in both halves.
    mends_one: bool,
}

/// Compares groups by their losses in the draws: the groups `off`, all reads, and all writes.
fn compare_groups(before: &HalfErrors, after: &HalfErrors, off: &[String]) -> GroupComparison {
    let mut comparison = GroupComparison { worse: 0, mends_one: false };
    for name in before[0].iter().map(|error| &error.name) {
        let was_off = off.contains(name);
        let is_direction = [READS, WRITES].iter().any(|direction| name.ends_with(&format!(": {direction}")));
        let (Some(before), Some(after)) = (errors_of_group(before, name), errors_of_group(after, name)) else {
            continue;
        };
        if was_off || is_direction {
            let is_worse =
                |half: &usize| share_of_draws_better(&before[*half].losses, &after[*half].losses) >= GROUP_SURE;
            let is_better =
                |half: usize| share_of_draws_better(&after[half].losses, &before[half].losses) >= GROUP_SURE;
            comparison.worse += [0, 1].iter().filter(|half| is_worse(half)).count();
            comparison.mends_one |= was_off && [0, 1].into_iter().all(is_better);
        }
    }
    comparison
}

/// The groups `off` that are off to the same side after the fit too, and in one of the halves about as far as before; the furthest first,
/// as a share of the measured mean.
fn unmended_groups(before: &HalfErrors, after: &HalfErrors, off: &[String]) -> Vec<UnmendedGroup> {
    let still_off = groups_off_in_both_halves(after);
    let mut unmended: Vec<(f64, UnmendedGroup)> = Vec::new();
    for name in off.iter().filter(|name| still_off.contains(name)) {
        let (Some(before), Some(after)) = (errors_of_group(before, name), errors_of_group(after, name)) else {
            continue;
        };
        let remains = |half: &usize| {
            let ratio = mean_difference_ms(after[*half]) / mean_difference_ms(before[*half]);
            ratio > MENDED
        };
        if [0, 1].iter().any(remains) {
            let share = mean_difference_ms(after[0]).abs() / after[0].measured_ms;
            let (measured_ms, simulated_ms) =
                (after.map(|error| error.measured_ms), after.map(|error| error.simulated_ms));
            unmended.push((share, UnmendedGroup { name: name.clone(), measured_ms, simulated_ms }));
        }
    }
    unmended.sort_by(|a, b| b.0.total_cmp(&a.0));
    unmended.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests;
