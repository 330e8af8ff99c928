//! A rebuild or a scrub simulated from its beginning to its end.

use seekwise_disk::block::setting::ArraySetting;
use seekwise_disk::time::Span;

use super::hours::exposure;
use super::stretch::{RunningArray, SyncStart, sectors_done, simulated_seconds};
use super::{ArrayAnswer, ArrayPhase, ArrayTask, ArrayUnderSync, TimelinePoint, user_figures};
use crate::stats::histogram::Histogram;

/// The ends of rebuilds are found to this.
const STEP: Span = Span::from_secs(1);

/// The most points of a timeline.
const POINTS: usize = 64;

/// Seconds without progress after which a rebuild counts as one that never ends.
const STARVED_S: u32 = 24 * 3600;

/// A second of a rebuild or a scrub.
struct Second {
    lost: u32,
    pass: usize,
    sectors: u64,
    latency: Histogram,
}

/// Simulates the whole task.
pub(super) fn simulate_whole(array: &ArrayUnderSync<'_>) -> Result<ArrayAnswer, String> {
    if array.question.terms.working_hours.is_some() {
        return Err("hours of the day are computed from stretches only; expected not to compute it whole".to_owned());
    }
    let mut running = RunningArray::new(array, 1, true)?;
    let quiet = quiet_time();
    let before = pass_quietly(&mut running, quiet)?;
    let spare_after =
        if array.question.terms.task == ArrayTask::Scrub { 0.0 } else { array.question.terms.spare_after_hours };
    array.first_lost(array.lost).into_iter().try_for_each(|member| running.set(ArraySetting::Lose(member)))?;
    let waiting = pass_quietly(&mut running, Span::from_nanos((spare_after * 3.6e12) as u64))?;
    let (seconds, is_over) = simulate_passes(array, &mut running)?;
    let failures = running.failures();
    let after = pass_quietly(&mut running, quiet)?;
    let mut hours_lost = vec![0.0; array.volume.members as usize + 1];
    hours_lost[array.lost as usize] += spare_after;
    seconds.iter().for_each(|second| hours_lost[second.lost as usize] += 1.0 / 3600.0);
    let quiet_phase = |name: &str, lost: u32, hours: Option<f64>, latency: &Histogram, seconds: f64| ArrayPhase {
        name: name.to_owned(),
        hours,
        lost,
        spare: array.spare(lost),
        mb_per_s: None,
        users: user_figures(latency, seconds),
    };
    let quiet_s = quiet.nanos() as f64 / 1e9;
    let mut phases = vec![quiet_phase("before", 0, None, &before, quiet_s)];
    if spare_after > 0.0 {
        phases.push(quiet_phase(
            "waiting for a new drive",
            array.lost,
            Some(spare_after),
            &waiting,
            spare_after * 3600.0,
        ));
    }
    phases.extend(sync_phases(array, &seconds));
    if is_over {
        phases.push(quiet_phase("after", 0, None, &after, quiet_s));
    }
    let hours = seconds.len() as f64 / 3600.0;
    let sectors: u64 = seconds.iter().map(|second| second.sectors).sum();
    let read_while = |counts: &dyn Fn(u32) -> bool| -> f64 {
        let counted = seconds.iter().filter(|second| counts(second.lost));
        counted.map(|second| 512.0 * second.sectors as f64 * f64::from(array.sources(second.lost))).sum()
    };
    Ok(ArrayAnswer {
        computed: "simulated whole, request by request".to_owned(),
        members: array.volume.members,
        member_bytes: array.sectors * 512,
        hours: is_over.then_some(hours),
        interval: None,
        mb_per_s: is_over.then(|| sectors as f64 * 512.0 / 1e6 / (hours * 3600.0)),
        read_bytes: read_while(&|_| true),
        unspared_read_bytes: read_while(&|lost| array.is_unspared(lost)),
        phases,
        exposure: exposure(array, &hours_lost),
        timeline: timeline(array, &seconds, spare_after),
        failures,
    })
}

/// The time for which users are watched before and after.
fn quiet_time() -> Span {
    Span::from_secs(simulated_seconds() as u64)
}

/// Lets users work alone; the first seconds, in which they settle, do not count.
fn pass_quietly(running: &mut RunningArray, span: Span) -> Result<Histogram, String> {
    if span == Span::ZERO {
        return Ok(Histogram::default());
    }
    running.pass(Span::from_secs(6))?;
    drop(running.take_latency());
    running.pass(span)?;
    Ok(running.take_latency())
}

