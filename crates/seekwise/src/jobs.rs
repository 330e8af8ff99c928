//! The jobs that are built in: patterns, fio jobs, scenes and the programs of scenes; and patterns as fio jobs. Files
//! of jobs are read where they are run ([`setup`](crate::setup)).

use crate::time::Span;

/// Built-in patterns, and those that a word of fio's means.
pub use seekwise_lab::jobs::{BuiltInPattern, built_in_patterns, patterns_meant_by};
pub use seekwise_work::workload::{AccessLine, AccessSpec};

/// Built-in fio jobs and scenes, and their texts.
pub use seekwise_formats::scene::{LayoutCache, SceneFile};
pub use seekwise_lab::built_in::{BuiltInJob, BuiltInScene, JOBS, SCENES, find_text};

/// Programs of scenes, with the sources of their figures.
pub use seekwise_formats::program::{ProgramFile, find_program, programs};

/// Whether fio's jobs have an option of that name.
pub use seekwise_formats::fio::is_option as is_fio_option;

/// The pattern as a fio job file; `None` unless its lines differ in size alone and each sequence has either reads or
/// writes.
pub fn to_fio_job(pattern: &BuiltInPattern) -> Option<String> {
    let lines = &pattern.spec.lines;
    let first = lines.first()?;
    let differs_in_size_alone = |line: &AccessLine| {
        let is_simple = line.delay == Span::ZERO && line.burst == 1 && line.reply == 0;
        is_simple && (line.reads, line.random, line.align) == (first.reads, first.random, first.align)
    };
    // fio continues a sequence from its last request of the same direction, Iometer from its last request of either.
    let mixes_directions = first.random < 100 && !matches!(first.reads, 0 | 100);
    if mixes_directions || !lines.iter().all(differs_in_size_alone) {
        return None;
    }
    let random = if first.random > 0 { "rand" } else { "" };
    let mut text = format!("[{}]\nioengine=libaio\ndirect=1\nfilename=/dev/sda\n", pattern.name);
    text += &match first.reads {
        100 => format!("rw={random}read\n"),
        0 => format!("rw={random}write\n"),
        reads => format!("rw={random}rw\nrwmixread={reads}\n"),
    };
    if !matches!(first.random, 0 | 100) {
        text += &format!("percentage_random={}\n", first.random);
    }
    text += &match lines.len() {
        1 => format!("bs={}\n", first.size),
        _ => {
            let parts: Vec<String> = lines.iter().map(|line| format!("{}/{}", line.size, line.share)).collect();
            format!("bssplit={}\n", parts.join(":"))
        }
    };
    // Without an alignment, a request of Iometer begins at any sector.
    text += &format!("blockalign={}\n", if first.align == 0 { 512 } else { first.align });
    if first.random > 0 {
        text += "norandommap=1\n";
    }
    Some(text + "iodepth=1\ntime_based=1\nramp_time=5\nruntime=60\n")
}

#[cfg(test)]
mod tests {
    use seekwise_formats::fio;
    use seekwise_work::workload::Pattern;

    use super::*;

    #[test]
    fn a_pattern_s_fio_job_is_one() {
        let mut said = 0;
        for pattern in built_in_patterns() {
            let Some(text) = to_fio_job(&pattern) else { continue };
            let (job, warnings) = fio::parse("p.fio", &text, &fio::FioContext::bare()).unwrap().job(1 << 24).unwrap();
            assert!(warnings.is_empty(), "{}: {warnings:?}", pattern.name);
            let [worker] = &job.workers[..] else { panic!("{} has one worker", pattern.name) };
            let Pattern::Fio(fio) = &worker.pattern else { panic!("{} is fio's", pattern.name) };
            let sizes: Vec<u32> = pattern.spec.lines.iter().map(|line| line.size).collect();
            let smallest = fio.blocks.iter().map(|blocks| blocks.smallest()).min();
            assert_eq!(smallest, sizes.iter().copied().min().map(u64::from), "{}", pattern.name);
            said += 1;
        }
        assert!(said > 20, "{said} patterns have a fio job");
    }

    #[test]
    fn pauses_bursts_and_answers_are_beyond_a_fio_job() {
        let plain = built_in_patterns().into_iter().find(|pattern| to_fio_job(pattern).is_some()).unwrap();
        let changes: [fn(&mut AccessLine); 3] =
            [|line| line.delay = Span::from_millis(1), |line| line.burst = 2, |line| line.reply = 512];
        for change in changes {
            let mut pattern = plain.clone();
            change(&mut pattern.spec.lines[0]);
            assert_eq!(to_fio_job(&pattern), None, "{:?}", pattern.spec);
        }
    }
}
