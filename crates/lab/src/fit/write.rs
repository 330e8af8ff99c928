//! A fitted profile as text: the one that was given, comments and order as they were, with the figures that moved in place.
//! Each says that it was fitted, to what, between which values it lies, and what it was before.

use seekwise_formats::figure::Value;
use seekwise_formats::profile::DriveFile;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use super::Fitted;
use super::parameter::{CURVE, settings};

/// Marks a figure's origin in a profile.
const ORIGINS: [&str; 4] = ["measured", "datasheet", "inferred", "fitted"];

/// Where the figures that a fit left in a profile say what it was.
const WAS: &str = "; was ";

/// Numbers of a list to a line.
const A_LINE: usize = 5;

/// The profile `text` with what `fitted` moved. `name` is its new name; `data` says what it was fitted to.
pub fn profile(text: &str, drive: &DriveFile, fitted: &Fitted, name: &str, data: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let source = free_name(drive);
    document["name"] = toml_edit::value(name);
    let moved = settings(drive, &fitted.parameters, &fitted.point);
    if !moved.is_empty() {
        let sources = document.as_table_mut().entry("sources").or_insert_with(toml_edit::table);
        sources[&source] = toml_edit::value(data);
    }
    for (key, value) in moved {
        let was = origin(document.as_item(), key);
        let was = was.unwrap_or_else(|| "not there".to_owned());
        let cited = format!("@{source}{}{WAS}{was}", bends(fitted, key));
        let figure = figure(drive, fitted, key, &value, &cited)?;
        put(document.as_table_mut(), key, figure);
    }
    drop_uncited(&mut document);
    Ok(document.to_string())
}

/// A name for the citation that the profile does not have yet.
fn free_name(drive: &DriveFile) -> String {
    let names = std::iter::once("fit".to_owned()).chain((2..).map(|number| format!("fit{number}")));
    let mut free = names.filter(|name| !drive.sources.contains_key(name));
    free.next().expect("numbers do not end")
}

/// What the curve was bent by, in words.
fn bends(fitted: &Fitted, key: &str) -> String {
    let bent = fitted.parameters.iter().enumerate().filter(|(index, parameter)| {
        key == CURVE && parameter.bend.is_some() && fitted.point[*index] != parameter.origin
    });
    let says = |(index, parameter): (usize, &super::parameter::Parameter)| {
        let place = parameter.bend.map_or("", |bend| super::parameter::BENDS[bend]);
        let (low, high) = fitted.intervals.of[index].unwrap_or((fitted.point[index], fitted.point[index]));
        format!("{:+} ms [{low}, {high}] at the {place}", fitted.point[index])
    };
    let list: Vec<String> = bent.map(says).collect();
    if list.is_empty() { String::new() } else { format!(", bent by {}", list.join(", ")) }
}

/// What a figure said before: its value and its source as they stand.
fn origin(root: &Item, key: &str) -> Option<String> {
    let item = key.split('.').try_fold(root, |item, word| item.get(word))?;
    let origin = ORIGINS.iter().find_map(|kind| Some((*kind, item.get(kind)?.as_str()?)));
    let (kind, source) = origin?;
    // What it was before an earlier fit is what counts.
    if let Some((_, was)) = source.split_once(WAS) {
        return Some(was.to_owned());
    }
    let value = item.get("value")?;
    let value = match value.as_array() {
        Some(rows) => format!("a table of {}", rows.len()),
        None => value.to_string().trim().to_owned().replace('"', ""),
    };
    Some(format!("{value}, {kind}: {source}"))
}

/// The figure's value, with its interval where it is a number.
fn figure(drive: &DriveFile, fitted: &Fitted, key: &str, value: &str, cited: &str) -> Result<Item, String> {
    let mut moved = drive.clone();
    moved.set(key, value).map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let value = &moved.figure(key).ok_or_else(|| format!("{key} was not set"))?.value;
    if let Value::Points(points) = value {
        let mut table = Table::new();
        table.insert("fitted", toml_edit::value(cited));
        table.insert("value", Item::Value(Toml::Array(rows(points))));
        return Ok(Item::Table(table));
    }
    let mut table = InlineTable::new();
    let (toml, number) = match value {
        Value::Whole(whole) => (Toml::from(*whole as i64), true),
        Value::Number(number) => (plain(*number), true),
        Value::Flag(flag) => (Toml::from(*flag), false),
        other => (Toml::from(other.to_string()), false),
    };
    table.insert("value", toml);
    table.insert("fitted", Toml::from(cited));
    if number {
        let place = fitted.parameters.iter().position(|parameter| parameter.key == key);
        let at = moved.number(key).unwrap_or_default();
        let (low, high) = place.and_then(|place| fitted.intervals.of[place]).unwrap_or((at, at));
        table.insert("interval", Toml::Array([plain(low), plain(high)].into_iter().collect()));
    }
    Ok(Item::Value(Toml::InlineTable(table)))
}

/// A number as short as it can be said.
fn plain(number: f64) -> Toml {
    if number.fract() == 0.0 && number.abs() < 1e15 { Toml::from(number as i64) } else { Toml::from(number) }
}

fn rows(points: &[(u32, f64)]) -> Array {
    let mut rows = Array::new();
    for (index, &(distance, ms)) in points.iter().enumerate() {
        let mut row: Array = [Toml::from(i64::from(distance)), plain(ms)].into_iter().collect();
        row.decor_mut().set_prefix(if index % A_LINE == 0 { "\n    " } else { " " });
        rows.push_formatted(Toml::Array(row));
    }
    rows.set_trailing_comma(true);
    rows.set_trailing("\n");
    rows
}

/// Puts a figure at its key: in place of the one there, or at the end of its section.
pub(crate) fn put(root: &mut Table, key: &str, figure: Item) {
    let mut words: Vec<&str> = key.split('.').collect();
    let Some(last) = words.pop() else { return };
    let mut table: &mut dyn toml_edit::TableLike = root;
    for word in words {
        let item = table.entry(word).or_insert_with(toml_edit::table);
        let Some(inner) = item.as_table_like_mut() else { return };
        table = inner;
    }
    match (table.get_mut(last), figure) {
        // A section of its own keeps its place in the file.
        (Some(Item::Table(old)), Item::Table(new)) => {
            old.clear();
            old.extend(new);
        }
        (Some(old), figure) => {
            let comment = old.as_value().and_then(|value| value.decor().suffix()?.as_str().map(str::to_owned));
            *old = figure;
            if let (Some(comment), Some(value)) = (comment, old.as_value_mut()) {
                value.decor_mut().set_suffix(comment);
            }
            if let Some(value) = old.as_value_mut() {
                value.decor_mut().set_prefix(" ");
            }
        }
        (None, figure) => {
            table.insert(last, figure);
        }
    }
}

/// Citations that no figure makes any more: the profile's reader refuses them.
pub(crate) fn drop_uncited(document: &mut DocumentMut) {
    let Some(names) = document.get("sources").and_then(Item::as_table_like) else { return };
    let names: Vec<String> = names.iter().map(|(name, _)| name.to_owned()).collect();
    let text = document.to_string();
    let cited = |name: &str| {
        text.match_indices(&format!("@{name}")).any(|(at, found)| {
            let next = text[at + found.len()..].chars().next();
            next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '_')
        })
    };
    let uncited: Vec<&String> = names.iter().filter(|name| !cited(name)).collect();
    if let Some(sources) = document.get_mut("sources").and_then(Item::as_table_like_mut) {
        uncited.into_iter().for_each(|name| {
            sources.remove(name);
        });
    }
}
