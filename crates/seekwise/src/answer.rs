//! Answers as the program prints them: JSON with the version of its schema, as `--json` has it. Nothing is printed here.

use serde::Serialize;

/// The version of the answers' schema, and the program that makes them.
pub use seekwise_lab::provenance::ProgramVersion;
pub use seekwise_lab::run::SCHEMA;

/// Whether a character is shown as it is.
pub use seekwise_drives::diagnostic::is_text;

/// A value as JSON, an object with the version of its schema (docs/output.md). Panics where a key is no string.
pub fn json(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("results have no keys but strings");
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".to_owned(), SCHEMA.into());
    }
    shown(&serde_json::to_string_pretty(&value).expect("results have no keys but strings"))
}

/// Escapes characters of a JSON text that are no plain text; its values stay the same.
pub fn shown(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match is_text(c) || c == '\n' {
            true => shown.push(c),
            false => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown() {
        let name = serde_json::json!({ "name": "a\u{9b}31m\u{202e}\u{7f}" });
        let json = shown(&name.to_string());
        assert_eq!(json, "{\"name\":\"a\\u009b31m\\u202e\\u007f\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), name);
    }

    #[test]
    fn an_object_says_its_schema_and_a_list_does_not() {
        assert_eq!(json(&serde_json::json!({"a": 1})), format!("{{\n  \"a\": 1,\n  \"schema\": {SCHEMA}\n}}"));
        assert_eq!(json(&[1]), "[\n  1\n]");
    }
}
