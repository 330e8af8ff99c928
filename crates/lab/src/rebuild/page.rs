//! An answer as one self-contained HTML page: the answer in a sentence, what each policy costs users for its hours, the course of each, for how
//! long how much could be lost, then tables.

use std::fmt::Write;

use super::{ArrayAnswer, ArrayPhase, TimelinePoint, UserFigures};
use crate::page::{
    RULE, SIDES, WIDTH, draw_dot, draw_line, draw_path, draw_text, escape_html, figure_html, render_page,
    write_command, write_paragraph, write_section,
};
use crate::plot::next_round_number;

/// The answer for a policy, with the policy's name.
pub type NamedAnswer<'a> = (&'a str, &'a ArrayAnswer);

const LEFT: f64 = 90.0;
/// Room for names beside the ends of lines.
const RIGHT: f64 = 110.0;
const TOP: f64 = 24.0;
const HEIGHT: f64 = 340.0;
/// Below the plot: numbers and the axis' name.
const BELOW: f64 = 40.0;

/// The page. `notes` stand below the tables; there is at least one answer.
pub fn render_html(title: &str, answers: &[NamedAnswer<'_>], notes: &[String], command: &str) -> String {
    let mut html = String::new();
    html.push_str(&draw_trade(answers));
    html.push_str(&draw_course(answers));
    html.push_str(&draw_exposure(answers));
    let heads = ["policy, phase", "hours", "may lose", "MB/s", "requests/s", "mean ms", "p50 ms", "p99 ms", "max ms"];
    let columns = if users_before(answers[0].1).is_some() { heads.len() } else { 4 };
    write_section(
        &mut html,
        "Phases",
        &heads[..columns],
        answers.iter().enumerate().flat_map(|(index, (policy, answer))| {
            let phases = answer.phases.iter().filter(move |phase| index == 0 || phase.mb_per_s.is_some());
            phases.map(move |phase| phase_row(policy, phase)[..columns].to_vec())
        }),
    );
    for (policy, answer) in answers.iter().filter(|(_, answer)| !answer.timeline.is_empty()) {
        let mut course = String::new();
        let heads = ["hour", "done %", "lost", "MB/s", "requests/s", "p50 ms", "p99 ms"];
        write_section(&mut course, policy, &heads, answer.timeline.iter().map(timeline_row));
        let _ = writeln!(html, "<details><summary>The course of {}</summary>{course}</details>", escape_html(policy));
    }
    for note in notes {
        write_paragraph(&mut html, note);
    }
    write_command(&mut html, command);
    render_page(title, &answer_sentence(answers), &html)
}

/// Three significant figures, or whole numbers.
pub fn round_figure(value: f64) -> String {
    match value {
        large if large >= 99.95 => format!("{large:.0}"),
        middle if middle >= 9.995 => format!("{middle:.1}"),
        small => format!("{small:.2}"),
    }
}

/// The users' figures during a rebuild or a scrub: those of the phase in which they wait longest.
fn users_during(answer: &ArrayAnswer) -> Option<UserFigures> {
    let during = answer.phases.iter().filter(|phase| phase.mb_per_s.is_some()).filter_map(|phase| phase.users);
    during.max_by(|a, b| a.p99_ms.total_cmp(&b.p99_ms))
}

fn users_before(answer: &ArrayAnswer) -> Option<UserFigures> {
    answer.phases.first().and_then(|phase| phase.users)
}

/// The answer in words.
fn answer_sentence(answers: &[NamedAnswer<'_>]) -> String {
    let ended: Vec<(&str, f64, Option<f64>)> = answers
        .iter()
        .filter_map(|(policy, it)| Some((*policy, it.hours?, users_during(it).map(|users| users.p99_ms))))
        .collect();
    let first = answers[0].1;
    let before =
        users_before(first).map(|users| format!(" Without it the percentile is {} ms.", round_figure(users.p99_ms)));
    let before = before.unwrap_or_default();
    let never: Vec<&str> = answers.iter().filter(|(_, it)| it.hours.is_none()).map(|(policy, _)| *policy).collect();
    let never = match never.is_empty() {
        true => String::new(),
        false => format!(" Never done beside these users: {}.", never.join(", ")),
    };
    let waiting = waiting_hours(first).map_or(String::new(), |hours| {
        format!(" once the new drive is there, {} h after the loss", round_figure(hours))
    });
    let Some(fastest) = ended.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return "It never ends beside these users: nothing is done while they work.".to_owned();
    };
    let hours = round_figure(fastest.1);
    let before = format!("{never}{before}");
    let name = if answers.len() > 1 { format!("{} takes ", fastest.0) } else { "It takes ".to_owned() };
    let Some(p99) = fastest.2 else { return format!("{name}{hours} h{waiting}.{never}{}", exposed_sentence(answers)) };
    let least = ended.iter().filter_map(|it| Some((it.0, it.1, it.2?))).min_by(|a, b| a.2.total_cmp(&b.2));
    let cost = format!(
        "{name}{hours} h{waiting}, and meanwhile 99 of 100 of the users' requests take up to {} ms",
        round_figure(p99)
    );
    match least.filter(|least| least.0 != fastest.0) {
        Some((policy, hours, p99)) => {
            let (hours, p99) = (round_figure(hours), round_figure(p99));
            format!("{cost}; {policy} takes {hours} h, and costs users least: {p99} ms.{before}")
        }
        None => format!("{cost}.{before}{}", exposed_sentence(answers)),
    }
}

/// Hours without a new drive; `None` if it is there at once.
fn waiting_hours(answer: &ArrayAnswer) -> Option<f64> {
    let waiting = |phase: &&ArrayPhase| phase.lost > 0 && phase.mb_per_s.is_none();
    answer.phases.iter().find(waiting).and_then(|phase| phase.hours)
}

/// For how long one more loss would be the end, of one policy.
fn exposed_sentence(answers: &[NamedAnswer<'_>]) -> String {
    let hours =
        |it: &ArrayAnswer| it.exposure.iter().find(|exposure| exposure.spare == 0).map(|exposure| exposure.hours);
    match answers {
        [(_, only)] => hours(only).map_or(String::new(), |hours| {
            format!(" For {} h one more loss would be the end of the data.", round_figure(hours))
        }),
        _ => String::new(),
    }
}

fn phase_row(policy: &str, phase: &ArrayPhase) -> Vec<String> {
    let or_none = |value: Option<f64>| value.map_or(String::new(), round_figure);
    let users = |of: fn(&UserFigures) -> f64| or_none(phase.users.as_ref().map(of));
    let name = if phase.mb_per_s.is_some() { format!("{policy}: {}", phase.name) } else { phase.name.clone() };
    vec![
        name,
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

fn timeline_row(point: &TimelinePoint) -> Vec<String> {
    let users =
        |of: fn(&UserFigures) -> f64| point.users.as_ref().map_or(String::new(), |users| round_figure(of(users)));
    vec![
        round_figure(point.hour),
        format!("{:.0}", 100.0 * point.done),
        point.lost.to_string(),
        round_figure(point.mb_per_s),
        users(|it| it.requests_per_s),
        users(|it| it.p50_ms),
        users(|it| it.p99_ms),
    ]
}

/// The axes of a plot: hours from zero, and a figure, logarithmic if it is a time.
struct Axes {
    hours: f64,
    low: f64,
    high: f64,
    is_log: bool,
}

impl Axes {
    fn x(&self, hour: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * hour / self.hours
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        TOP + (HEIGHT - TOP) * (1.0 - share.clamp(0.0, 1.0))
    }

    /// Rules with their numbers, and the names of the axes.
    fn draw(&self, body: &mut String, name: &str) {
        let values: Vec<f64> = if self.is_log {
            let first = 10f64.powf(self.low.log10().floor());
            let decades = std::iter::successors(Some(first), |value| Some(10.0 * value)).take(8);
            decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * decade)).collect()
        } else {
            (0..=4).map(|step| f64::from(step) / 4.0 * self.high).collect()
        };
        for value in values.into_iter().filter(|value| (self.low..=self.high).contains(value)) {
            draw_line(body, (LEFT, self.y(value)), (WIDTH - RIGHT, self.y(value)), RULE, 1.0);
            draw_text(body, (LEFT - 8.0, self.y(value) + 4.0), "end", &round_number(value));
        }
        for step in 0..=4 {
            let hour = self.hours * f64::from(step) / 4.0;
            draw_text(body, (self.x(hour), HEIGHT + 18.0), "middle", &round_number(hour));
        }
        draw_text(body, (LEFT, TOP - 10.0), "start", name);
        draw_text(body, (0.5 * (LEFT + WIDTH - RIGHT), HEIGHT + 36.0), "middle", "hours");
    }
}

/// A number of an axis.
fn round_number(value: f64) -> String {
    crate::plot::format_tick(&value)
}

/// A policy in the picture of costs.
struct TradeDot<'a> {
    /// The number of its colour.
    index: usize,
    policy: &'a str,
    hours: f64,
    p99_ms: f64,
}

/// The course of a policy: hours, and what users feel there.
struct Course<'a> {
    index: usize,
    policy: &'a str,
    points: Vec<(f64, f64)>,
}

