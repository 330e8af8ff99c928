//! What is fuzzed, for the fuzz targets and for tests on stable: each entry takes any bytes, tells what it makes of them, and must return.
//!
//! A new parser is one function here, one line in [`ALL`], one file in `fuzz_targets` and its `[[bin]]`.
#![allow(dead_code, reason = "each fuzz target uses one entry")]

use std::fmt::Debug;
use std::sync::LazyLock;

use seekwise_drives::{diagnostic::Diagnostic, profile as profiles, stack as stacks};
use seekwise_formats::study::{self as studies, review as reviews};
use seekwise_formats::{
    disksim as parameters, expression as expressions, fio, fio_json as json, iometer, recipe as recipes,
    recording as recordings, scene as scenes, signature as signatures, trace as traces, trace::measured,
};

/// Hears what was made of the bytes: values, and errors.
pub(crate) type Hear<'a> = &'a mut dyn FnMut(&dyn Debug);

/// Takes any bytes and returns.
pub(crate) type Entry = fn(&[u8], Hear<'_>);

/// All entries by name.
pub(crate) const ALL: [(&str, Entry); 16] = [
    ("icf", icf),
    ("results_csv", results_csv),
    ("fio_json", fio_json),
    ("fio_job", fio_job),
    ("profile", profile),
    ("study", study),
    ("expression", expression),
    ("stack", stack),
    ("trace", trace),
    ("recording", recording),
    ("recorded_trace", recorded_trace),
    ("disksim", disksim),
    ("signature", signature),
    ("scene", scene),
    ("review", review),
    ("recipe", recipe),
];

/// A drive for stacks to stand on.
const DRIVE: &str = include_str!("../crates/drives/profiles/barracuda-7200.7.toml");

/// The drive as it was read for earlier stacks.
static READ: LazyLock<profiles::ReadingCache> = LazyLock::new(profiles::ReadingCache::default);

/// An Iometer configuration, and the job it makes on a small, a common and the largest drive.
pub(crate) fn icf(data: &[u8], hear: Hear<'_>) {
    let parsed = iometer::icf::parse("fuzz.icf", data);
    hear(&parsed);
    let Ok((config, _)) = parsed else {
        return;
    };
    for sectors in [0, 1000, 312_581_808, u64::MAX] {
        let job = config.job(sectors);
        hear(&job);
        if let Ok((job, _)) = job {
            assert!(!job.workers.is_empty(), "a job without work must be an error");
        }
    }
}

/// Iometer's results.
pub(crate) fn results_csv(data: &[u8], hear: Hear<'_>) {
    let parsed = iometer::results::parse("fuzz.csv", data);
    hear(&parsed);
    if let Ok((tests, _)) = parsed {
        assert!(tests.iter().all(|test| !test.rows.is_empty()), "a test without rows must not be kept");
    }
}

/// fio's JSON; what was read must survive writing and reading.
pub(crate) fn fio_json(data: &[u8], hear: Hear<'_>) {
    let read = json::read(data);
    hear(&read);
    let Ok(outputs) = read else {
        return;
    };
    for output in outputs {
        let written = json::write(&output);
        hear(&written);
        let again = json::read(written.as_bytes()).expect("what we write we read");
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].jobs.len(), output.jobs.len());
    }
}

/// A fio job file, and the job it makes on a small, a common and the largest drive.
pub(crate) fn fio_job(data: &[u8], hear: Hear<'_>) {
    let text = String::from_utf8_lossy(data);
    let context = fio::FioContext { environment: &|name| Some(name.to_owned()), ..fio::FioContext::bare() };
    let parsed = fio::parse("fuzz.fio", &text, &context);
    hear(&parsed.as_ref().err());
    let Ok(file) = parsed else {
        return;
    };
    for sectors in [0, 1000, 312_581_808, u64::MAX] {
        let job = file.job(sectors);
        hear(&job);
        if let Ok((job, _)) = job {
            assert_eq!(job.workers.len(), file.worker_origins().len(), "each worker has its origin");
        }
    }
}

