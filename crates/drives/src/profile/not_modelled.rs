//! The section `[not_modelled]` of a profile: parameters of a foreign description that would change a result and have no
//! counterpart in the model. `seekwise import` writes the section, which changes no figure; `seekwise validate` names the
//! parameters that may explain a deviation.
//!
//! ```toml
//! [not_modelled]
//! "Preseeking level" = "1 (tiny.diskspecs:18): the arm moves for the next command before the current one completes"
//! ```

use toml::Spanned;
use toml::de::DeValue;

use crate::figure::FigureReader;

/// A parameter of a drive's foreign description that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignParameter {
    pub key: String,
    /// The value, where it stands and what it would do.
    pub says: String,
}

impl FigureReader<'_> {
    /// Reads `[not_modelled]`; errors go to `errors`.
    pub(super) fn read_not_modelled(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<ForeignParameter> {
        let line = self.line_at(value.span().start);
        let Some(table) = value.get_ref().as_table() else {
            let wrong = self.diagnostic(line, "not a table").with_key("not_modelled");
            self.errors.push(wrong);
            return Vec::new();
        };
        let mut all = Vec::new();
        for (key, says) in table {
            let key = key.get_ref().to_string();
            match says.get_ref().as_str() {
                Some(says) => all.push(ForeignParameter { key, says: says.to_owned() }),
                None => {
                    let line = self.line_at(says.span().start);
                    let wrong = self.diagnostic(line, "is not a text").with_key(format!("not_modelled.\"{key}\""));
                    self.errors.push(wrong.with_expected("\"value (place): what it would do\""));
                }
            }
        }
        all
    }
}
