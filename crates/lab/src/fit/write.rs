//! Writes a fitted profile: the original text, with its comments and order, and the moved figures in place. The source of each moved figure
//! says that it was fitted, to which data, and its earlier value; the interval stands beside it.

use seekwise_drives::figure::FigureValue;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use crate::rewriting::{remove_uncited_sources, replace_figure};

use super::FitResult;
use super::outward::OutwardFindings;
use super::parameter::changed_settings;

/// The words for a figure's origin in a profile.
const ORIGINS: [&str; 4] = ["measured", "datasheet", "inferred", "fitted"];

/// Introduces the earlier value of a fitted figure in a profile.
const WAS: &str = "; was ";

/// Points of a curve in a line.
const POINTS_A_LINE: usize = 5;

/// The profile `original_text` with the figures that `fitted` moved. `data_description` becomes their source.
pub fn write_fitted_profile(
    original_text: &str,
    drive: &DriveFile,
    fitted: &FitResult,
    new_name: &str,
    data_description: &str,
) -> Result<String, String> {
    let mut document: DocumentMut = original_text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let source = unused_source_name(drive);
    document["name"] = toml_edit::value(new_name);
    let moved = changed_settings(drive, &fitted.parameters, &fitted.point);
    if !moved.is_empty() {
        let sources = document.as_table_mut().entry("sources").or_insert_with(toml_edit::table);
        sources[&source] = toml_edit::value(data_description);
    }
    for (key, value) in moved {
        let former = former_value_and_source(document.as_item(), key);
        let was = former.unwrap_or_else(|| "not there".to_owned());
        let source_text = format!("@{source}{}{WAS}{was}", bend_description(fitted, key));
        let figure = fitted_figure_item(drive, fitted, key, &value, &source_text)?;
        replace_figure(document.as_table_mut(), key, figure);
    }
    remove_uncited_sources(&mut document);
    document.as_table_mut().remove("fit");
    if let Some(findings) = fitted.outward.as_ref().filter(|findings| !findings.draws.is_empty()) {
        document["fit"] = Item::Table(fit_table(findings)?);
    }
    Ok(document.to_string())
}

/// What the data covered, and the drives that meet them as well.
fn fit_table(findings: &OutwardFindings) -> Result<Table, String> {
    let mut seen = Array::new();
    for job in &findings.seen {
        let mut load = InlineTable::new();
        load.insert("rw", Toml::from(job.load.rw));
        load.insert("block", Toml::from(job.load.block as i64));
        load.insert("depth", Toml::from(job.load.depth as i64));
        load.insert("write_cache", Toml::from(job.write_cache));
        push_on_own_line(&mut seen, Toml::InlineTable(load));
    }
    let mut draws = Array::new();
    for settings in &findings.draws {
        let mut draw = InlineTable::new();
        for (key, text) in settings {
            // A word stands as a string; all others are values of TOML as they are.
            let value = text.parse::<Toml>().unwrap_or_else(|_| Toml::from(text.as_str()));
            draw.insert(key, value);
        }
        push_on_own_line(&mut draws, Toml::InlineTable(draw));
    }
    let mut table = Table::new();
    table.insert("seen", Item::Value(Toml::Array(seen)));
    table.insert("draws", Item::Value(Toml::Array(draws)));
    if let Some(mut key) = table.key_mut("seen") {
        key.leaf_decor_mut().set_prefix("# Loads that the data covered.\n");
    }
    if let Some(mut key) = table.key_mut("draws") {
        key.leaf_decor_mut().set_prefix(
            "# Drives that meet the data as well as this one; each lists what differs. Predictions span them.\n",
        );
    }
    Ok(table)
}

fn push_on_own_line(array: &mut Array, value: Toml) {
    let mut value = value;
    value.decor_mut().set_prefix("\n    ");
    array.push_formatted(value);
    array.set_trailing_comma(true);
    array.set_trailing("\n");
}

/// The first name among `fit`, `fit2`, … that the profile's sources do not have.
fn unused_source_name(drive: &DriveFile) -> String {
    let names = std::iter::once("fit".to_owned()).chain((2..).map(|number| format!("fit{number}")));
    let mut free = names.filter(|name| !drive.sources.contains_key(name));
    free.next().expect("numbers do not end")
}

