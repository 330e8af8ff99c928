//! A fitted profile as text: the original, with its comments and order, and the moved figures in place. Each says that
//! it was fitted, to which data, its interval, and its earlier value.

use seekwise_drives::figure::FigureValue;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use crate::rewriting::{remove_uncited_sources, replace_figure};

use super::FitResult;
use super::parameter::changed_settings;

/// The words for a figure's origin in a profile.
const ORIGINS: [&str; 4] = ["measured", "datasheet", "inferred", "fitted"];

/// Introduces the earlier value of a fitted figure in a profile.
const WAS: &str = "; was ";

/// Points of a curve in a line.
const A_LINE: usize = 5;

/// Writes what `fitted` moved into the profile `text`. `name` is its new name; `data` describes the data of the fit.
pub fn fitted_profile(
    text: &str,
    drive: &DriveFile,
    fitted: &FitResult,
    name: &str,
    data: &str,
) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let source = free_name(drive);
    document["name"] = toml_edit::value(name);
    let moved = changed_settings(drive, &fitted.parameters, &fitted.point);
    if !moved.is_empty() {
        let sources = document.as_table_mut().entry("sources").or_insert_with(toml_edit::table);
        sources[&source] = toml_edit::value(data);
    }
    for (key, value) in moved {
        let was = former_figure(document.as_item(), key);
        let was = was.unwrap_or_else(|| "not there".to_owned());
        let cited = format!("@{source}{}{WAS}{was}", bend_words(fitted, key));
        let figure = fitted_figure(drive, fitted, key, &value, &cited)?;
        replace_figure(document.as_table_mut(), key, figure);
    }
    remove_uncited_sources(&mut document);
    Ok(document.to_string())
}

/// A name for the citation that the profile does not use yet.
fn free_name(drive: &DriveFile) -> String {
    let names = std::iter::once("fit".to_owned()).chain((2..).map(|number| format!("fit{number}")));
    let mut free = names.filter(|name| !drive.sources.contains_key(name));
    free.next().expect("numbers do not end")
}

/// The bends of the curve, in words.
fn bend_words(fitted: &FitResult, key: &str) -> String {
    let bent = fitted.parameters.iter().enumerate().filter(|(index, parameter)| {
        key == figure::MECHANICS_SEEK_POINTS && parameter.bend.is_some() && fitted.point[*index] != parameter.origin
    });
    let says = |(index, parameter): (usize, &super::parameter::Parameter)| {
        let place = parameter.bend.map_or("", |bend| super::parameter::BENDS[bend]);
        let (low, high) = fitted.intervals.of[index].unwrap_or((fitted.point[index], fitted.point[index]));
        format!("{:+} ms [{low}, {high}] at the {place}", fitted.point[index])
    };
    let list: Vec<String> = bent.map(says).collect();
    if list.is_empty() { String::new() } else { format!(", bent by {}", list.join(", ")) }
}

/// The former value of a figure and its source, unchanged.
fn former_figure(root: &Item, key: &str) -> Option<String> {
    let item = key.split('.').try_fold(root, |item, word| item.get(word))?;
    let origin = ORIGINS.iter().find_map(|kind| Some((*kind, item.get(kind)?.as_str()?)));
    let (kind, source) = origin?;
    // An earlier fit's figure cites the value before that fit.
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

/// The figure's value, with its interval if it is a number.
fn fitted_figure(drive: &DriveFile, fitted: &FitResult, key: &str, value: &str, cited: &str) -> Result<Item, String> {
    let mut moved = drive.clone();
    moved.set(key, value).map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let value = &moved.figure(key).ok_or_else(|| format!("{key} was not set"))?.value;
    if let FigureValue::Points(points) = value {
        let mut table = Table::new();
        table.insert("fitted", toml_edit::value(cited));
        table.insert("value", Item::Value(Toml::Array(curve_rows(points))));
        return Ok(Item::Table(table));
    }
    let mut table = InlineTable::new();
    let (toml, number) = match value {
        FigureValue::Whole(whole) => (Toml::from(*whole as i64), true),
        FigureValue::Number(number) => (shortest_number(*number), true),
        FigureValue::Flag(flag) => (Toml::from(*flag), false),
        other => (Toml::from(other.to_string()), false),
    };
    table.insert("value", toml);
    table.insert("fitted", Toml::from(cited));
    if number {
        let place = fitted.parameters.iter().position(|parameter| parameter.key == key);
        let at = moved.number(key).unwrap_or_default();
        // After an early end nothing narrower is known than the range.
        let range = place.and_then(|place| fitted.parameters[place].range().map(|range| (range.low, range.high)));
        let whole = range.filter(|_| fitted.ending.is_some()).map(|(low, high)| (round_micro(low), round_micro(high)));
        let (low, high) = place.and_then(|place| fitted.intervals.of[place]).or(whole).unwrap_or((at, at));
        table.insert("interval", Toml::Array([shortest_number(low), shortest_number(high)].into_iter().collect()));
    }
    Ok(Item::Value(Toml::InlineTable(table)))
}

/// Rounds an end of a range, which may come of a ratio, to a millionth.
fn round_micro(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A number in its shortest form.
fn shortest_number(number: f64) -> Toml {
    if number.fract() == 0.0 && number.abs() < 1e15 { Toml::from(number as i64) } else { Toml::from(number) }
}

fn curve_rows(points: &[(u32, f64)]) -> Array {
    let mut rows = Array::new();
    for (index, &(distance, ms)) in points.iter().enumerate() {
        let mut row: Array = [Toml::from(i64::from(distance)), shortest_number(ms)].into_iter().collect();
        row.decor_mut().set_prefix(if index % A_LINE == 0 { "\n    " } else { " " });
        rows.push_formatted(Toml::Array(row));
    }
    rows.set_trailing_comma(true);
    rows.set_trailing("\n");
    rows
}
