//! Variants of nine drives' DiskSim parameters, as other programs that extract parameters may write them: each is imported with
//! a warning that says how it was read, or refused with a reason.
//!
//! The parameters are other people's and no part of the project: they are looked for in $SEEKWISE_SHARED, else beside the
//! workspace in `shared`; without them the tests print that they are skipped.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shared_files;
use seekwise_drives::profile;
use seekwise_formats::disksim::{self, DisksimImport};

/// Imports a set-up with each of its files changed: `change` takes a file's name and text and gives the new text.
fn import_changed(file: &Path, change: &dyn Fn(&str, String) -> String) -> Result<DisksimImport, String> {
    let folder = file.parent().expect("a folder");
    let load = |name: &str| {
        fs::read_to_string(folder.join(name)).map(|text| change(name, text)).map_err(|error| error.to_string())
    };
    let name = file.file_stem().expect("a name").to_str().expect("of letters");
    let set_up = load(&format!("{name}.parv")).expect("a set-up");
    disksim::import(name, &set_up, &load, None, name)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// All set-ups with zones that are there; the one with an index takes some seconds each time.
fn set_up_files() -> Vec<PathBuf> {
    let mut files = shared_files::files("validation/disksim", &[".parv"]);
    files.retain(|file| !file.ends_with("maxtor300g.parv"));
    files
}

/// As [`import_changed`], for a change that must be accepted.
fn import_accepted(file: &Path, change: &dyn Fn(&str, String) -> String) -> DisksimImport {
    let found = import_changed(file, change).unwrap_or_else(|errors| panic!("{}: {errors}", file.display()));
    let drive = profile::parse("variant", &found.toml).expect("a profile");
    drive.profile().expect("a profile that fits");
    found
}

/// The text with the list in brackets behind each `key` changed.
fn change_lists(text: &str, key: &str, change: &dyn Fn(Vec<&str>) -> Vec<String>) -> String {
    let mut parts = text.split(key);
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let list = part.find('[').zip(part.find(']')).filter(|_| part.trim_start().starts_with('='));
        let (open, close) = list.unwrap_or((0, 0));
        let values: Vec<&str> = part.get(open + 1..close).unwrap_or("").split(',').map(str::trim).collect();
        let values = values.into_iter().filter(|value| !value.is_empty()).collect::<Vec<_>>();
        out.push_str(key);
        // Lines stay where they are: the list is put on the line that it ends in.
        match list {
            Some(_) => {
                let lines = "\n".repeat(part[open..close].matches('\n').count());
                out.push_str(&format!("{}[{lines}{}{}", &part[..open], change(values).join(", "), &part[close..]));
            }
            None => out.push_str(part),
        }
    }
    out
}

/// The text with its lists of slips changed.
fn change_slips(text: &str, change: &dyn Fn(Vec<String>) -> Vec<String>) -> String {
    change_lists(text, "slips", &|values| change(values.into_iter().map(str::to_owned).collect()))
}

/// The profile without the sources of its figures, which variants may change.
fn without_sources(import: &DisksimImport) -> String {
    import.toml.split("measured = \"").map(|part| part.split_once('"').map_or(part, |(_, rest)| rest)).collect()
}

#[test]
fn slips_may_stand_in_any_order_and_twice() {
    let mut changed = 0;
    for file in set_up_files() {
        let plain = import_accepted(&file, &|_, text| text);
        let turned = import_accepted(&file, &|_, text| change_slips(&text, &|list| list.into_iter().rev().collect()));
        assert_eq!(turned.toml, plain.toml, "{}", file.display());
        let twice = import_accepted(&file, &|_, text| change_slips(&text, &|list| [list.clone(), list].concat()));
        assert_eq!(twice.toml, plain.toml, "{}", file.display());
        for (variant, warning_text) in [(turned, "are taken in rising order"), (twice, "slipped once")] {
            let warning_count =
                variant.warnings.iter().filter(|warning| warning.message.contains(warning_text)).count();
            println!("{}: {warning_count} lists, {warning_text}", plain.drive);
            changed += warning_count;
        }
    }
    assert!(set_up_files().is_empty() || changed > 20, "the variants have slips: {changed} lists");
}

#[test]
fn a_block_count_may_be_wrong_either_way() {
    for file in set_up_files() {
        let plain = import_accepted(&file, &|_, text| text);
        for off in [-3i64, 0, 5, 1_000_000] {
            let change = |_: &str, text: String| {
                let Some((before, rest)) = text.split_once("Block count") else { return text };
                let (count, after) = rest.split_once(',').expect("it goes on");
                let count: i64 = count.trim_start_matches([' ', '=']).trim().parse().expect("a number");
                format!("{before}Block count = {},{after}", count + off)
            };
            let found = import_accepted(&file, &change);
            assert_eq!(without_sources(&found), without_sources(&plain), "{}: {off}", file.display());
            let warning_count =
                found.warnings.iter().filter(|warning| warning.key.as_deref() == Some("Block count")).count();
            let sourced = found.toml.contains("its Block count says");
            assert_eq!(warning_count == 1, sourced, "{}: {off}: {:?}", file.display(), found.warnings);
        }
    }
}

