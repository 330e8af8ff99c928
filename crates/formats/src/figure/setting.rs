//! A figure as `--set` gives it: a key and a text.

use super::key::ProfileKey;
use super::reader::{from_text, join_path};
use super::value::{Figure, FigureOrigin};
use super::vocabulary::Vocabulary;
use crate::diagnostic::Diagnostic;
use crate::limits;

/// The user's setting of a key: a figure, or `none` to use the default of an optional key.
pub(crate) enum FigureInput {
    Figure(Figure),
    /// The path of the key.
    None(&'static str),
}

/// The word that omits a key.
const NONE: &str = "none";

/// Parses what the user sets for one of `keys`; `layer` names the layer in errors.
pub(crate) fn parse_setting(
    keys: &'static [ProfileKey],
    layer: &str,
    key: &str,
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<FigureInput, Vec<Diagnostic>> {
    let full = join_path(layer, key);
    let wrong = |message: String| Diagnostic::at("--set", 0, message).with_key(&full);
    let Some(known) = keys.iter().find(|known| known.path == key) else {
        let paths: Vec<String> = keys.iter().map(|k| join_path(layer, k.path)).collect();
        let here = wrong("unknown key".to_owned()).suggest_nearest(&full, paths.iter().map(String::as_str));
        let is_limit = limits::explain_limit(key).is_some() || limits::explain_limit(text).is_some();
        return Err(vec![if here.nearest.is_some() && !is_limit {
            here
        } else {
            Diagnostic { key: here.key, ..vocabulary.unknown_key("--set", 0, key) }.explain_limited_value(text)
        }]);
    };
    let may_be_none = !known.required && !known.accepts.words().any(|word| word == NONE);
    if may_be_none && text.trim_matches('"') == NONE {
        return Ok(FigureInput::None(known.path));
    }
    let refused = |found| {
        let refused = vocabulary.explain_refusal(known, text, wrong(found));
        // `none` is named before the caution about a suggested word.
        let takes = known.accepts.to_string();
        let or_none = |expected: String| match may_be_none {
            true => expected.replacen(&takes, &format!("{takes}, or {NONE}"), 1),
            false => expected,
        };
        vec![Diagnostic { expected: refused.expected.clone().map(or_none), ..refused }]
    };
    let value = from_text(&known.accepts, text).map_err(refused)?;
    Ok(FigureInput::Figure(Figure {
        key: known.path,
        value,
        unit: known.unit,
        kind: FigureOrigin::Set,
        source: format!("--set {full}={text}"),
        misses: None,
        interval: None,
        line: 0,
    }))
}