/// Hours against what users feel, a dot for each policy; nothing for one policy, or without users.
fn draw_trade(answers: &[NamedAnswer<'_>]) -> String {
    let numbered = answers.iter().enumerate();
    let dots: Vec<TradeDot<'_>> = numbered
        .filter_map(|(index, &(policy, it))| {
            Some(TradeDot { index, policy, hours: it.hours?, p99_ms: users_during(it)?.p99_ms })
        })
        .collect();
    let Some(before) = users_before(answers[0].1).map(|users| users.p99_ms).filter(|_| dots.len() > 1) else {
        return String::new();
    };
    let most = |of: fn(&TradeDot<'_>) -> f64| dots.iter().map(of).fold(0.0, f64::max);
    let axes = Axes {
        hours: next_round_number(most(|dot| dot.hours)),
        low: before / 1.5,
        high: most(|dot| dot.p99_ms).max(before) * 1.3,
        is_log: true,
    };
    let mut body = String::new();
    axes.draw(&mut body, "99th percentile of users' times, ms");
    draw_line(&mut body, (LEFT, axes.y(before)), (WIDTH - RIGHT, axes.y(before)), "var(--soft)", 1.5);
    draw_text(&mut body, (WIDTH - RIGHT + 8.0, axes.y(before) + 4.0), "start", "without it");
    let places: Vec<(f64, f64)> = dots.iter().map(|dot| (axes.x(dot.hours), axes.y(dot.p99_ms))).collect();
    for (TradeDot { index, policy, .. }, at) in dots.iter().zip(&places) {
        draw_dot(&mut body, *at, SIDES[index % SIDES.len()], true);
        // A name stands left of its dot if another dot is close on the right.
        let is_close = |other: &&(f64, f64)| (1.0..80.0).contains(&(other.0 - at.0)) && (other.1 - at.1).abs() < 18.0;
        let (x, anchor) = if places.iter().any(|other| is_close(&other)) { (-9.0, "end") } else { (9.0, "start") };
        draw_text(&mut body, (at.0 + x, at.1 - 6.0), anchor, policy);
    }
    let caption =
        "What each policy costs users for the hours that it takes: lower is kinder to users, left is done sooner.";
    figure_html(HEIGHT + BELOW, &body, caption)
}

/// The users' 99th percentile from the beginning to the end; without users, the rate.
fn draw_course(answers: &[NamedAnswer<'_>]) -> String {
    let has_users = users_before(answers[0].1).is_some();
    let value = |point: &TimelinePoint| match point.users {
        Some(users) => Some(users.p99_ms),
        None => (!has_users).then_some(point.mb_per_s),
    };
    let numbered = answers.iter().enumerate();
    let courses: Vec<Course<'_>> = numbered
        .map(|(index, &(policy, answer))| {
            let points = answer.timeline.iter().filter_map(|point| Some((point.hour, value(point)?))).collect();
            Course { index, policy, points }
        })
        .filter(|course| course.points.len() > 1)
        .collect();
    let all: Vec<(f64, f64)> = courses.iter().flat_map(|course| course.points.clone()).collect();
    if all.is_empty() {
        return String::new();
    }
    let most = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let least = all.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let (hours, high) = (next_round_number(most(|point| point.0)), most(|point| point.1));
    let axes = match has_users {
        true => Axes { hours, low: least / 1.5, high: 1.3 * high, is_log: true },
        false => Axes { hours, low: 0.0, high: next_round_number(high), is_log: false },
    };
    let mut body = String::new();
    axes.draw(&mut body, if has_users { "99th percentile of users' times, ms" } else { "MB/s on each drive" });
    for Course { index, policy, points } in &courses {
        let colour = SIDES[index % SIDES.len()];
        let places: Vec<(f64, f64)> = points.iter().map(|(hour, value)| (axes.x(*hour), axes.y(*value))).collect();
        draw_path(&mut body, &places, colour);
        let end = places[places.len() - 1];
        draw_dot(&mut body, end, colour, true);
        draw_text(&mut body, (end.0 + 9.0, end.1 + 4.0), "start", policy);
    }
    let caption = match has_users {
        true => "What users feel from the beginning to the end.",
        false => "The rate from the beginning to the end.",
    };
    figure_html(HEIGHT + BELOW, &body, caption)
}

/// For how long how many further losses are survived.
fn draw_exposure(answers: &[NamedAnswer<'_>]) -> String {
    const ROW: f64 = 28.0;
    let rows: Vec<&NamedAnswer<'_>> =
        answers.iter().filter(|(_, it)| it.hours.is_some() && !it.exposure.is_empty()).collect();
    let whole = |it: &ArrayAnswer| it.exposure.iter().map(|exposure| exposure.hours).sum::<f64>();
    let most = rows.iter().map(|(_, it)| whole(it)).fold(0.0, f64::max);
    // With one kind the bars would be the hours once more.
    let has_kinds = rows.iter().any(|(_, it)| it.exposure.len() > 1);
    if most <= 0.0 || !has_kinds {
        return String::new();
    }
    let width = WIDTH - LEFT - RIGHT;
    let mut body = String::new();
    for (index, (policy, answer)) in rows.iter().enumerate() {
        let (y, mut x) = (TOP + ROW * (index as f64 + 0.5), LEFT);
        draw_text(&mut body, (LEFT - 8.0, y + 4.0), "end", policy);
        for exposure in &answer.exposure {
            let end = x + width * exposure.hours / most;
            // None more: the colour of warnings; one: of caution; more: of ease.
            let colour = SIDES[[1, 4, 2][exposure.spare.min(2) as usize]];
            draw_line(&mut body, (x, y), (end, y), colour, 16.0);
            x = end;
        }
        draw_text(&mut body, (x + 9.0, y + 4.0), "start", &format!("{} h", round_figure(whole(answer))));
    }
    let y = TOP + ROW * rows.len() as f64 + 16.0;
    for (place, (colour, words)) in
        [(1, "no further loss"), (4, "one more"), (2, "two or more")].into_iter().enumerate()
    {
        let x = LEFT + 160.0 * place as f64;
        draw_dot(&mut body, (x, y - 4.0), SIDES[colour], true);
        draw_text(&mut body, (x + 10.0, y), "start", words);
    }
    figure_html(y + 12.0, &body, "For how long how many further losses would be survived, whichever drives they meet.")
}

#[cfg(test)]
mod tests {
    use super::super::Exposure;
    use super::*;

    fn users(p99_ms: f64) -> Option<UserFigures> {
        Some(UserFigures { requests_per_s: 100.0, mean_ms: 10.0, p50_ms: 9.0, p99_ms, max_ms: 2.0 * p99_ms })
    }

    fn phase(name: &str, hours: Option<f64>, users: Option<UserFigures>) -> ArrayPhase {
        let mb_per_s = (name != "before").then_some(100.0);
        ArrayPhase { name: name.to_owned(), hours, lost: 1, spare: 1, mb_per_s, users }
    }

    fn answer(hours: Option<f64>, p99_ms: Option<f64>) -> ArrayAnswer {
        let during = p99_ms.and_then(users);
        let before = p99_ms.and_then(|_| users(40.0));
        let point = |hour| TimelinePoint { hour, done: hour / 50.0, lost: 1, mb_per_s: 120.0 - hour, users: during };
        ArrayAnswer {
            computed: "by hand".to_owned(),
            members: 8,
            member_bytes: 1 << 40,
            hours,
            interval: None,
            mb_per_s: Some(100.0),
            phases: vec![phase("before", None, before), phase("rebuild, 1 lost", hours, during)],
            timeline: vec![point(1.0), point(25.0), point(49.0)],
            exposure: vec![Exposure { spare: 1, hours: 50.0 }],
            read_bytes: 1e12,
            unspared_read_bytes: 0.0,
            failures: 0,
        }
    }

    #[test]
    fn the_page_answers_first_and_draws_what_there_is() {
        let (md, idle, never) =
            (answer(Some(50.0), Some(900.0)), answer(Some(190.0), Some(56.0)), answer(None, Some(40.0)));
        let page =
            |answers: &[NamedAnswer<'_>]| render_html("A <title>", answers, &["a note".to_owned()], "seekwise rebuild");
        let both = page(&[("md", &md), ("idle", &idle), ("wait", &never)]);
        let sentence = "md takes 50.0 h, and meanwhile 99 of 100 of the users&#39; requests take up to 900 ms; idle takes 190 h, and costs \
                        users least: 56.0 ms. Never done beside these users: wait. Without it the percentile is 40.0 ms.";
        assert!(both.contains(&sentence.replace("&#39;", "'")), "{both}");
        assert!(both.contains("A &lt;title&gt;"), "{both}");
        assert_eq!(both.matches("<figure>").count(), 2);
        // One policy has no trade; without users the rate is drawn.
        let alone = answer(Some(50.0), None);
        let one = page(&[("md", &alone)]);
        assert!(one.contains("It takes 50.0 h.") && one.contains("MB/s on each drive"), "{one}");
        assert_eq!(one.matches("<figure>").count(), 1);
        // Two drives were lost: for a while nothing more may be.
        let mut two = answer(Some(50.0), Some(900.0));
        two.exposure.push(Exposure { spare: 0, hours: 20.0 });
        let two = page(&[("md", &two)]);
        assert!(two.contains("For 20.0 h one more loss would be the end of the data."), "{two}");
        assert_eq!(two.matches("<figure>").count(), 2);
        assert!(page(&[("wait", &never)]).contains("It never ends beside these users"));
    }
}
