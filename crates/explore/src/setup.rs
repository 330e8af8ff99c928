//! A job on a target, as a page names it.

use std::collections::BTreeMap;

use seekwise::{Files, Setup};
use serde::Deserialize;

/// The words of a setup, as on the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupWords {
    pub job: String,
    pub target: String,
    /// Dotted keys, and values.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Such as `5 s`.
    #[serde(default)]
    pub runtime: Option<String>,
    /// Texts that stand for files, by name.
    #[serde(default)]
    pub texts: BTreeMap<String, String>,
}

/// The seed of the command line.
const fn first_seed() -> u64 {
    1
}

impl SetupWords {
    /// The setup, which reads the texts in place of files.
    pub fn to_setup(&self) -> Setup {
        let files = self.texts.iter().fold(Files::default(), |files, (name, text)| files.with_text(name, text));
        let mut setup = Setup::new(&self.job, &self.target).with_seed(self.seed).with_files(files);
        (setup.set, setup.runtime) = (self.set.clone(), self.runtime.clone());
        setup
    }
}