#[test]
fn line_ends_and_comments_change_nothing() {
    for file in set_up_files() {
        let plain = import_accepted(&file, &|_, text| text);
        let windows = import_accepted(&file, &|_, text| text.replace('\n', "\r\n"));
        assert_eq!(windows, plain, "{}", file.display());
        let remarks = |_: &str, text: String| text.lines().map(|line| format!("\t {line} # = {{ [ , \n")).collect();
        assert_eq!(import_accepted(&file, &remarks), plain, "{}", file.display());
    }
}

#[test]
fn strangers_are_taken_over_with_a_warning() {
    for file in set_up_files() {
        let plain = import_accepted(&file, &|_, text| text);
        let strange = |_: &str, text: String| {
            ["Number of data surfaces", "Bulk sector transfer time", "Access time type", "First cylinder number"]
                .iter()
                .fold(text, |text, key| text.replace(key, &format!("Vendor remark = 17, {key}")))
        };
        let found = import_accepted(&file, &strange);
        assert_eq!(found.toml, plain.toml, "{}", file.display());
        let warning_count =
            found.warnings.iter().filter(|warning| warning.key.as_deref() == Some("Vendor remark")).count();
        assert!(warning_count >= 3, "{}: {:?}", file.display(), found.warnings);
    }
}

/// Any one line of a key and a plain value left out: the drive is imported without it, or the key is named.
#[test]
fn a_missing_parameter_is_optional_or_named() {
    // Three are enough of some hundred imports each.
    for file in set_up_files().into_iter().take(3) {
        let folder = file.parent().expect("a folder");
        let plain = import_accepted(&file, &|_, text| text);
        let (mut optional, mut named) = (0, 0);
        let place = plain.toml.split("measured = \"@disksim ").nth(1).and_then(|place| place.split(':').next());
        for name in [place.expect("a file").to_owned(), format!("{}.diskspecs", file.file_stem().unwrap().display())] {
            let text = fs::read_to_string(folder.join(&name)).expect("a file");
            for (number, line) in text.lines().enumerate() {
                let Some((key, value)) = line.trim().split_once(" = ").filter(|(_, value)| value.ends_with(',')) else {
                    continue;
                };
                if value.contains(['{', '[']) || value.starts_with("source") || number > 70 {
                    continue;
                }
                let without = |changed: &str, text: String| {
                    if changed == name { text.replacen(line, "", 1) } else { text }
                };
                match import_changed(&file, &without) {
                    Ok(_) => optional += 1,
                    Err(error) => {
                        assert!(
                            error.contains(&format!("`{key}`: ")) && error.contains("lacks this parameter"),
                            "{key}: {error}"
                        );
                        named += 1;
                    }
                }
            }
        }
        println!("{}: {optional} parameters may be left out, {named} are asked for", plain.drive);
        assert!(optional > 20 && named > 10, "{}", file.display());
    }
}

/// Every order of blocks with every sparing scheme: laid out, or refused for what cannot be.
#[test]
fn other_orders_and_schemes_are_laid_out_or_refused() {
    let (mut laid, mut refused) = (0, Vec::new());
    for file in set_up_files() {
        for scheme in 0..=11 {
            let order = scheme % 4;
            let change = |_: &str, text: String| {
                let set = |text: String, key: &str, value: u32| match text.split_once(key) {
                    Some((before, rest)) => {
                        let end = rest.find(',').expect("it goes on");
                        format!("{before}{key} = {value}{}", &rest[end..])
                    }
                    None => text,
                };
                set(set(text, "LBN-to-PBN mapping scheme", order), "Sparing scheme used", scheme)
            };
            match import_changed(&file, &change) {
                Ok(_) => laid += 1,
                Err(error) => {
                    let known = ["spare slots in each", "leaves no room in the zone", "3 is invalid", "11 is invalid"];
                    assert!(known.iter().any(|reason| error.contains(reason)), "{order}, {scheme}: {error}");
                    refused.push(format!("{}, order {order}, scheme {scheme}: {error}", file.display()));
                }
            }
        }
    }
    println!("{laid} laid out; refused:\n{}", refused.join("\n"));
    assert!(set_up_files().is_empty() || laid > 30, "{laid}");
}
