//! `seekwise programs`: lists the modelled programs that scenes may run; shows the figures of one with their sources.

use seekwise::error::Diagnostic;
use seekwise::jobs::{ProgramFile, find_program, programs};
use seekwise::keys::Figure;
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::screen::{self, wrap_text};
use crate::tables;

/// Runs the command.
pub fn run_command(args: &args::NamedArgs, json: bool) -> CommandResult {
    let known_programs = programs();
    if let Some(name) = &args.name {
        return match find_program(name) {
            Some(program) => print_program(program, json),
            None => {
                let names = known_programs.iter().map(|program| program.name.as_str());
                Err(Diagnostic::at(name, 0, "no program with that name").suggest_nearest(name, names).into())
            }
        };
    }
    if json {
        print_json(&known_programs.iter().map(program_json).collect::<Vec<_>>())?;
        return Ok(CommandAnswer::Done);
    }
    let mut table = tables::new_table(["program", "an operation is", "what it is"]);
    for program in known_programs {
        table.add_row([program.name.as_str(), program.operation, &program.title]);
    }
    print_text(&format!("{table}\n\n{}", wrap_text(USAGE_NOTE, screen::output_width())))?;
    Ok(CommandAnswer::Done)
}

/// How programs are used, as the line below the list.
const USAGE_NOTE: &str = "A scene names a program under [program.NAME]; `seekwise init scene` writes a scene. `seekwise programs \
                   NAME` shows a program's figures; a scene may change each (program.NAME.KEY).";

fn print_program(program: &ProgramFile, json: bool) -> CommandResult {
    if json {
        print_json(&program_json(program))?;
        return Ok(CommandAnswer::Done);
    }
    let mut table = tables::new_table(["figure", "value", "kind", "source"]);
    for figure in &program.figures {
        let value = format!("{} {}", figure.value, figure.unit);
        let (kind, value) = (figure.kind.to_string(), value.trim_end().to_owned());
        table.add_row([figure.key.to_owned(), value, kind, figure.source.clone()]);
    }
    let description = format!("It {}. An operation is {}.", program.description, program.operation);
    print_text(&format!(
        "{}: {}\n\n{}\n\n{table}",
        program.name,
        wrap_text(&program.title, screen::output_width()),
        wrap_text(&description, screen::output_width())
    ))?;
    Ok(CommandAnswer::Done)
}

fn program_json(program: &ProgramFile) -> Value {
    let figure = |figure: &Figure| {
        json!({"key": figure.key, "value": figure.value.to_string(), "unit": figure.unit,
               "kind": figure.kind.to_string(), "source": figure.source})
    };
    json!({"name": program.name, "title": program.title, "engine": program.engine, "operation": program.operation,
           "figures": program.figures.iter().map(figure).collect::<Vec<_>>()})
}
