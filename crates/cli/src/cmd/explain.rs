//! `seekwise explain`: which single inferred setting changes the answer of a claim, and what else it changes.

use seekwise::{Bounds, Error, Files, outputs};
use seekwise_reproduce::explain::{Explain, Explanation, FoundLever};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::progress::ProgressObserver;
use crate::screen;
use crate::tables::{self, Table};

/// Runs the command.
pub fn run_command(args: &args::ExplainArgs, files: Files, bounds: &Bounds, json: bool) -> CommandResult {
    let &args::ExplainArgs { alone, runs, force, resume, threads, .. } = args;
    let (id, only, out) = (args.id.clone(), args.only.clone(), args.out.clone());
    if let Some(out) = &args.out {
        outputs::prepare_output(out, force || resume).map_err(|why| Error::of_file(out, &why))?;
    }
    let progress = ProgressObserver::new();
    let request = Explain { id, runs, only, alone, out, resume, force, threads, files };
    let explanation = seekwise_reproduce::explain::explain(&request, bounds, &progress)?;
    drop(progress);
    if let Some(out) = &args.out {
        let text = serde_json::to_string_pretty(&explanation).expect("its keys are strings") + "\n";
        let written = outputs::write_whole(out, text.as_bytes(), force || resume);
        written.map_err(|why| Error::of_file(out, &why))?;
    }
    match json {
        true => print_json(&explanation)?,
        false => print_text(&format_explanation(&explanation))?,
    }
    Ok(CommandAnswer::Done)
}

fn format_explanation(explanation: &Explanation) -> String {
    let width = screen::output_width();
    let Explanation { id, finding, study, runs, holds, settings, tries, screened, .. } = explanation;
    let verdict = match holds {
        Some(true) => "its checks hold",
        Some(false) => "its checks do not hold",
        None => "its checks decide nothing",
    };
    let runs_words = if *runs == 1 { "one run".to_owned() } else { format!("{runs} runs") };
    let mut text = String::new();
    let mut say = |line: &str| text.push_str(&format!("{}\n", screen::wrap_text(line, width).trim_end()));
    say(&format!("{id}: {finding}"));
    let present = format!("As things are, {verdict} ({study}, {runs_words} of each cell).");
    say(&present);
    if let Some(distance) = &explanation.distance {
        let decisive = format!("What decides: {}: {distance}.", distance.of);
        say(&decisive);
    }
    if !explanation.found.is_empty() {
        text.push_str(&format!("\n{}\n", levers_table(&explanation.found).draw(width)));
    }
    let mut say = |line: &str| text.push_str(&format!("\n{}", screen::wrap_text(line, width).trim_end()));
    for sentence in &explanation.sentences {
        say(&format!("{id} {sentence}."));
    }
    let screening = screened.as_ref().map_or(String::new(), |screening_runs| {
        format!(" Each was screened with {screening_runs}; what changed the answer was confirmed with all runs.")
    });
    say(&format!("{settings} inferred settings were tried, at {tries} values.{screening} No profile is changed."));
    text
}

fn levers_table(levers: &[FoundLever]) -> Table {
    let mut table = tables::new_table(["setting", "of", "is", "range", "changes the answer at", "breaks", "mends"]);
    for lever in levers {
        let share = lever.share.map_or(String::new(), |share| format!(" ({:.0} % of the range)", 100.0 * share));
        let mut breaks = lever.breaks.clone();
        breaks.extend(lever.cases_broken.iter().map(|case| format!("published: {case}")));
        let of_tried = format!("of {} claims, {} cases", lever.claims, lever.cases);
        let list_or_none = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        table.add_row([
            lever.key.clone(),
            lever.of.join(", "),
            lever.value.clone(),
            lever.range.clone(),
            format!("{}{share}", lever.to),
            format!("{} ({of_tried})", list_or_none(&breaks)),
            list_or_none(&lever.mends),
        ]);
    }
    table
}