/// Simulates all passes along the members. Returns their seconds, and whether they came to their end.
fn simulate_passes(array: &ArrayUnderSync<'_>, running: &mut RunningArray) -> Result<(Vec<Second>, bool), String> {
    let (mut lost, mut seconds) = (array.first_lost(array.lost), Vec::new());
    let mut next_loss = array.question.terms.next_loss_hours.map(|hours| (hours * 3600.0) as usize);
    for pass in 0.. {
        let members = array.replaced(&lost);
        let rebuilt = members.len();
        let start = SyncStart { members, sector: 0 };
        let (ended_before, done_before) = (running.counts().ended, sectors_done(&running.counts()));
        running.begin(&start)?;
        let (mut done, mut starved, mut has_skipped) = (done_before, 0, array.sectors == array.volume.end());
        while running.counts().ended == ended_before {
            if next_loss.is_some_and(|at| seconds.len() >= at) {
                next_loss = None;
                let member = array.order[lost.len()];
                running.set(ArraySetting::Lose(member))?;
                lost.push(member);
            }
            running.pass(STEP)?;
            let now = sectors_done(&running.counts());
            starved = if now == done { starved + 1 } else { 0 };
            let latency = running.take_latency();
            seconds.push(Second { lost: lost.len() as u32, pass, sectors: now - done, latency });
            done = now;
            if starved > STARVED_S {
                return Ok((seconds, false));
            }
            if done - done_before >= array.sectors && !has_skipped {
                // The rest holds no data.
                has_skipped = true;
                running.set(ArraySetting::SkipSync(array.volume.end() - 1))?;
            }
        }
        if next_loss.is_some() {
            let hours = seconds.len() as f64 / 3600.0;
            return Err(format!("the rebuild ends after {hours:.2} h, before the next loss; expected fewer hours"));
        }
        lost.drain(..rebuilt);
        if lost.is_empty() {
            break;
        }
    }
    Ok((seconds, true))
}

/// The phases of rebuilds or of the scrub, by how many members are lost.
fn sync_phases(array: &ArrayUnderSync<'_>, seconds: &[Second]) -> Vec<ArrayPhase> {
    let mut losts: Vec<u32> = seconds.iter().map(|second| second.lost).collect();
    losts.sort_unstable();
    losts.dedup();
    let phase = |&lost: &u32| {
        let (mut latency, mut count, mut sectors) = (Histogram::default(), 0.0, 0);
        for second in seconds.iter().filter(|second| second.lost == lost) {
            latency.merge(&second.latency);
            (count, sectors) = (count + 1.0, sectors + second.sectors);
        }
        let name = match array.question.terms.task {
            ArrayTask::Scrub => "scrub".to_owned(),
            ArrayTask::Rebuild { .. } => format!("rebuild, {lost} lost"),
        };
        ArrayPhase {
            name,
            hours: Some(count / 3600.0),
            lost,
            spare: array.spare(lost),
            mb_per_s: Some(sectors as f64 * 512.0 / 1e6 / count),
            users: user_figures(&latency, count),
        }
    };
    losts.iter().rev().map(phase).collect()
}

fn timeline(array: &ArrayUnderSync<'_>, seconds: &[Second], spare_after: f64) -> Vec<TimelinePoint> {
    let length = seconds.len().div_ceil(POINTS).max(1);
    let (mut done, mut pass, mut all) = (0u64, 0, Vec::new());
    for (index, part) in seconds.chunks(length).enumerate() {
        let mut latency = Histogram::default();
        let mut sectors = 0;
        for second in part {
            if second.pass != pass {
                (pass, done) = (second.pass, 0);
            }
            latency.merge(&second.latency);
            (done, sectors) = (done + second.sectors, sectors + second.sectors);
        }
        all.push(TimelinePoint {
            hour: spare_after + (index * length) as f64 / 3600.0 + part.len() as f64 / 7200.0,
            done: done as f64 / array.sectors as f64,
            lost: part[0].lost,
            mb_per_s: sectors as f64 * 512.0 / 1e6 / part.len() as f64,
            users: user_figures(&latency, part.len() as f64),
        });
    }
    all
}
