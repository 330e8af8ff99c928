//! A trial of the check before it judges, on media with a known answer. The check must pass on the whole medium, and on the medium from
//! before the workload as long as nothing is promised. It must fail if everything promised is gone, if a single record is, and if a record
//! is altered. If a check answers otherwise, the error says which answer was wrong and what to do.
//!
//! No file system is known here: changes of files come from the caller. A record is taken away in three ways, until the check notices one:
//!
//! 1. The medium is that of an earlier promise.
//! 2. A file is gone or shorter.
//! 3. Only if no file can be changed: the list of promises has one more, which nobody kept.
//!
//! Files of early promises come besides: a check that notices the loss of one at its promise must still notice it at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;

use seekwise_disk::durability::image::MediumImage;
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{History, HistoryMark};
use seekwise_disk::time::Instant;

use super::instants::instant_before;
use super::verdict::{CheckOutput, CrashFinding, CrashVerdict};

/// Changes of the whole medium that a check must notice.
#[derive(Clone, Debug)]
pub struct MediumChanges<C> {
    /// Each takes a record away.
    pub removals: Vec<C>,
    /// Each alters a record; the file's name is before it.
    pub alterations: Vec<(String, C)>,
    /// Each takes a file of an early promise away or alters it.
    pub early: Vec<EarlyChange<C>>,
}

/// A change of a file that appeared with one promise and stayed as it was until the end.
#[derive(Clone, Debug)]
pub struct EarlyChange<C> {
    /// The instant of that promise.
    pub at: Instant,
    /// Promises by then.
    pub promises: usize,
    pub change: C,
}

/// A check of a medium with these promises, and with one of the changes; `None` if that change does not apply.
pub(crate) type ChangedCheck<'a, C> = dyn Fn(&MediumImage, &[&str], Option<&C>) -> io::Result<Option<CheckOutput>> + 'a;

/// A change that a check noticed, and the finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticedChange {
    /// In words.
    pub change: String,
    pub finding: CrashFinding,
}

/// The answers of a check that may judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckProof {
    /// The finding with everything promised missing; `None` if nothing was promised.
    pub empty: Option<CrashFinding>,
    /// The finding with one record missing; `None` if no record could be taken away alone.
    pub removed: Option<NoticedChange>,
    /// The finding with one record altered; `None` if the workload left no record that could be altered.
    pub altered: Option<NoticedChange>,
    /// Files in which the check noticed no altered byte, though it noticed one in another file.
    pub unnoticed: Vec<String>,
    /// The changes of files of early promises that the check noticed.
    pub early: Vec<NoticedChange>,
}

/// The last words of each error.
const HINT: &str = "A check is tried before it judges, on media whose answer is known";

/// Tries a check on a session. An error says which answer was wrong, or why the check could not run.
pub fn validate_check<C: Display>(
    history: &History,
    writes: &SessionWrites,
    changes: &MediumChanges<C>,
    check: &ChangedCheck<'_, C>,
) -> Result<CheckProof, String> {
    let Some((begin, _)) = history.marked_span() else { return Err("the session was not ended in order".to_owned()) };
    let prover = Prover { check, promises: history.promises_until(Instant::FAR).collect() };
    let (whole, before) = (received_medium(writes, Instant::FAR), received_medium(writes, instant_before(begin)));
    let found = prover.run_check(&whole, &prover.promises, None)?.ok_or("the whole medium was not checked")?;
    if found.verdict != CrashVerdict::Consistent {
        return Err(format!(
            "the check fails on the whole medium, which holds all that the workload wrote: {}; expected exit code 0. Run it by \
             hand after the workload. {HINT}",
            finding_words(&found)
        ));
    }
    let found = prover.run_check(&before, &[], None)?.ok_or("the first medium was not checked")?;
    if found.verdict.is_bad() {
        return Err(format!(
            "the check fails on the medium from before the workload, when nothing was promised: {}; expected exit code 0 as long as \
             the file $SEEKWISE_PROMISES is empty. {HINT}",
            finding_words(&found)
        ));
    }
    let empty = prover.try_everything_lost(&before)?;
    let removed = prover.try_removals(history, writes, &whole, &changes.removals)?;
    let early = prover.try_early_changes(writes, &whole, &changes.early)?;
    let (altered, unnoticed) = prover.try_alterations(&whole, &changes.alterations)?;
    if empty.is_none() && altered.is_none() {
        return Err(
            "the workload printed no promise and left no changed file: nothing can be lost; expected a workload that \
                    writes, and prints a line for each thing that is safe"
                .to_owned(),
        );
    }
    Ok(CheckProof { empty, removed, altered, unnoticed, early })
}

