//! Results as JSON texts, as `--json` prints them: pretty, with the version of the schema (docs/output.md), and safe to
//! show on a terminal. Nothing is printed here.

use serde::Serialize;

/// The version of the answers' schema, and the program that makes them.
pub use seekwise_lab::provenance::ProgramVersion;
pub use seekwise_lab::run::SCHEMA;

/// Whether a character is shown as it is.
pub use seekwise_drives::diagnostic::is_text;

/// A result as JSON; an object gets the field `schema`, the version of the answers' schema. Panics if a map in it has
/// keys that are no strings.
pub fn json(result: &impl Serialize) -> String {
    let mut value = serde_json::to_value(result).expect("results have no keys but strings");
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".to_owned(), SCHEMA.into());
    }
    escape_json(&serde_json::to_string_pretty(&value).expect("results have no keys but strings"))
}

/// Writes control and direction characters of a JSON text as `\u` and four digits, so that a terminal shows them. The values of the
/// JSON stay equal.
pub fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_text(c) || c == '\n' {
            true => escaped.push(c),
            false => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown() {
        let name = serde_json::json!({ "name": "a\u{9b}31m\u{202e}\u{7f}" });
        let json = escape_json(&name.to_string());
        assert_eq!(json, "{\"name\":\"a\\u009b31m\\u202e\\u007f\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), name);
    }

    #[test]
    fn an_object_says_its_schema_and_a_list_does_not() {
        assert_eq!(json(&serde_json::json!({"a": 1})), format!("{{\n  \"a\": 1,\n  \"schema\": {SCHEMA}\n}}"));
        assert_eq!(json(&[1]), "[\n  1\n]");
    }
}
