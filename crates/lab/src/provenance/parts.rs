//! The provenance of a review's results: the program, the review's text, and for each part the hash of its provenance,
//! as in the part's own folder.

use serde::{Deserialize, Serialize};

use super::{ProgramVersion, StudyProvenance, as_text};
use crate::digest::sha256;

/// The provenance of a review's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewProvenance {
    pub program: ProgramVersion,
    /// SHA-256 of the review's text.
    pub study_sha256: String,
    /// In order.
    pub parts: Vec<PartProvenance>,
}

/// A part of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartProvenance {
    /// Below the review's folder.
    pub folder: String,
    /// SHA-256 of the part's own `made-from.json`.
    pub made_sha256: String,
}

impl ReviewProvenance {
    /// Collects the provenance of the results of the review with the text `text`, with its parts: the folder of each,
    /// and the SHA-256 of its provenance.
    pub fn new<'a>(text: &str, parts: impl Iterator<Item = (&'a str, String)>) -> ReviewProvenance {
        let part = |(folder, made_sha256): (&str, String)| PartProvenance { folder: folder.to_owned(), made_sha256 };
        ReviewProvenance {
            program: ProgramVersion::current(),
            study_sha256: sha256(text.as_bytes()),
            parts: parts.map(part).collect(),
        }
    }

    /// The text that is written beside the parts.
    pub fn to_text(&self) -> String {
        as_text(self)
    }

    /// SHA-256 of that text.
    pub fn hash(&self) -> String {
        sha256(self.to_text().as_bytes())
    }

    /// Checks that it is what was written beside `review`; an error says what does not fit.
    pub fn check_review(&self, review: &str) -> Result<(), String> {
        match sha256(review.as_bytes()) == self.study_sha256 {
            true => Ok(()),
            false => Err("study.toml is not the review that it was made from: its SHA-256 differs".to_owned()),
        }
    }

    /// Checks that `made`, found in the folder of the part at `place`, made that part's results; an error says what
    /// does not fit.
    pub fn check_part(&self, place: usize, made: &StudyProvenance) -> Result<(), String> {
        let part = &self.parts[place];
        match made.hash() == part.made_sha256 {
            true => Ok(()),
            false => Err(format!(
                "what made the part in {} is not what the review was made of: its SHA-256 differs",
                part.folder
            )),
        }
    }
}