/// A check, and everything that was promised.
struct Prover<'a, C> {
    check: &'a ChangedCheck<'a, C>,
    promises: Vec<&'a str>,
}

impl<C: Display> Prover<'_, C> {
    /// The finding on a medium; `None` if the change does not apply to it.
    fn run_check(
        &self,
        image: &MediumImage,
        promises: &[&str],
        change: Option<&C>,
    ) -> Result<Option<CrashFinding>, String> {
        let finding = (self.check)(image, promises, change)
            .and_then(|output| output.map(|output| output.to_finding()).transpose());
        finding.map_err(|error| error.to_string())
    }

    /// Tries the medium from before the workload; an error if the loss of everything promised is not noticed.
    fn try_everything_lost(&self, before: &MediumImage) -> Result<Option<CrashFinding>, String> {
        if self.promises.is_empty() {
            return Ok(None);
        }
        let found = self.run_check(before, &self.promises, None)?;
        match found {
            Some(found) if !found.verdict.is_bad() => Err(format!(
                "the check passes on the medium from before the workload, on which all of the {} promises are lost: {}; expected exit \
                 code 11. Let it look on the medium for each line of $SEEKWISE_PROMISES, and let the workload print no line for what \
                 may always be lost. {HINT}",
                self.promises.len(),
                finding_words(&found)
            )),
            found => Ok(found),
        }
    }

    /// Tries losses of a single record; an error if none is noticed.
    fn try_removals(
        &self,
        history: &History,
        writes: &SessionWrites,
        whole: &MediumImage,
        removals: &[C],
    ) -> Result<Option<NoticedChange>, String> {
        // With one promise, a single record is everything.
        if self.promises.len() < 2 {
            return Ok(None);
        }
        let mut tried = Vec::new();
        let promised_at: Vec<Instant> =
            history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_))).map(|it| it.0).collect();
        let most_back = promised_at.len().saturating_sub(1);
        let doubled = std::iter::successors(Some(1), |back| Some(2 * back)).take_while(|back| *back < most_back);
        for back in doubled.chain([most_back].into_iter().filter(|back| *back > 0)) {
            if tried.last().is_some_and(is_noticed) {
                break;
            }
            let earlier = received_medium(writes, promised_at[most_back - back]);
            // Only a medium that holds what was promised by then misses nothing else.
            let by_then = self.run_check(&earlier, &self.promises[..promised_at.len() - back], None)?;
            if by_then.is_some_and(|found| found.verdict == CrashVerdict::Consistent)
                && let Some(finding) = self.run_check(&earlier, &self.promises, None)?
            {
                let promises = if back == 1 { "one promise".to_owned() } else { format!("{back} promises") };
                tried.push((format!("the medium as it was {promises} before the last"), finding));
            }
        }
        let mut any_applied = false;
        for removal in removals {
            if tried.last().is_some_and(is_noticed) {
                break;
            }
            if let Some(finding) = self.run_check(whole, &self.promises, Some(removal))? {
                any_applied = true;
                tried.push((removal.to_string(), finding));
            }
        }
        if let Some(next) =
            next_numbered_line(&self.promises).filter(|_| !any_applied && !tried.last().is_some_and(is_noticed))
        {
            let longer = [&self.promises[..], &[&next]].concat();
            if let Some(finding) = self.run_check(whole, &longer, None)? {
                tried.push((format!("the promise `{next}`, which nobody kept"), finding));
            }
        }
        last_change_if_noticed(tried).map_err(|tried| {
            format!(
                "the check does not notice that a promised record is missing: it passes with {tried}; expected exit code 11. \
                 Let it look on the medium for each line of $SEEKWISE_PROMISES. {HINT}"
            )
        })
    }

    /// Tries changes of early records; an error if one is noticed at its promise and not at the end.
    fn try_early_changes(
        &self,
        writes: &SessionWrites,
        whole: &MediumImage,
        changes: &[EarlyChange<C>],
    ) -> Result<Vec<NoticedChange>, String> {
        let (mut noticed, mut passes_unchanged) = (Vec::new(), BTreeMap::new());
        for EarlyChange { at, promises, change } in changes {
            let (earlier, by_then) = (received_medium(writes, *at), &self.promises[..*promises]);
            if !passes_unchanged.contains_key(promises) {
                let found = self.run_check(&earlier, by_then, None)?;
                passes_unchanged
                    .insert(*promises, found.is_some_and(|found| found.verdict == CrashVerdict::Consistent));
            }
            let is_bad = |found: Option<CrashFinding>| found.is_some_and(|found| found.verdict.is_bad());
            // Files that are no records appear with a promise too; the check does not look at them.
            if !passes_unchanged[promises] || !is_bad(self.run_check(&earlier, by_then, Some(change))?) {
                continue;
            }
            match self.run_check(whole, &self.promises, Some(change))? {
                None => {}
                Some(finding) if finding.verdict.is_bad() => {
                    noticed.push(NoticedChange { change: change.to_string(), finding });
                }
                Some(finding) => {
                    return Err(format!(
                        "the check forgets an earlier promise: it notices {change} as long as there are {promises} promises, and not \
                         with all {}: {}; expected exit code 11. Let it look on the medium for each line of $SEEKWISE_PROMISES, and \
                         let the workload delete what a later promise replaces. {HINT}",
                        self.promises.len(),
                        finding_words(&finding)
                    ));
                }
            }
        }
        Ok(noticed)
    }

    /// Tries alterations of a record; an error if none is noticed. Also returns the files in which none was, if one was noticed in another.
    fn try_alterations(
        &self,
        whole: &MediumImage,
        alterations: &[(String, C)],
    ) -> Result<(Option<NoticedChange>, Vec<String>), String> {
        /// Files that are tried once the check has noticed a change of one.
        const MOST_FILES: usize = 8;
        let (mut first, mut unnoticed, mut tried_files) = (None, Vec::new(), BTreeSet::new());
        let mut unnoticed_files = BTreeSet::new();
        for (file, alteration) in alterations {
            if first.is_some() && (tried_files.contains(file) || tried_files.len() >= MOST_FILES) {
                continue;
            }
            let Some(finding) = self.run_check(whole, &self.promises, Some(alteration))? else { continue };
            tried_files.insert(file);
            if !finding.verdict.is_bad() {
                unnoticed_files.insert(file);
                unnoticed.extend(first.is_none().then(|| (alteration.to_string(), finding)));
            } else if first.is_none() {
                unnoticed_files.remove(file);
                first = Some(NoticedChange { change: alteration.to_string(), finding });
            }
        }
        if first.is_some() {
            return Ok((first, unnoticed_files.into_iter().cloned().collect()));
        }
        let none = last_change_if_noticed(unnoticed).map_err(|tried| {
            format!(
                "the check does not notice altered data: it passes with {tried}; expected exit code 11, or 1 for a corrupt medium. Let \
                 it compare contents, not only names, sizes or counts. {HINT}"
            )
        })?;
        Ok((none, Vec::new()))
    }
}