/// A drive profile, its model and a place in it.
pub(crate) fn profile(data: &[u8], hear: Hear<'_>) {
    let parsed = profiles::parse("fuzz.toml", &String::from_utf8_lossy(data));
    hear(&parsed);
    let Ok(file) = parsed else {
        return;
    };
    hear(&file.warnings());
    for index in 0..file.fit.as_ref().map_or(0, |fit| fit.draws.len()) {
        assert!(file.with_draw(index).is_ok(), "a draw that was read is a drive file");
    }
    let drive = file.profile();
    hear(&drive);
    if let Ok(drive) = drive {
        let sectors = drive.geometry.sectors();
        assert!(sectors > 0, "a drive without sectors must be an error");
        hear(&drive.geometry.extent(sectors - 1, 1));
    }
}

/// A study file.
pub(crate) fn study(data: &[u8], hear: Hear<'_>) {
    let text = String::from_utf8_lossy(data);
    let parsed = studies::parse("fuzz.toml", &text);
    hear(&parsed);
    if let Ok(study) = parsed {
        assert!(study.runs > 0 && study.factor.iter().all(|factor| !factor.level_names().is_empty()));
        hear(&seekwise_drives::dotted::flatten(&study.stack));
    }
    let fault = Diagnostic::at("--set", 0, "unknown key").with_key(text.chars().take(20).collect::<String>());
    hear(&studies::locate_fault("fuzz.toml", &text, fault));
}

/// An expression of a claim; its parts are written as they stand in it, and its faults lie in it.
pub(crate) fn expression(data: &[u8], hear: Hear<'_>) {
    let text = String::from_utf8_lossy(data);
    let parsed = expressions::parse(&text);
    hear(&parsed);
    match parsed {
        Ok(expression) => {
            let words: String = text.split_whitespace().collect();
            assert!(words.starts_with(&expression.body.text.split_whitespace().collect::<String>()));
            hear(&expression.body.node.is_condition());
        }
        Err(fault) => assert!(fault.at <= text.len() && !fault.message.is_empty()),
    }
}

/// A stack file, and what it builds.
pub(crate) fn stack(data: &[u8], hear: Hear<'_>) {
    let parsed = stacks::StackFile::parse("fuzz.toml", &String::from_utf8_lossy(data));
    hear(&parsed.as_ref().err());
    let Ok(stack) = parsed else {
        return;
    };
    let built = stack.build_with_cache(&|_| Ok(DRIVE.to_owned()), &READ);
    hear(&built);
    if let Ok(built) = built {
        assert!(!built.settings.is_empty(), "a stack is recorded");
    }
}

/// A recorded session; what was read is written and read again.
pub(crate) fn recording(data: &[u8], hear: Hear<'_>) {
    let parsed = recordings::parse("fuzz.csv", "fuzz", &String::from_utf8_lossy(data));
    hear(&parsed);
    if let Ok(read) = parsed {
        let lines: String = read.session.entries.iter().map(recordings::request_line).collect();
        hear(&lines);
        let again = recordings::parse("fuzz.csv", "fuzz", &lines).expect("what we write we read");
        assert_eq!(again.session.entries, read.session.entries);
    }
}

/// A measured trace; every request has a line and a response time.
pub(crate) fn trace(data: &[u8], hear: Hear<'_>) {
    let parsed = measured::parse("fuzz.csv", &String::from_utf8_lossy(data));
    hear(&parsed);
    if let Ok(trace) = parsed {
        assert_eq!((trace.rows.len(), trace.lines.len()), (trace.measured.len(), trace.measured.len()));
        assert!(trace.rows.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival), "arrivals rise");
    }
}

