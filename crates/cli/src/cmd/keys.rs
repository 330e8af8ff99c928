//! `seekwise keys`: lists the keys, layer by layer; for one key, its value in each drive or preset.

use seekwise_formats::figure::Figure;
use seekwise_formats::keys::{KeyEntry, KeySection, explain_word as about_word, sections, unknown_key};
use seekwise_formats::spelling::is_same;
use seekwise_formats::stack::hosts;
use seekwise_lab::catalogue;
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::screen::{self, wrap_line};
use crate::tables;

/// Indent of the lines that belong to a key.
const INDENT: usize = 4;

/// Lists keys, or shows one.
pub fn run_command(args: &args::KeysArgs, json: bool) -> CommandResult {
    let asked = args.words.join(" ");
    let found = find_keys(sections(), &asked);
    if found.is_empty() {
        return Err(unknown_key("keys", 0, &asked).into());
    }
    let one = match &found[..] {
        [section] if section.keys.len() == 1 && is_same(&section.keys[0].key, &asked) => Some(section.keys[0].clone()),
        _ => None,
    };
    let having = one.map_or(Ok(Vec::new()), |entry| named_figures(&entry.key))?;
    if json {
        let mut list = json!(found);
        if !having.is_empty() {
            list[0]["keys"][0]["values"] = having.iter().map(figure_json).collect();
        }
        print_json(&list)?;
        return Ok(CommandAnswer::Done);
    }
    let text: Vec<String> = found.iter().map(|section| describe_section(section, screen::output_width())).collect();
    print_text(&text.join("\n"))?;
    if !having.is_empty() {
        let mut table = tables::new_table(["of", "value", "kind", "source"]);
        for (name, figure) in &having {
            let value = format!("{} {}", figure.value, figure.unit);
            table.add_row([name.clone(), value.trim_end().to_owned(), figure.kind.to_string(), figure.source.clone()]);
        }
        print_text(&format!("\n{table}"))?;
    }
    Ok(CommandAnswer::Done)
}

/// Finds the section of that name, the key of that name, the keys to which a word of the field leads, or else the keys
/// whose text has all words.
fn find_keys(all: Vec<KeySection>, asked: &str) -> Vec<KeySection> {
    if asked.is_empty() {
        return all;
    }
    if let Some(section) = all.iter().find(|section| is_same(section.name, asked)) {
        return vec![section.clone()];
    }
    let exact = |entry: &KeyEntry| is_same(&entry.key, asked);
    let is_key = all.iter().any(|section| section.keys.iter().any(exact));
    if let Some(led) = (!is_key).then(|| about_word(asked)).flatten() {
        return led;
    }
    let words: Vec<String> = asked.split_whitespace().map(str::to_lowercase).collect();
    let about = |entry: &KeyEntry| {
        let text = format!("{} {} {} {}", entry.key, entry.also.join(" "), entry.takes, entry.meaning).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let kept = |mut section: KeySection| {
        section.keys.retain(|entry| if is_key { exact(entry) } else { about(entry) });
        (!section.keys.is_empty()).then_some(section)
    };
    all.into_iter().filter_map(kept).collect()
}

/// Presets or built-in drives with a figure of this key.
fn named_figures(key: &str) -> Result<Vec<(String, Figure)>, CommandError> {
    let Some((layer, path)) = key.split_once('.') else { return Ok(Vec::new()) };
    let mut having = Vec::new();
    if layer == "drive" {
        for name in catalogue::names() {
            having.extend(catalogue::load_drive(name)?.figure(path).map(|figure| (name.to_owned(), figure.clone())));
        }
    }
    for host in hosts()?.iter().filter(|host| host.layer == layer) {
        having.extend(host.figures.iter().find(|f| f.key == path).map(|figure| (host.name.clone(), figure.clone())));
    }
    Ok(having)
}

fn figure_json((name, figure): &(String, Figure)) -> Value {
    json!({"of": name, "value": figure.value.to_string(), "unit": figure.unit, "kind": figure.kind.to_string(),
           "source": figure.source})
}

fn describe_section(section: &KeySection, width: usize) -> String {
    let mut text = indent_text(&format!("{}: {}", section.name, section.what), width, 0);
    for entry in &section.keys {
        let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
        text += &indent_text(&format!("{}  {}{unit}", entry.key, entry.takes), width, 2);
        text += &indent_text(&format!("{} [default: {}]", entry.meaning, entry.otherwise), width, INDENT + 2);
    }
    text
}

/// Indents text by `first` columns; continuation lines are indented by `INDENT` + 2.
fn indent_text(text: &str, width: usize, first: usize) -> String {
    format!("{}\n", wrap_line(&format!("{}{text}", " ".repeat(first)), width, INDENT + 2 - first).join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: &str) -> Vec<String> {
        find_keys(sections(), asked).into_iter().flat_map(|section| section.keys).map(|entry| entry.key).collect()
    }

    #[test]
    fn keys_are_found_by_layer_by_name_and_by_what_they_have_to_do_with() {
        assert!(found("bus").contains(&"bus.rate_mb_s".to_owned()));
        assert_eq!(found("DRIVE.cache.segments"), ["drive.cache.segments"]);
        assert!(found("rpm").contains(&"drive.mechanics.rpm".to_owned()));
        assert!(found("write cache").contains(&"drive.cache.write_back".to_owned()));
        assert!(found("nr_requests").contains(&"driver.capacity".to_owned()));
        assert!(found("zzz").is_empty());
        assert_eq!(found("short stroke"), ["job.span"]);
        assert!(found("fsync").starts_with(&["driver.flush".to_owned(), "drive.cache.write_back".to_owned()]));
        assert!(found("").len() > 150);
    }

    #[test]
    fn descriptions_keep_within_the_width() {
        for section in sections() {
            let text = describe_section(&section, 60);
            let most = |word: &str| word.chars().count() + INDENT + 2;
            for line in text.lines().filter(|line| line.chars().count() > 60) {
                let alone = line.split_whitespace().count() == 1 && most(line.trim()) > 60;
                assert!(alone || line.starts_with(section.name), "{line}");
            }
            section.keys.iter().for_each(|entry| assert!(text.contains(&entry.key)));
        }
    }
}