/// A change that was tried, and the finding.
type TriedChange = (String, CrashFinding);

/// True if the check noticed a change. A loss that it allows does not count: everything could be lost in that way.
fn is_noticed((_, finding): &TriedChange) -> bool {
    finding.verdict.is_bad()
}

/// The last change if it was noticed; an error lists some of the changes that were not.
fn last_change_if_noticed(mut tried: Vec<TriedChange>) -> Result<Option<NoticedChange>, String> {
    const NAMED: usize = 3;
    match tried.pop() {
        None => Ok(None),
        Some((change, finding)) if finding.verdict.is_bad() => Ok(Some(NoticedChange { change, finding })),
        Some(last) => {
            tried.push(last);
            let more = tried.len().saturating_sub(NAMED);
            let named: Vec<&str> = tried.iter().take(NAMED).map(|it| it.0.as_str()).collect();
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            Err(format!("{}{more}", named.join(", or ")))
        }
    }
}

/// The medium with everything that the disk had accepted by `at`.
pub fn received_medium(writes: &SessionWrites, at: Instant) -> MediumImage {
    MediumImage::without_writes(writes, at, &[])
}

fn finding_words(finding: &CrashFinding) -> String {
    let words = if finding.words.is_empty() { "it said nothing" } else { finding.words.trim_end_matches('.') };
    format!("{} ({words})", finding.verdict.words())
}