/// A trace as a job: as it looks and as every format, in a window of a few requests; what is read is in order and somewhere.
pub(crate) fn recorded_trace(data: &[u8], hear: Hear<'_>) {
    let formats = traces::FORMATS.map(|known| Some(known.format));
    for format in formats.into_iter().chain([None]) {
        let reading = traces::TraceReadOptions { format, window: 4, ..traces::TraceReadOptions::default() };
        let part = ("fuzz".to_owned(), Box::new(std::io::Cursor::new(data.to_vec())) as Box<_>);
        let opened = traces::open(vec![part], &reading);
        hear(&opened.as_ref().err());
        let Ok(mut reader) = opened else { continue };
        let mut last = None;
        loop {
            let read = reader.read();
            hear(&read);
            let Ok(Some(entry)) = read else { break };
            assert!(last <= Some(entry.at), "instants rise");
            assert!((entry.device as usize) < reader.devices().len(), "each is of a device that has a name");
            assert!(entry.lba + u64::from(entry.sectors) <= 1 << 55, "it lies on a disk");
            last = Some(entry.at);
        }
    }
    let parts = || Ok(vec![("fuzz".to_owned(), Box::new(std::io::Cursor::new(data.to_vec())) as Box<_>)]);
    let reading = traces::TraceReadOptions::default();
    let surveyed = traces::survey::survey(&parts, &reading, true);
    hear(&surveyed);
    if let Ok(survey) = surveyed {
        assert_eq!(survey.requests, survey.reads + survey.writes + survey.flushes + survey.trims);
        hear(&survey.check_timestamps("fuzz", &reading));
    }
}

/// DiskSim's parameters in one text, which stands for every file that it sources too.
pub(crate) fn disksim(data: &[u8], hear: Hear<'_>) {
    let text = String::from_utf8_lossy(data);
    let load = |name: &str| {
        // Parts of the text stand for the files that it names, so that a change anywhere reaches all readers.
        let part = text.split("#file ").find_map(|part| part.strip_prefix(name));
        part.map(str::to_owned).ok_or_else(|| "no such part".to_owned())
    };
    let set_up = text.split("#file ").next().unwrap_or("");
    let imported = parameters::import("fuzz.parv", set_up, &load, None, "fuzz");
    hear(&imported);
    if let Ok(found) = imported {
        assert!(profiles::parse("fuzz", &found.toml).is_ok(), "what is imported is a profile");
    }
}

/// A disk's ends: of itself, and of one that is said to be longer.
pub(crate) fn signature(data: &[u8], hear: Hear<'_>) {
    for bytes in [data.len() as u64, 1 << 40, u64::MAX] {
        let found = signatures::find_signatures(signatures::DiskEnds { head: data, tail: data, bytes });
        hear(&found);
        assert!(found.iter().all(|it| it.at < bytes), "what was found stands on the disk");
    }
}

/// A scene.
pub(crate) fn scene(data: &[u8], hear: Hear<'_>) {
    let text = String::from_utf8_lossy(data);
    hear(&scenes::SceneFile::looks_like(&text));
    hear(&scenes::SceneFile::parse("fuzz.toml", &text));
}

/// A review; the folder of each part is a name below the review's own.
pub(crate) fn review(data: &[u8], hear: Hear<'_>) {
    let parsed = reviews::Review::parse("fuzz.toml", &String::from_utf8_lossy(data));
    hear(&parsed);
    let Ok(review) = parsed else { return };
    let is_below = |part: &reviews::ReviewPart| !part.folder().is_empty() && !part.folder().contains(['/', '\\']);
    assert!(review.part.iter().all(is_below), "a part's folder leads elsewhere");
    assert!(review.part.iter().all(|part| !part.folder().starts_with('.')), "a part's folder leads up");
    assert!(review.paragraphs().all(|paragraph| !paragraph.is_empty()));
}

/// A file of recipes. No command of it is run.
pub(crate) fn recipe(data: &[u8], hear: Hear<'_>) {
    hear(&recipes::parse("fuzz.toml", &String::from_utf8_lossy(data)));
}
