//! A check is tried before it judges, on media whose answer is known. The check must pass on the whole medium, and on the one
//! from before the workload as long as nothing is promised. The check must fail if everything promised is gone, if one record
//! is, and if one is altered. A check that does not is no judge: the error says which answer was wrong and what to do.
//!
//! No file system is known here: changes of files come from the caller. A record is taken away in three ways, until the
//! check notices one: the medium is that of an earlier promise, a file is gone or shorter, and, only if no file can be
//! changed, the list of promises goes on by one that nobody kept. Files of early promises come besides: a check that
//! notices the loss of one at its promise must still notice it at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;

use seekwise_disk::durability::image::MediumImage;
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{History, HistoryMark};
use seekwise_disk::time::Instant;

use super::verdict::{CheckOutput, CrashFinding, CrashVerdict};

/// Changes of the whole medium that a check must notice.
#[derive(Clone, Debug)]
pub struct MediumChanges<C> {
    /// Each takes a record away.
    pub removals: Vec<C>,
    /// Each alters a record, in the file named before it.
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
    /// Without any of what was promised; `None` if nothing was.
    pub empty: Option<CrashFinding>,
    /// With one record missing; `None` if no record could be taken away alone.
    pub removed: Option<NoticedChange>,
    /// With one record altered; `None` if the workload left nothing that could be.
    pub altered: Option<NoticedChange>,
    /// Files in which the check noticed no altered byte, though it did in another.
    pub unnoticed: Vec<String>,
    /// Changes of files of early promises, if there are files of which this can be told.
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
    let (whole, before) = (received_medium(writes, Instant::FAR), received_medium(writes, just_before(begin)));
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
    let empty = prover.try_empty(&before)?;
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
    fn run_check(
        &self,
        image: &MediumImage,
        promises: &[&str],
        change: Option<&C>,
    ) -> Result<Option<CrashFinding>, String> {
        let found = (self.check)(image, promises, change).and_then(|it| it.map(|it| it.to_finding()).transpose());
        found.map_err(|error| error.to_string())
    }

