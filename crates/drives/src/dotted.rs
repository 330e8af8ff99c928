//! TOML tables as dotted keys and values, in the form that `--set` takes; sizes in that form.

/// A TOML value as a person writes it on a command line: strings without quotes.
pub fn plain_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The dotted keys of a table and their values, in order.
pub fn flatten(table: &toml::Table) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                flat.extend(flatten(inner).into_iter().map(|(below, value)| (format!("{key}.{below}"), value)));
            }
            value => flat.push((key.clone(), plain_text(value))),
        }
    }
    flat
}

/// A size in bytes: `500m`, `2g`, `2 GB` or bytes; powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = text[end..].trim().trim_end_matches('b').trim_end_matches('i');
    let shift = ["", "k", "m", "g", "t"].iter().position(|known| *known == unit);
    text[..end].parse::<u64>().ok().zip(shift).and_then(|(n, shift)| n.checked_mul(1 << (10 * shift)))
}
