//! Parses a setting of the user, as `--set` gives it: a key and a text become a figure.

use super::key::ProfileKey;
use super::reader::{join_key, parse_value};
use super::value::{Figure, FigureOrigin};
use super::vocabulary::Vocabulary;
use crate::diagnostic::Diagnostic;
use crate::limits::{self, terms};

/// The user's setting of a key: a figure, or `none` to use the default of an optional key.
pub enum FigureInput {
    Figure(Figure),
    /// The path of the key.
    None(&'static str),
}

/// The word that omits a key.
const NONE: &str = "none";

/// Parses what the user sets for one of `keys`; `layer` names the layer in errors.
pub fn parse_setting(
    keys: &'static [ProfileKey],
    layer: &str,
    key: &str,
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<FigureInput, Vec<Diagnostic>> {
    let full = join_key(layer, key);
    let wrong = |message: String| Diagnostic::at("--set", 0, message).with_key(&full);
    let Some(known) = keys.iter().find(|known| known.path == key) else {
        let paths: Vec<String> = keys.iter().map(|k| join_key(layer, k.path)).collect();
        let in_layer = wrong("unknown key".to_owned()).suggest_nearest(&full, paths.iter().map(String::as_str));
        // A near key of this layer is the best suggestion, unless the key is a term of the field, or it or the value a limit of the model.
        let is_limit = limits::explain_limit(key).is_some() || limits::explain_limit(text).is_some();
        return Err(vec![if in_layer.nearest.is_some() && !is_limit && !terms::is_term(key) {
            in_layer
        } else {
            Diagnostic { key: in_layer.key, ..vocabulary.unknown_key("--set", 0, key) }
                .explain_value_of_unknown_key(text)
        }]);
    };
    let may_be_none = !known.required && !known.accepts.accepted_words().any(|word| word == NONE);
    if may_be_none && text.trim_matches('"') == NONE {
        return Ok(FigureInput::None(known.path));
    }
    let refuse = |message| {
        let refusal = vocabulary.explain_refusal(known, text, wrong(message));
        // `none` follows the accepted values, before a caution about a suggested word.
        let values = known.accepts.to_string();
        let or_none = |expected: String| match may_be_none {
            true => expected.replacen(&values, &format!("{values}, or {NONE}"), 1),
            false => expected,
        };
        vec![Diagnostic { expected: refusal.expected.clone().map(or_none), ..refusal }]
    };
    let value = parse_value(&known.accepts, text).map_err(refuse)?;
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
