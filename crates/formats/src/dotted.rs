//! Tables of TOML as dotted keys and values, as `--set` takes them.

/// A TOML value as a person writes it on a command line: strings without quotes.
pub fn plain(value: &toml::Value) -> String {
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
                flat.extend(flatten(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => flat.push((key.clone(), plain(value))),
        }
    }
    flat
}