/// The line that would come next, if the last two differ in their last number alone.
fn next_numbered_line(lines: &[&str]) -> Option<String> {
    let [.., before, last] = lines else { return None };
    let ((head, first, tail), (last_head, second, last_tail)) = (split_last_number(before)?, split_last_number(last)?);
    let (from, to): (u64, u64) = (first.parse().ok()?, second.parse().ok()?);
    let next = to.checked_add(to.checked_sub(from).filter(|step| *step > 0)?)?;
    let width = if second.starts_with('0') { second.len() } else { 0 };
    ((head, tail) == (last_head, last_tail)).then(|| format!("{head}{next:0width$}{tail}"))
}

/// A line before its last number, that number, and the line after it.
fn split_last_number(line: &str) -> Option<(&str, &str, &str)> {
    let end = line.rfind(|c: char| c.is_ascii_digit())? + 1;
    let begin = line[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    Some((&line[..begin], &line[begin..end], &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::{CrashFinding, CrashVerdict, NoticedChange, last_change_if_noticed, next_numbered_line};

    /// The last change decides whether one was noticed: an error names three that were not, and counts the others.
    #[test]
    fn an_error_names_three_changes_and_counts_the_others() {
        let tried = |verdicts: &[CrashVerdict]| {
            let finding = |verdict: &CrashVerdict| CrashFinding { verdict: *verdict, words: String::new() };
            let changes = ["a", "b", "c", "d", "e"].into_iter().map(str::to_owned);
            last_change_if_noticed(changes.zip(verdicts.iter().map(finding)).collect())
        };
        let passes = [CrashVerdict::Consistent; 5];
        for (number, said) in [
            (1, "a"),
            (2, "a, or b"),
            (3, "a, or b, or c"),
            (4, "a, or b, or c, and 1 more"),
            (5, "a, or b, or c, and 2 more"),
        ] {
            assert_eq!(tried(&passes[..number]), Err(said.to_owned()));
        }
        assert_eq!(tried(&[]), Ok(None));
        assert_eq!(tried(&[CrashVerdict::LostAllowed]), Err("a".to_owned()), "an allowed loss is not noticed");
        for verdict in [CrashVerdict::LostPromised, CrashVerdict::Corrupt] {
            let finding = CrashFinding { verdict, words: String::new() };
            let noticed = NoticedChange { change: "b".to_owned(), finding };
            assert_eq!(tried(&[CrashVerdict::Consistent, verdict]), Ok(Some(noticed)));
        }
    }

    #[test]
    fn a_list_of_numbers_goes_on() {
        for (lines, next) in [
            (&["commit 8", "commit 9"][..], Some("commit 10")),
            (&["record 4096", "record 8192"], Some("record 12288")),
            (&["f007 is there", "f008 is there"], Some("f009 is there")),
            (&["é1", "é2"], Some("é3")),
            (&["1", "2"], Some("3")),
            (&["a 1", "b 2"], None),
            (&["a 2", "a 2"], None),
            (&["a 3", "a 2"], None),
            (&["copied", "moved"], None),
            (&["a 1"], None),
            (&["a 1", "a 18446744073709551615"], None),
        ] {
            assert_eq!(next_numbered_line(lines).as_deref(), next, "{lines:?}");
        }
    }
}