/// The corrections of a seek curve, in words; empty for another key.
fn bend_description(fitted: &FitResult, key: &str) -> String {
    let moved_bends = fitted.parameters.iter().enumerate().filter(|(index, parameter)| {
        key == figure::MECHANICS_SEEK_POINTS && parameter.bend.is_some() && fitted.point[*index] != parameter.origin
    });
    let words = |(index, parameter): (usize, &super::parameter::Parameter)| {
        let place = parameter.bend.map_or("", |bend| super::parameter::BENDS[bend]);
        let (low, high) = fitted.intervals.of[index].unwrap_or((fitted.point[index], fitted.point[index]));
        format!("{:+} ms [{low}, {high}] at the {place}", fitted.point[index])
    };
    let list: Vec<String> = moved_bends.map(words).collect();
    if list.is_empty() { String::new() } else { format!(", bent by {}", list.join(", ")) }
}

/// The former value of a figure and its source, in words.
fn former_value_and_source(root: &Item, key: &str) -> Option<String> {
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

/// A figure as an item of TOML, with its interval if it is a number.
fn fitted_figure_item(
    drive: &DriveFile,
    fitted: &FitResult,
    key: &str,
    value: &str,
    source_text: &str,
) -> Result<Item, String> {
    let (mut moved, value_text) = (drive.clone(), value);
    moved.set(key, value).map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let value = &moved.figure(key).ok_or_else(|| format!("{key} was not set"))?.value;
    if let FigureValue::Zones(_) = value {
        let mut table = Table::new();
        table.insert("fitted", toml_edit::value(source_text));
        let rows: Toml = value_text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        table.insert("value", Item::Value(rows));
        return Ok(Item::Table(table));
    }
    if let FigureValue::Points(points) = value {
        let mut table = Table::new();
        table.insert("fitted", toml_edit::value(source_text));
        table.insert("value", Item::Value(Toml::Array(curve_rows(points))));
        return Ok(Item::Table(table));
    }
    let mut table = InlineTable::new();
    let (toml, is_number) = match value {
        FigureValue::Whole(whole) => (Toml::from(*whole as i64), true),
        FigureValue::Number(number) => (shortest_toml_number(*number), true),
        FigureValue::Flag(flag) => (Toml::from(*flag), false),
        other => (Toml::from(other.to_string()), false),
    };
    table.insert("value", toml);
    table.insert("fitted", Toml::from(source_text));
    if is_number {
        let index = fitted.parameters.iter().position(|parameter| parameter.key == key);
        let number = moved.number(key).unwrap_or_default();
        // Without an interval (after an early end, or if the drive does not meet the data) nothing narrower is known than the range.
        let range = index.and_then(|index| fitted.parameters[index].range().map(|range| (range.low, range.high)));
        let whole = range.map(|(low, high)| (round_to_millionth(low), round_to_millionth(high)));
        let (low, high) = index.and_then(|index| fitted.intervals.of[index]).or(whole).unwrap_or((number, number));
        table.insert(
            "interval",
            Toml::Array([shortest_toml_number(low), shortest_toml_number(high)].into_iter().collect()),
        );
    }
    Ok(Item::Value(Toml::InlineTable(table)))
}

/// Rounds an end of a range, which may be the result of a ratio, to a millionth.
fn round_to_millionth(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// A number in its shortest form: whole if it has no fraction.
fn shortest_toml_number(number: f64) -> Toml {
    if number.fract() == 0.0 && number.abs() < 1e15 { Toml::from(number as i64) } else { Toml::from(number) }
}

fn curve_rows(points: &[(u32, f64)]) -> Array {
    let mut rows = Array::new();
    for (index, &(distance, ms)) in points.iter().enumerate() {
        let mut row: Array = [Toml::from(i64::from(distance)), shortest_toml_number(ms)].into_iter().collect();
        row.decor_mut().set_prefix(if index % POINTS_A_LINE == 0 { "\n    " } else { " " });
        rows.push_formatted(Toml::Array(row));
    }
    rows.set_trailing_comma(true);
    rows.set_trailing("\n");
    rows
}
