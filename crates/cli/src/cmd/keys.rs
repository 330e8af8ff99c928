//! `seekwise keys`: lists the keys of a layer, or those that match words; for one key, also its value in each drive or preset.

use seekwise::keys::{Figure, KeySection, figures_of_key, find_keys, is_same, unknown_key};
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::screen::{self, wrap_line};
use crate::tables;

/// Indent of the lines that belong to a key.
const INDENT: usize = 4;

/// Runs the command.
pub fn run_command(args: &args::KeysArgs, json: bool) -> CommandResult {
    let words = args.words.join(" ");
    let found = find_keys(&words);
    if found.is_empty() {
        return Err(unknown_key("keys", 0, &words).into());
    }
    let single_key = match &found[..] {
        [section] if section.keys.len() == 1 && is_same(&section.keys[0].key, &words) => Some(section.keys[0].clone()),
        _ => None,
    };
    let values = single_key.map_or(Ok(Vec::new()), |entry| figures_of_key(&entry.key))?;
    if json {
        let mut sections_json = json!(found);
        if !values.is_empty() {
            sections_json[0]["keys"][0]["values"] = values.iter().map(figure_json).collect();
        }
        print_json(&sections_json)?;
        return Ok(CommandAnswer::Done);
    }
    let text: Vec<String> = found.iter().map(|section| describe_section(section, screen::output_width())).collect();
    print_text(&text.join("\n"))?;
    if !values.is_empty() {
        let mut table = tables::new_table(["of", "value", "kind", "source"]);
        for (name, figure) in &values {
            let value = format!("{} {}", figure.value, figure.unit);
            table.add_row([name.clone(), value.trim_end().to_owned(), figure.kind.to_string(), figure.source.clone()]);
        }
        print_text(&format!("\n{table}"))?;
    }
    Ok(CommandAnswer::Done)
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

/// Wraps text indented by `indent` columns; continuation lines are indented by `INDENT` + 2.
fn indent_text(text: &str, width: usize, indent: usize) -> String {
    format!("{}\n", wrap_line(&format!("{}{text}", " ".repeat(indent)), width, INDENT + 2 - indent).join("\n"))
}

#[cfg(test)]
mod tests {
    use seekwise::keys::sections;

    use super::*;

    #[test]
    fn descriptions_keep_within_the_width() {
        for section in sections() {
            let text = describe_section(&section, 60);
            let indented_width = |word: &str| word.chars().count() + INDENT + 2;
            for line in text.lines().filter(|line| line.chars().count() > 60) {
                let alone = line.split_whitespace().count() == 1 && indented_width(line.trim()) > 60;
                assert!(alone || line.starts_with(section.name), "{line}");
            }
            section.keys.iter().for_each(|entry| assert!(text.contains(&entry.key)));
        }
    }
}
