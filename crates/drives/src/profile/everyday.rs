//! The section `[everyday]` of a profile: the cases in which a drive really deviates from the arithmetic on its own figures,
//! each with its source. The cases are those of `seekwise drives NAME --check`; `lab/everyday` defines what they run and expect.
//!
//! ```toml
//! [everyday]
//! "random cached writes, 4 KiB, depth 1" = { misses = "why", measured = "who measured it" }
//! ```

use toml::Spanned;
use toml::de::DeValue;

use crate::figure::{FigureOrigin, FigureReader, KINDS};

/// The names of all cases, in the order of the table.
pub const CASES: [&str; 44] = [
    "sequential reads, 4 KiB, depth 1",
    "sequential reads, 16 KiB, depth 1",
    "sequential reads, 64 KiB, depth 1",
    "sequential reads, 256 KiB, depth 1",
    "sequential reads, 1 MiB, depth 1",
    "sequential reads, 4 MiB, depth 1",
    "sequential reads, 4 KiB, depth 8",
    "sequential reads, 16 KiB, depth 8",
    "sequential reads, 64 KiB, depth 8",
    "sequential reads, 256 KiB, depth 8",
    "sequential reads, 1 MiB, depth 8",
    "sequential reads, 4 MiB, depth 8",
    "sequential reads, 64 KiB, depth 1, inner zone",
    "sequential cached writes, 4 KiB, depth 1",
    "sequential cached writes, 16 KiB, depth 1",
    "sequential cached writes, 64 KiB, depth 1",
    "sequential cached writes, 256 KiB, depth 1",
    "sequential cached writes, 1 MiB, depth 1",
    "sequential cached writes, 4 MiB, depth 1",
    "sequential cached writes, 4 KiB, depth 8",
    "sequential cached writes, 16 KiB, depth 8",
    "sequential cached writes, 64 KiB, depth 8",
    "sequential cached writes, 256 KiB, depth 8",
    "sequential cached writes, 1 MiB, depth 8",
    "sequential cached writes, 4 MiB, depth 8",
    "sequential cached writes, 512 B, depth 1",
    "sequential cached writes, 512 B, depth 8",
    "sequential uncached writes, 4 KiB, depth 1",
    "random reads, 4 KiB, depth 1",
    "random reads, 4 KiB, depth 2",
    "random reads, 4 KiB, depth 8",
    "random reads, 4 KiB, depth 32",
    "random reads, 64 KiB, depth 1",
    "random reads, 1 MiB, depth 1",
    "random reads, 4 KiB, depth 1, inside 1 GB",
    "random uncached writes, 4 KiB, depth 1",
    "random uncached writes, 4 KiB, depth 1, inside 1 GB",
    "random uncached writes, 64 KiB, depth 1",
    "random uncached writes, 512 B, depth 1",
    "random cached writes, 4 KiB, depth 1",
    "random cached writes, 4 KiB, depth 32",
    "random cached writes, 4 KiB, depth 1, inside 1 GB",
    "random cached writes, 4 KiB, depth 32, inside 1 GB",
    "overwrite and flush, 4 KiB",
];

/// A case in which the drive deviates.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseException {
    pub case: &'static str,
    /// The reason.
    pub misses: String,
    /// The origin of the observation.
    pub kind: FigureOrigin,
    /// Citation or derivation.
    pub source: String,
}

impl FigureReader<'_> {
    /// Reads `[everyday]`; errors go to `errors`.
    pub(super) fn read_everyday(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<CaseException> {
        let line = self.line_at(value.span().start);
        let Some(table) = value.get_ref().as_table() else {
            let wrong = self.diagnostic(line, "not a table").with_key("everyday");
            self.errors.push(wrong);
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, entry) in table {
            let name = name.get_ref().as_ref();
            let line = self.line_at(entry.span().start);
            let key = format!("everyday.\"{name}\"");
            let Some(case) = CASES.iter().find(|case| **case == name) else {
                let wrong = self.diagnostic(line, "unknown case").with_key(key).suggest_nearest(name, CASES);
                self.errors.push(wrong);
                continue;
            };
            match self.read_exception(case, entry.get_ref(), &key, line) {
                Some(exception) => all.push(exception),
                None => {
                    let wrong = self.diagnostic(line, "is not a case with a reason and a source").with_key(key);
                    self.errors
                        .push(wrong.with_expected("{ misses = \"why\", measured | datasheet | inferred = \"…\" }"));
                }
            }
        }
        all
    }

    fn read_exception(
        &mut self,
        case: &'static str,
        entry: &DeValue<'_>,
        key: &str,
        line: usize,
    ) -> Option<CaseException> {
        let (mut misses, mut source) = (None, None);
        for (word, text) in entry.as_table()? {
            let (word, text) = (word.get_ref().as_ref(), text.get_ref().as_str()?.trim());
            let kind = KINDS.iter().find(|kind| kind.0 == word);
            match (word, kind) {
                _ if text.is_empty() => return None,
                ("misses", _) => misses = Some(text.to_owned()),
                (_, Some(&(_, kind))) if source.is_none() => {
                    source = Some((kind, self.expand_citations(text, key, line)))
                }
                _ => return None,
            }
        }
        let (kind, source) = source?;
        Some(CaseException { case, misses: misses?, kind, source })
    }
}
