//! Reasons why a run did not serve every request: volumes that lost too many drives, workers that ended at an error, trims that no disk
//! here knows, and requests beyond the end.

use seekwise_disk::block::Control;
use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_run::outcome::RunFigures;
use seekwise_run::place::Target;
use seekwise_run::work::Work;
use seekwise_run::work::trace::TraceSpec;
use seekwise_work::workload::Worker;
use seekwise_work::workload::session_replay::{RecordedRequest, RecordedSession};

/// The troubles of a run with these figures, in words, one line each.
pub(super) fn run_troubles(target: &Target, work: &Work, figures: &RunFigures) -> Vec<String> {
    let failures = figures.failures;
    let mut troubles = target.stack().map_or(Vec::new(), |stack| lost_volumes(stack, figures.end));
    let ends_at_errors = |worker: &Worker| worker.survives != [true; 2];
    if failures > 0 && work.workers().iter().any(ends_at_errors) {
        troubles
            .push("workers of fio jobs end at their first error, unless `continue_on_error` says otherwise".to_owned());
    }
    if let (1.., Work::Trace(TraceSpec { trims: trims @ 1.., .. })) = (failures, work) {
        troubles.push(format!("there are {trims} trims in the trace, which a disk that does not know them fails"));
    }
    if let (1.., Work::Session(session)) = (failures, work) {
        troubles.extend(requests_beyond_end(session, target.sectors()));
    }
    troubles
}

/// Counts the requests of a recording that lie beyond the end of a stack of `sectors` sectors, in words; `None` if there are none.
fn requests_beyond_end(session: &RecordedSession, sectors: u64) -> Option<String> {
    let lies_beyond = |entry: &&RecordedRequest| entry.lba + u64::from(entry.sectors) > sectors;
    let (count, all) = (session.entries.iter().filter(lies_beyond).count(), session.entries.len());
    (count > 0).then(|| {
        format!(
            "{count} of the {all} recorded requests lie beyond the last sector here, and fail: `trace.map=wrap` or `scale` moves \
             them, `refuse` refuses the recording"
        )
    })
}

/// The volumes of the array that lost more drives by `end` than they survive, and since when, in words.
fn lost_volumes(stack: &Stack, end: Instant) -> Vec<String> {
    let Some(spec) = stack.array() else { return Vec::new() };
    // A new drive restores nothing of a lost volume: the first state that it does not survive counts. The time of its
    // rebuild is left out: a second loss meanwhile shows in the errors alone.
    let mut lost = spec.lost;
    let mut states: Vec<(Instant, u64)> = vec![(Instant::ZERO, lost)];
    for change in stack.changes.iter().filter(|change| change.at <= end) {
        match change.control {
            Control::Set(LayerSetting::Array(ArraySetting::Lose(member))) => lost |= 1 << member,
            Control::Set(LayerSetting::Array(ArraySetting::Replace(member))) => lost &= !(1 << member),
            _ => {}
        }
        states.push((change.at, lost));
    }
    let volumes = stack.volumes();
    let dead = volumes.iter().enumerate().filter_map(|(index, volume)| {
        let (at, lost) = states.iter().find(|(_, lost)| !volume.survives_loss(*lost))?;
        let since = match at.nanos() {
            0 => "from the start".to_owned(),
            nanos => format!("from {} s on", nanos as f64 / 1e9),
        };
        let (gone, all) = (lost.count_ones(), volume.members);
        let number = index + 1;
        Some(format!(
            "volume {number} of the array is lost {since}: {gone} of {all} drives are gone; every request to it fails"
        ))
    });
    dead.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::Op;
    use seekwise_disk::stack::SettingChange;
    use seekwise_drives::stack::StackFile as File;

    fn said(text: &str, changes: &[(u64, ArraySetting)]) -> Vec<String> {
        let drives = |name: &str| Ok(crate::catalogue::find_text(name).expect("built in").to_owned());
        let built = File::parse("s.toml", text).unwrap().build(&drives).unwrap();
        let change = |&(at, setting): &(u64, ArraySetting)| SettingChange {
            at: Instant::from_nanos(at * 1_000_000_000),
            control: Control::Set(LayerSetting::Array(setting)),
        };
        let changes = changes.iter().map(change).collect();
        let end = Instant::from_nanos(200 * 1_000_000_000);
        lost_volumes(&Stack { changes, ..built.stack }, end)
    }

    #[test]
    fn recorded_requests_without_a_place_are_counted() {
        let entry = |stamp, lba, op| {
            let (at, done) = (Instant::ZERO, Instant::ZERO);
            RecordedRequest { stamp, at, done, ok: true, op, lba, sectors: 8, fua: false, tag: 0 }
        };
        let entries = vec![entry(1, 92, Op::Read), entry(2, 93, Op::Write), entry(3, 5000, Op::Read)];
        let session = RecordedSession { name: "s".into(), made_on: "d".into(), entries };
        let said = requests_beyond_end(&session, 100).unwrap();
        assert!(said.starts_with("2 of the 3 recorded requests lie beyond the last sector here"), "{said}");
        assert_eq!(requests_beyond_end(&session, 10_000), None);
    }

    #[test]
    fn a_volume_is_lost_when_it_has_lost_more_than_it_bears() {
        let of = |array: &str| format!("drive = \"barracuda-7200.7\"\n[array]\nname = \"{array}\"\n");
        let words = "volume 1 of the array is lost from the start: 1 of 2 drives are gone; every request to it fails";
        assert_eq!(said(&(of("raid-0") + "lose = 1\n"), &[]), [words]);
        assert!(said(&(of("raid-5") + "lose = 1\n"), &[]).is_empty());
        let rebuilt = [(5, ArraySetting::Replace(1)), (99, ArraySetting::Lose(2))];
        assert!(said(&(of("raid-5") + "lose = 1\n"), &rebuilt).is_empty(), "a new drive came between");
        let second = said(&(of("raid-5") + "lose = 1\n"), &rebuilt[1..]);
        assert!(second[0].contains("from 99 s on: 2 of 3 drives"), "{second:?}");
        assert!(said(&of("raid-0"), &[(201, ArraySetting::Lose(0))]).is_empty(), "the run had ended");
        assert_eq!(said(&of("matrix"), &[(10, ArraySetting::Lose(0))]).len(), 1, "the second volume is a mirror");
    }
}
