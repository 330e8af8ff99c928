//! Texts that were read once, kept beside the tests: what differs is named by its line. `SEEKWISE_UPDATE=1` writes what is said now.
//! Of JSON and of pages what is nested deeper is kept as a hash. And a trace to fit.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// A long text by its length and hash.
pub fn brief(text: &str, most: usize) -> String {
    if text.len() > most { format!("{} bytes, {}", text.len(), hash(text)) } else { text.to_owned() }
}

/// A line for each value down to this depth. Which build it was is left out.
fn outline(into: &mut String, path: &str, value: &Value, depth: usize) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(entries) if depth > 0 => {
            for (name, value) in entries.iter().filter(|(name, _)| !["build", "version"].contains(&name.as_str())) {
                outline(into, &below(name), value, depth - 1);
            }
        }
        Value::Array(entries) if depth > 0 && entries.len() <= 40 => {
            for (place, value) in entries.iter().enumerate() {
                outline(into, &below(&place.to_string()), value, depth - 1);
            }
        }
        value => writeln!(into, "{path} = {}", brief(&value.to_string(), 100)).expect("a text takes all"),
    }
}

/// JSON, one value or one a line, down to this depth; `None` if it is none.
pub fn json(text: &str, depth: usize) -> Option<String> {
    let mut all = String::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        outline(&mut all, "", &value.ok()?, depth);
    }
    Some(all)
}

/// A page: the data in it by their outline, or its text by line.
pub fn page(text: &str) -> String {
    let mark = "<script type=\"application/json\" id=\"report-data\">";
    if let Some((_, rest)) = text.split_once(mark) {
        return rest.split_once("</script>").and_then(|(data, _)| json(data, 3)).expect("the page has its data");
    }
    text.lines().map(|line| brief(line, 400) + "\n").collect()
}

/// Whether these texts are those of the folder, by name, and no other is there.
#[track_caller]
pub fn compare(known: &Path, texts: &[(String, String)]) {
    let mut changed = Vec::new();
    for (name, text) in texts {
        let path = known.join(format!("{name}.txt"));
        if std::env::var_os("SEEKWISE_UPDATE").is_some() {
            fs::create_dir_all(known).unwrap();
            fs::write(&path, text).unwrap();
        }
        let before = fs::read_to_string(&path).unwrap_or_default();
        if before != *text {
            let lines = before.lines().chain([""]).zip(text.lines().chain([""])).enumerate();
            let (line, (was, is)) = lines.into_iter().find(|(_, (was, is))| was != is).unwrap_or((0, ("", "")));
            changed.push(format!("{name}, line {}:\n  was {was}\n  is  {is}", line + 1));
        }
    }
    assert!(changed.is_empty(), "SEEKWISE_UPDATE=1 writes them anew; read the difference.\n{}", changed.join("\n"));
    assert_eq!(fs::read_dir(known).unwrap().count(), texts.len(), "a file in {} that nothing writes", known.display());
}

/// A trace that nobody measured, long enough for a fit: near and far requests, every third a write.
pub fn trace() -> String {
    let mut text = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
    for at in 0_u64..600 {
        let (lba, op) = (at * at * 7919 % 140_000_000 / 8 * 8, if at % 3 == 0 { "W" } else { "R" });
        writeln!(text, "{lba},8,{op},{}.{},{}", 2 + at % 9, at % 10, at % 4).expect("a text takes all");
    }
    text
}