    /// Checks that the loss of everything promised is noticed.
    fn try_empty(&self, before: &MediumImage) -> Result<Option<CrashFinding>, String> {
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

    /// Checks that the loss of a single record is noticed.
    fn try_removals(
        &self,
        history: &History,
        writes: &SessionWrites,
        whole: &MediumImage,
        removals: &[C],
    ) -> Result<Option<NoticedChange>, String> {
        // A single record is everything.
        if self.promises.len() < 2 {
            return Ok(None);
        }
        let mut tried = Vec::new();
        let said: Vec<Instant> =
            history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_))).map(|it| it.0).collect();
        let most = said.len().saturating_sub(1);
        let doubled = std::iter::successors(Some(1), |back| Some(2 * back)).take_while(|back| *back < most);
        for back in doubled.chain([most].into_iter().filter(|most| *most > 0)) {
            if tried.last().is_some_and(is_noticed) {
                break;
            }
            let earlier = received_medium(writes, said[most - back]);
            // Only a medium that holds what was promised by then misses nothing else.
            let by_then = self.run_check(&earlier, &self.promises[..said.len() - back], None)?;
            if by_then.is_some_and(|found| found.verdict == CrashVerdict::Consistent)
                && let Some(finding) = self.run_check(&earlier, &self.promises, None)?
            {
                tried.push((format!("the medium as it was {back} promises before the last"), finding));
            }
        }
        let mut changed = false;
        for removal in removals {
            if tried.last().is_some_and(is_noticed) {
                break;
            }
            if let Some(finding) = self.run_check(whole, &self.promises, Some(removal))? {
                changed = true;
                tried.push((removal.to_string(), finding));
            }
        }
        if let Some(next) = next_line(&self.promises).filter(|_| !changed && !tried.last().is_some_and(is_noticed)) {
            let longer = [&self.promises[..], &[&next]].concat();
            if let Some(finding) = self.run_check(whole, &longer, None)? {
                tried.push((format!("the promise `{next}`, which nobody kept"), finding));
            }
        }
        last_noticed(tried).map_err(|tried| {
            format!(
                "the check does not notice that a promised record is missing: it passes with {tried}; expected exit code 11. \
                 Let it look on the medium for each line of $SEEKWISE_PROMISES. {HINT}"
            )
        })
    }

    /// Checks that changes of early records that are noticed at their promise are noticed at the end.
    fn try_early_changes(
        &self,
        writes: &SessionWrites,
        whole: &MediumImage,
        changes: &[EarlyChange<C>],
    ) -> Result<Vec<NoticedChange>, String> {
        let (mut noticed, mut passes) = (Vec::new(), BTreeMap::new());
        for EarlyChange { at, promises, change } in changes {
            let (earlier, by_then) = (received_medium(writes, *at), &self.promises[..*promises]);
            if !passes.contains_key(promises) {
                let found = self.run_check(&earlier, by_then, None)?;
                passes.insert(*promises, found.is_some_and(|found| found.verdict == CrashVerdict::Consistent));
            }
            let is_bad = |found: Option<CrashFinding>| found.is_some_and(|found| found.verdict.is_bad());
            // Files that are no records appear with a promise too: nobody looks at them.
            if !passes[promises] || !is_bad(self.run_check(&earlier, by_then, Some(change))?) {
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

    /// Checks that an altered record is noticed. Also returns the files in which that never was, if it was in another.
    fn try_alterations(
        &self,
        whole: &MediumImage,
        alterations: &[(String, C)],
    ) -> Result<(Option<NoticedChange>, Vec<String>), String> {
        /// Files that are tried once the check has noticed a change of one.
        const MOST: usize = 8;
        let (mut first, mut tried, mut known) = (None, Vec::new(), BTreeSet::new());
        let mut blind = BTreeSet::new();
        for (place, alteration) in alterations {
            if first.is_some() && (known.contains(place) || known.len() >= MOST) {
                continue;
            }
            let Some(finding) = self.run_check(whole, &self.promises, Some(alteration))? else { continue };
            known.insert(place);
            match (finding.verdict.is_bad(), first.is_some()) {
                (true, true) => {}
                (true, false) => {
                    blind.remove(place);
                    first = Some(NoticedChange { change: alteration.to_string(), finding });
                }
                (false, noticed) => {
                    blind.insert(place);
                    tried.extend((!noticed).then(|| (alteration.to_string(), finding)));
                }
            }
        }
        if first.is_some() {
            return Ok((first, blind.into_iter().cloned().collect()));
        }
        let none = last_noticed(tried).map_err(|tried| {
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

/// A loss that a check allows does not count as noticed: everything could be lost so.
fn is_noticed((_, finding): &TriedChange) -> bool {
    finding.verdict.is_bad()
}

/// The last change if it was noticed; an error lists some of those that were not.
fn last_noticed(mut tried: Vec<TriedChange>) -> Result<Option<NoticedChange>, String> {
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

fn just_before(at: Instant) -> Instant {
    Instant::from_nanos(at.nanos().saturating_sub(1))
}

fn finding_words(finding: &CrashFinding) -> String {
    let said = if finding.words.is_empty() { "it said nothing" } else { finding.words.trim_end_matches('.') };
    format!("{} ({said})", finding.verdict.words())
}

/// The line that would follow if the last two differ in their last number alone.
fn next_line(lines: &[&str]) -> Option<String> {
    let [.., before, last] = lines else { return None };
    let ((head, first, tail), (last_head, second, last_tail)) = (split_last_number(before)?, split_last_number(last)?);
    let (from, to): (u64, u64) = (first.parse().ok()?, second.parse().ok()?);
    let next = to.checked_add(to.checked_sub(from).filter(|step| *step > 0)?)?;
    let width = if second.starts_with('0') { second.len() } else { 0 };
    ((head, tail) == (last_head, last_tail)).then(|| format!("{head}{next:0width$}{tail}"))
}

/// A line around its last number.
fn split_last_number(line: &str) -> Option<(&str, &str, &str)> {
    let end = line.rfind(|c: char| c.is_ascii_digit())? + 1;
    let begin = line[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    Some((&line[..begin], &line[begin..end], &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::{CrashFinding, CrashVerdict, NoticedChange, last_noticed, next_line};

    /// The last change decides whether one was noticed: an error names three that were not, and counts the others.
    #[test]
    fn an_error_names_three_changes_and_counts_the_others() {
        let tried = |verdicts: &[CrashVerdict]| {
            let finding = |verdict: &CrashVerdict| CrashFinding { verdict: *verdict, words: String::new() };
            let changes = ["a", "b", "c", "d", "e"].into_iter().map(str::to_owned);
            last_noticed(changes.zip(verdicts.iter().map(finding)).collect())
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
            assert_eq!(next_line(lines).as_deref(), next, "{lines:?}");
        }
    }
}
