//! `seekwise rebuild` and `seekwise scrub`: hours of an array beside its users, by policy.

use std::ffi::OsString;

use seekwise::pictures::{Picture, draw_svg};
use seekwise::rebuild::{
    ArrayAnswer, ArrayPhase, ArrayTask, ArrayUsers, Computation, PolicyAnswer, PolicyAnswers, RebuildSetup, TaskTerms,
    TimelinePoint, array_settings, render_page, round_figure as short,
};
use seekwise::{Files, Setup};

use super::{print_json, print_text};
use crate::args::{ArrayArgs, RebuildArgs, ScrubArgs};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::pages::command_line;
use crate::progress::ProgressObserver;
use crate::screen::{self, wrap_text};
use crate::tables::{Table, mark_figures_from, new_table};

/// Runs `rebuild`.
pub fn run_rebuild(args: &RebuildArgs, files: &Files, words: &[OsString], json: bool) -> CommandResult {
    let terms = TaskTerms {
        together: args.together,
        spare_after_hours: args.spare_after,
        next_loss_hours: args.next_loss,
        ..TaskTerms::new(ArrayTask::Rebuild { lost: args.lose })
    };
    run_task(&args.array, &question(&args.array, terms, files), words, json)
}

/// Runs `scrub`.
pub fn run_scrub(args: &ScrubArgs, files: &Files, words: &[OsString], json: bool) -> CommandResult {
    run_task(&args.array, &question(&args.array, TaskTerms::new(ArrayTask::Scrub), files), words, json)
}

/// The question of `args`, with the terms of its command.
fn question(args: &ArrayArgs, terms: TaskTerms, files: &Files) -> RebuildSetup {
    let set = array_settings((args.array.as_deref(), args.drives), &args.policy, &args.set);
    let mut setup = Setup::new("random-read", args.target.clone()).with_seed(args.seed).with_files(files.clone());
    setup.set = set;
    let users = match (args.users, &args.load) {
        (Some(rate), _) => ArrayUsers::Rate(rate),
        (None, Some(job)) => ArrayUsers::Job(job.clone()),
        (None, None) => ArrayUsers::Absent,
    };
    let computation = match args.stretches {
        _ if args.whole => Computation::Whole,
        Some(count) => Computation::Stretches(count),
        None => Computation::Shorter,
    };
    let share = args.live.unwrap_or(1.0);
    RebuildSetup { setup, users, terms: TaskTerms { computation, share, working_hours: args.working_hours, ..terms } }
}

fn run_task(args: &ArrayArgs, question: &RebuildSetup, words: &[OsString], json: bool) -> CommandResult {
    if args.force && !args.page.is_requested() && !args.pictures.are_requested() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --page, --svg or --png as well",
        ));
    }
    args.pictures.check_paths(args.force, &[&args.target])?;
    args.page.check_path(args.force, &[&args.target])?;
    let progress = ProgressObserver::new();
    let answers = question.answer(&args.policy, &progress)?;
    drop(progress);
    args.pictures.write(args.force, || draw_timeline(&answers[0]))?;
    args.page.write_html(args.force, || {
        let (title, notes) = (question.title(&answers[0].answer), question.notes(&answers, args.bits_per_error));
        render_page(&title, &answers, &notes, &command_line(words))
    })?;
    if json {
        print_json(&PolicyAnswers { policies: &answers })?;
    } else {
        print_text(&format_answers(args, question, &answers))?;
    }
    Ok(CommandAnswer::Done)
}

/// The picture of a timeline: what users feel, or the rate if there are none.
fn draw_timeline(answer: &PolicyAnswer) -> String {
    let timeline = &answer.answer.timeline;
    let has_users = timeline.iter().any(|point| point.users.is_some());
    let value = |point: &TimelinePoint| match point.users {
        Some(users) => users.p99_ms,
        None => point.mb_per_s,
    };
    let points: Vec<(f64, f64)> = timeline
        .iter()
        .filter(|point| point.users.is_some() == has_users)
        .map(|point| (point.hour, value(point)))
        .collect();
    let (title, y) = if has_users { ("99th percentile of users' times", "ms") } else { ("rate on each drive", "MB/s") };
    let title = format!("{}, {title}", answer.policy);
    draw_svg(&Picture { title: &title, x: "hours", y, points: &points }, 960, 480)
}

