//! The verdict of a check on what a cut left.
//!
//! | exit code of the check | meaning |
//! |---|---|
//! | 0 | consistent, and everything promised is there |
//! | 10 | consistent; acknowledged data are lost, and may be |
//! | 11 | promised data are lost |
//! | 126, 127 | the check could not run: an error, no answer |
//! | anything else, a signal, or no end in time | corrupt |
//!
//! A file system that cannot be mounted, or in which its checker finds errors afterwards, is corrupt, whatever the check says.

use std::io;

use serde::Serialize;

/// The verdicts, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashVerdict {
    Consistent,
    /// Data are lost that may be lost.
    LostAllowed,
    /// Data are lost that were promised to stay.
    LostPromised,
    /// The content is inconsistent.
    Corrupt,
}

/// Exit codes of checks besides 0.
const LOST_ALLOWED: i32 = 10;
const LOST_PROMISED: i32 = 11;

/// Exit codes of a shell: the command could not run, or was not found.
const NO_COMMAND: [i32; 2] = [126, 127];

impl CrashVerdict {
    /// All verdicts.
    pub const ALL: [CrashVerdict; 4] =
        [CrashVerdict::Consistent, CrashVerdict::LostAllowed, CrashVerdict::LostPromised, CrashVerdict::Corrupt];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            CrashVerdict::Consistent => "consistent",
            CrashVerdict::LostAllowed => "lost, but allowed",
            CrashVerdict::LostPromised => "lost after a promise",
            CrashVerdict::Corrupt => "corrupt",
        }
    }

    /// True if a promise was broken.
    pub fn is_bad(self) -> bool {
        self >= CrashVerdict::LostPromised
    }
}

/// The observations of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutput {
    /// The exit code of the check, if it has one.
    pub code: Option<i32>,
    /// The end of a check without a code, to follow "the check": it died of a signal, or took too long.
    pub died: Option<String>,
    pub printed: String,
    /// The reason why the file system could not be mounted.
    pub unmountable: Option<String>,
    /// Errors that the file system's checker found.
    pub fault: Option<String>,
}

/// A verdict and its reason in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrashFinding {
    pub verdict: CrashVerdict,
    /// The last line that the check printed, or the system's message.
    pub words: String,
}

impl CheckOutput {
    /// The finding; an error if the check could not run.
    pub fn to_finding(&self) -> io::Result<CrashFinding> {
        let last_line = self.printed.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let finding = |verdict, words: &str| Ok(CrashFinding { verdict, words: words.to_owned() });
        if let Some(why) = &self.unmountable {
            return finding(CrashVerdict::Corrupt, why);
        }
        let verdict = match self.code {
            Some(code) if NO_COMMAND.contains(&code) => {
                return Err(io::Error::other(format!("the check could not run (exit code {code}): {last_line}")));
            }
            Some(0) => CrashVerdict::Consistent,
            Some(LOST_ALLOWED) => CrashVerdict::LostAllowed,
            Some(LOST_PROMISED) => CrashVerdict::LostPromised,
            _ => CrashVerdict::Corrupt,
        };
        if let Some(fault) = &self.fault {
            return finding(CrashVerdict::Corrupt, fault);
        }
        match &self.died {
            Some(died) if last_line.is_empty() => finding(verdict, &format!("the check {died}")),
            Some(died) => finding(verdict, &format!("the check {died}; before, it said: {last_line}")),
            None => finding(verdict, last_line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: Option<i32>, fault: Option<&str>) -> CrashFinding {
        let printed = "first\nthe last \n\n".to_owned();
        let died = code.is_none().then(|| "died of SIGSEGV".to_owned());
        CheckOutput { code, died, printed, unmountable: None, fault: fault.map(str::to_owned) }.to_finding().unwrap()
    }

    #[test]
    fn exit_codes_are_verdicts() {
        for (code, verdict) in
            [(0, CrashVerdict::Consistent), (10, CrashVerdict::LostAllowed), (11, CrashVerdict::LostPromised)]
        {
            assert_eq!(said(Some(code), None), CrashFinding { verdict, words: "the last".to_owned() });
        }
        for code in [Some(1), Some(2), Some(255), None] {
            assert_eq!(said(code, None).verdict, CrashVerdict::Corrupt, "a check that knows no code of ours says no");
        }
        assert_eq!(said(Some(0), Some("bad bitmap")).words, "bad bitmap");
        assert_eq!(said(None, None).words, "the check died of SIGSEGV; before, it said: the last");
    }

    /// A medium that cannot be mounted says so first; then a check that could not run; then a fault; then how the check died.
    #[test]
    fn the_first_reason_is_the_one_that_is_said() {
        let text = |is: bool, text: &str| is.then(|| text.to_owned());
        for code in [Some(0), Some(10), Some(11), Some(1), Some(125), Some(126), Some(127), Some(128), None] {
            for bits in 0..8 {
                let [unmountable, fault, silent] = [1, 2, 4].map(|bit| bits & bit != 0);
                let printed = if silent { " \n" } else { "one\n two " }.to_owned();
                let (died, cannot_run) = (text(code.is_none(), "took too long"), matches!(code, Some(126 | 127)));
                let checked = CheckOutput {
                    code,
                    died,
                    printed,
                    unmountable: text(unmountable, "no super block"),
                    fault: text(fault, "a bad bitmap"),
                };
                let said = match (silent, code.is_none()) {
                    (true, true) => "the check took too long",
                    (false, true) => "the check took too long; before, it said: two",
                    (true, false) => "",
                    (false, false) => "two",
                };
                let verdict = match code {
                    Some(0) => CrashVerdict::Consistent,
                    Some(10) => CrashVerdict::LostAllowed,
                    Some(11) => CrashVerdict::LostPromised,
                    _ => CrashVerdict::Corrupt,
                };
                let expected = match (unmountable, cannot_run, fault) {
                    (true, ..) => Some((CrashVerdict::Corrupt, "no super block")),
                    (_, true, _) => None,
                    (.., true) => Some((CrashVerdict::Corrupt, "a bad bitmap")),
                    _ => Some((verdict, said)),
                };
                let expected = expected.map(|(verdict, words)| CrashFinding { verdict, words: words.to_owned() });
                assert_eq!(checked.to_finding().ok(), expected, "{checked:?}");
            }
        }
    }

    #[test]
    fn a_promise_is_broken_by_its_loss_and_by_nonsense() {
        assert_eq!(CrashVerdict::ALL.map(CrashVerdict::is_bad), [false, false, true, true]);
        assert!(CrashVerdict::ALL.is_sorted());
    }

    #[test]
    fn a_check_that_cannot_run_is_no_answer() {
        let printed = "sh: x: not found".into();
        let checked = CheckOutput { code: Some(127), died: None, printed, unmountable: None, fault: None };
        assert!(checked.to_finding().unwrap_err().to_string().contains("x: not found"));
    }
}