fn format_answers(args: &ArrayArgs, question: &RebuildSetup, answers: &[PolicyAnswer]) -> String {
    let width = screen::output_width();
    let paragraphs =
        |lines: Vec<String>| lines.iter().map(|line| wrap_text(line, width)).collect::<Vec<_>>().join("\n");
    let first = &answers[0].answer;
    let title = format!("{}.", question.title(first));
    let sentences: Vec<String> = answers.iter().map(|it| hours_sentence(it, question, answers.len() > 1)).collect();
    let mut text =
        format!("{}\n\n{}\n\n{}", wrap_text(&title, width), paragraphs(sentences), phases_table(answers).draw(width));
    if let [only] = answers {
        text += &format!("\n\n{}", timeline_table(&only.answer).draw(width));
    }
    format!("{text}\n\n{}", paragraphs(question.notes(answers, args.bits_per_error)))
}

/// How long it takes, and for how long nothing more may be lost.
fn hours_sentence(it: &PolicyAnswer, question: &RebuildSetup, names_policy: bool) -> String {
    let name = if names_policy { format!("{}: ", it.policy) } else { String::new() };
    let Some(hours) = it.answer.hours else {
        return format!("{name}it never ends beside these users: nothing is done while they work.");
    };
    let chance = it
        .answer
        .interval
        .map_or(String::new(), |(low, high)| format!(" ({} to {} by chance)", short(low), short(high)));
    let rate = it.answer.mb_per_s.map_or(String::new(), |rate| format!(", {} MB/s on each drive", short(rate)));
    let exposed: Vec<String> = it
        .answer
        .exposure
        .iter()
        .map(|exposure| {
            let most = match exposure.spare {
                0 => "no further drive".to_owned(),
                1 => "only one more drive".to_owned(),
                more => format!("only {more} more drives"),
            };
            format!("for {} h {most} may fail", short(exposure.hours))
        })
        .collect();
    let exposed = if exposed.is_empty() { String::new() } else { format!("; {}", exposed.join(", ")) };
    let waiting = match question.terms.spare_after_hours {
        waiting if waiting > 0.0 => format!(" once the new drive is there, {} h after the loss", short(waiting)),
        _ => String::new(),
    };
    format!("{name}{} h{chance}{waiting}{rate}{exposed}.", short(hours))
}

fn phases_table(answers: &[PolicyAnswer]) -> Table {
    let mut table = new_table([
        "policy",
        "phase",
        "hours",
        "may lose",
        "MB/s",
        "requests/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "max ms",
    ]);
    mark_figures_from(&mut table, 2);
    for (index, it) in answers.iter().enumerate() {
        // Users' times before do not depend on the policy.
        let phases = it.answer.phases.iter().filter(|phase| index == 0 || phase.mb_per_s.is_some());
        for phase in phases {
            let policy = if phase.mb_per_s.is_some() { it.policy.as_str() } else { "" };
            table.add_row(phase_row(policy, phase));
        }
    }
    table
}

fn phase_row(policy: &str, phase: &ArrayPhase) -> [String; 10] {
    let or_none = |value: Option<f64>| value.map_or(String::new(), short);
    let users = |of: fn(&seekwise::rebuild::UserFigures) -> f64| or_none(phase.users.as_ref().map(of));
    [
        policy.to_owned(),
        phase.name.clone(),
        or_none(phase.hours),
        phase.spare.to_string(),
        or_none(phase.mb_per_s),
        users(|it| it.requests_per_s),
        users(|it| it.mean_ms),
        users(|it| it.p50_ms),
        users(|it| it.p99_ms),
        users(|it| it.max_ms),
    ]
}

/// Rows of a timeline in the terminal.
const ROWS: usize = 8;

fn timeline_table(answer: &ArrayAnswer) -> Table {
    let mut table = new_table(["hour", "done", "lost", "MB/s", "requests/s", "p50 ms", "p99 ms"]);
    mark_figures_from(&mut table, 0);
    let step = answer.timeline.len().div_ceil(ROWS).max(1);
    for point in answer.timeline.iter().step_by(step) {
        let users =
            |of: fn(&seekwise::rebuild::UserFigures) -> f64| point.users.as_ref().map(of).map_or(String::new(), short);
        table.add_row([
            short(point.hour),
            format!("{:.0} %", 100.0 * point.done),
            point.lost.to_string(),
            short(point.mb_per_s),
            users(|it| it.requests_per_s),
            users(|it| it.p50_ms),
            users(|it| it.p99_ms),
        ]);
    }
    table
}
