//! Plans in parts: the bytes of a study, and what lies where a part is to be and is none.

use std::fs;

use seekwise_disk::rng::{Rng, Seed};

use super::*;
use crate::study::{StudyOptions, study};

fn plan() -> SweepPlan {
    let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
    let levels = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>();
    let factors = [("job.depth", &["1", "4", "8"][..]), ("drive.cache.write_back", &["true", "false"])];
    let factors = factors.map(|(key, all)| Factor::for_key(key, &levels(all)));
    SweepPlan::of_setup(&setup, &factors, 2).unwrap()
}

/// A title says what varies, and names no drive where drives vary.
#[test]
fn titles_name_what_varies() {
    let study = |plan: &SweepPlan| parse("s.toml", &plan.study).unwrap();
    let depths_and_caches = study(&plan());
    assert_eq!(
        (&depths_and_caches.title[..], &depths_and_caches.question[..]),
        (
            "random-read on barracuda-7200.7-ncq, by job.depth and drive.cache.write_back",
            "How does the speed of random-read on barracuda-7200.7-ncq depend on job.depth and drive.cache.write_back?"
        )
    );
    let set = |array: &str| toml::Table::from_iter([("array".to_owned(), array.into())]);
    let bundle = |name: &str, array| Bundle { name: name.to_owned(), set: set(array) };
    let layouts = Factor::of_bundles("layout", vec![bundle("one", "none"), bundle("mirror", "raid-1")]);
    let one = Factor::for_key("job.depth", &["4".to_owned()]);
    let drives = Factor::for_key("drive", &["exos-x18".to_owned(), "wd140edfz".to_owned()]);
    let setup = Setup::new("random-read", "exos-x18").with_runtime("1 s");
    let titled = |factors: &[Factor]| study(&SweepPlan::of_setup(&setup, factors, 1).unwrap()).title;
    assert_eq!(titled(&[drives, layouts, one.clone()]), "random-read, by drive and layout");
    assert_eq!(titled(&[one]), "random-read on exos-x18");
    let makers = ["exos-x18", "wd140edfz"].map(|drive| Bundle {
        name: drive.to_owned(),
        set: toml::Table::from_iter([("drive".to_owned(), drive.into())]),
    });
    let jobs = Factor::for_key("job", &["random-read".to_owned(), "random-write".to_owned()]);
    assert_eq!(titled(&[Factor::of_bundles("maker", makers.into())]), "random-read, by maker");
    assert_eq!(titled(&[jobs]), "jobs on exos-x18, by job");
}

#[test]
fn what_is_sampled_until_decided_is_no_sweep() {
    let text = format!("sampling = \"until-decided\"\n{}", plan().study);
    let files = Files::default();
    let planned = study_plan::plan_file(&files, "sweep", &text).unwrap();
    let Err(refused) = SweepPlan::from_planned(&files, text, planned) else { panic!("it is refused") };
    assert!(refused.to_string().contains("seekwise study"), "{refused}");
}

/// A million runs of each of 64 cells, each with a record of 32 KiB, are 2,097 GB: no machine of these tests has four
/// times as much.
#[test]
fn a_plan_that_is_beyond_the_machine_is_refused_before_it_is_sent() {
    let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
    let levels: Vec<String> = (1..=64).map(|depth| depth.to_string()).collect();
    let depths = Factor::for_key("job.depth", &levels);
    let refused = SweepPlan::of_setup(&setup, &[depths], 1_000_000).map(drop).unwrap_err().to_string();
    let [much, whose] = ["this may take up to 2097.", "a quarter of the machine's"];
    assert!(refused.starts_with(much) && refused.contains(whose), "{refused}");
}

#[test]
fn parts_in_any_order_make_the_bytes_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let (there, here) = (plan(), plan());
    let sent = SweepPlan::read(&there.text()).unwrap();
    assert_eq!(sent.hash(), here.hash());
    let parts = here.parts(4);
    assert_eq!(parts.iter().map(|part| (part.first, part.end)).collect::<Vec<_>>(), [(0, 4), (4, 6)]);
    let mut files: Vec<Vec<u8>> = parts.iter().rev().map(|part| sent.run(part, &()).unwrap()).collect();
    files.reverse();
    let out = folder.path().join("swept");
    here.finish(&out, &parts, &files, false).unwrap();
    let file = folder.path().join("s.toml");
    fs::write(&file, here.study()).unwrap();
    let whole = folder.path().join("whole");
    study(&file.to_string_lossy(), &StudyOptions::into(&whole), &()).unwrap();
    for name in ["results.jsonl", "made-from.json", "study.toml", "sums.txt", "report.html"] {
        assert!(fs::read(out.join(name)).unwrap() == fs::read(whole.join(name)).unwrap(), "{name} differs");
    }
    let error = here.finish(&folder.path().join("x"), &parts[1..], &files[1..], false).unwrap_err();
    assert!(error.to_string().contains("not those of the whole plan"), "{error}");
    let place = tempfile::tempdir().unwrap();
    let last = here.write_page_so_far(place.path(), &parts[1..], &files[1..]).unwrap();
    assert_eq!((last.records.len(), last.missing_runs()), (4, 8));
    assert_eq!(last.summary()["missing_runs"], 8);
    assert!(place.path().join("report.html").exists() && !place.path().join("results.jsonl").exists());
    let all = here.write_page_so_far(place.path(), &parts, &files).unwrap();
    assert_eq!((all.missing_runs(), all.summary().get("missing_runs")), (0, None));
}

/// A job that issues at a rate is judged by the time since its requests were due, where a comparison names no metric.
#[test]
fn a_comparison_has_the_metric_that_it_has_in_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let [job, file] = ["due.fio", "s.toml"].map(|name| folder.path().join(name));
    let text = "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=4g\nrate_iops=50\ntime_based\nruntime=2\n";
    fs::write(&job, text).unwrap();
    let text = format!(
        "title = 't'\nquestion = 'q'\nruns = 2\nsampling = 'fixed'\njob = '{}'\n\
         [stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'segments'\nkey = 'drive.cache.segments'\n\
         levels = [1, 16]\n[[compare]]\nname = 'more'\nfactor = 'segments'\nfrom = 1\nto = 16\n",
        job.display()
    );
    fs::write(&file, text).unwrap();
    let name = file.to_string_lossy();
    let plan = SweepPlan::of_study(&Files::default(), &name).unwrap();
    let parts = plan.parts(2);
    let files = [plan.run(&parts[0], &()).unwrap()];
    let [swept, whole] = ["swept", "whole"].map(|name| folder.path().join(name));
    let made = plan.finish(&swept, &parts, &files, false).unwrap();
    assert_eq!(made.evidence().judged_metric(0).to_string(), "since_due");
    study(&name, &StudyOptions::into(&whole), &()).unwrap();
    assert!(fs::read(swept.join("report.html")).unwrap() == fs::read(whole.join("report.html")).unwrap());
}

#[test]
fn a_part_that_is_torn_or_changed_or_anothers_is_none() {
    let plan = plan();
    let parts = plan.parts(3);
    let file = plan.run(&parts[0], &()).unwrap();
    assert_eq!(plan.run(&parts[0], &()).unwrap(), file, "run twice, it is the same part");
    assert_eq!(plan.records(&parts[0], &file).unwrap().len(), 6);
    let said = |part: &SweepPart, file: &[u8]| plan.records(part, file).map(drop).unwrap_err().to_string();
    assert!(said(&parts[0], &file[..file.len() / 2]).contains("torn"));
    assert!(said(&parts[0], b"").contains("torn"));
    assert!(said(&parts[1], &file).contains("holds run 0 of cell 0, where the plan has run 0 of cell 3"));
    // Whichever byte is another, nothing of it is taken. One of a few says it of all: whole parts are equal to the
    // byte.
    let small = &plan.parts(1)[0];
    let file = plan.run(small, &()).unwrap();
    for at in (0..file.len()).step_by(29) {
        let mut other = file.clone();
        other[at] ^= 1 << (at % 8);
        said(small, &other);
    }
    // A column for others is of the part too.
    let at = file.windows(8).position(|bytes| bytes == file_figure(&plan, small, &file).to_le_bytes()).unwrap();
    let mut other = file.clone();
    other[at] ^= 1;
    assert!(said(small, &other).contains("changed after it was written"));
}

/// The requests a second of a part's first run.
fn file_figure(plan: &SweepPlan, part: &SweepPart, file: &[u8]) -> f64 {
    plan.records(part, file).unwrap()[0].all.iops
}

#[test]
fn a_part_takes_no_more_memory_than_it_may() {
    let plan = plan();
    let part = &plan.parts(1)[0];
    let said = |file: &[u8]| plan.records(part, file).map(drop).unwrap_err().to_string();
    let most = part::max_lines_bytes(2);
    let zeros = packed(&vec![0; most + 4]);
    assert!(zeros.len() < most / 10 && said(&of_lines(&zeros)).contains("expected at most"));
    // It says that it has 4 GiB.
    assert!(said(&of_lines(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0])).contains("its lines have 4294967295 bytes"));
    assert!(said(&vec![0; part::max_file_bytes(2) + 1]).contains("expected at most"));
    assert!(said(&of_lines(&packed(&u32::MAX.to_le_bytes()))).contains("torn"));
    assert!(said(format!("lines at 4+{}", usize::MAX).as_bytes()).contains("torn"));
    assert_eq!(plan.max_part_bytes(part), part::max_file_bytes(2));
}

fn packed(plain: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(plain).unwrap()
}

/// A file that says that these are its packed lines.
fn of_lines(packed: &[u8]) -> Vec<u8> {
    [b"PAR1", packed, format!("lines at 4+{}", packed.len()).as_bytes(), b"\0PAR1"].concat()
}

/// The lines of a part as a page has them.
fn plain(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&(line.len() as u32).to_le_bytes()[..], line.as_bytes()].concat()).collect()
}

/// Numbers at which arithmetic ends.
const EDGES: [&str; 10] = [
    "0",
    "-1",
    "1e999",
    "1e308",
    "-1e308",
    "18446744073709551615",
    "9223372036854775808",
    "1099511627776",
    "null",
    "[]",
];

/// Puts an edge in place of one of a line's numbers, and its sum in order.
fn with_edge(chance: &mut Rng, line: &str) -> String {
    let open = line.rsplit_once(",\"sum\"").unwrap().0;
    let starts: Vec<usize> = open
        .match_indices([':', ',', '['])
        .map(|(at, _)| at + 1)
        .filter(|&at| open[at..].starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    let at = starts[chance.below(starts.len() as u64) as usize];
    let end = at + open[at..].find([',', '}', ']']).unwrap_or(open.len() - at);
    let edge = EDGES[chance.below(EDGES.len() as u64) as usize];
    crate::seal::seal_line("", &format!("{}{edge}{}}}", &open[..at], &open[end..])).trim_end().to_owned()
}

/// A part as somebody left it: bytes changed, cut, doubled or set to an edge, or other lines with their sums.
fn mutant(chance: &mut Rng, whole: &[u8], lines: &[String]) -> Vec<u8> {
    let mut file = whole.to_vec();
    let at = chance.below(file.len() as u64) as usize;
    let length = chance.below(64.min((file.len() - at) as u64 + 1)) as usize;
    match chance.below(8) {
        0 => file.truncate(at),
        1 => drop(file.drain(at..at + length)),
        2 => file.splice(at..at, whole[at..at + length].to_vec()).for_each(drop),
        3 => file[at..at + length].fill([0, 0x7f, 0x80, 0xff][chance.below(4) as usize]),
        4 => {
            let tail = file.len() - chance.below(file.len().min(400) as u64) as usize - 1;
            file[tail] = chance.next_u64() as u8;
        }
        5 => {
            let mut plain = plain(lines);
            let at = chance.below(plain.len() as u64) as usize;
            plain[at] ^= 1 << chance.below(8);
            return of_lines(&packed(&plain));
        }
        6 | 7 => {
            let mut lines = lines.to_vec();
            let place = chance.below(lines.len() as u64) as usize;
            lines[place] = with_edge(chance, &lines[place]);
            return of_lines(&packed(&plain(&lines)));
        }
        _ => unreachable!("below 8"),
    }
    for _ in 0..chance.below(4) {
        let length = file.len().max(1) as u64;
        if let Some(byte) = file.get_mut(chance.below(length) as usize) {
            *byte ^= 1 << chance.below(8);
        }
    }
    file
}

/// `SEEKWISE_PARTS=20000` for more of them.
#[test]
fn no_part_that_somebody_changed_is_taken_or_ends_the_call() {
    let plan = plan();
    let part = &plan.parts(2)[0];
    let whole = plan.run(part, &()).unwrap();
    let lines: Vec<String> = part::unpack_lines(&whole, 4).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(plain(&lines).len(), lines.iter().map(|line| line.len() + 4).sum::<usize>());
    let study = parse("study.toml", &plan.study).unwrap();
    let count = std::env::var("SEEKWISE_PARTS").map_or(500, |count| count.parse().expect("a number of parts"));
    let (mut chance, mut forged) = (Seed(44).stream("mutants"), 0);
    for _ in 0..count {
        let file = mutant(&mut chance, &whole, &lines);
        assert!(file == whole || plan.records(part, &file).is_err());
        // Who has this build can write a part of any records. It is read without harm, and taken if its figures agree.
        let other = with_edge(&mut chance, &lines[0]);
        let Ok(mut record) = serde_json::from_str::<RunRecord>(&other) else { continue };
        let mut records = plan.records(part, &whole).unwrap();
        record.cell = 0;
        records[0] = record;
        let file = plan.encode_part(part, &study, &records).unwrap();
        if file != whole && plan.records(part, &file).is_ok() {
            forged += 1;
            if forged % 50 == 1 {
                plan.write_page_so_far(tempfile::tempdir().unwrap().path(), std::slice::from_ref(part), &[file])
                    .unwrap();
            }
        }
    }
}

#[test]
fn a_part_of_another_build_is_made_again() {
    let (own, mut other) = (plan(), plan());
    other.made.program.version = "0.1.9".to_owned();
    other.hash = other.made.hash();
    let (part, old) = (&own.parts(1)[0], &other.parts(1)[0]);
    assert_ne!(part.name, old.name, "a sweep looks for files by their names");
    let file = other.run(old, &()).unwrap();
    let renamed = own.records(part, &file).map(drop).unwrap_err();
    assert!(renamed.to_string().contains("another part"), "{renamed}");
}

#[test]
fn a_plan_of_another_build_is_refused() {
    let text = plan().text();
    let build = ProgramVersion::current().build;
    let error = SweepPlan::read(&text.replacen(&build, &"0".repeat(build.len()), 1)).unwrap_err();
    assert!(error.to_string().contains("expected the same build"), "{error}");
    assert!(SweepPlan::read(&text.replacen("random-read", "random-write", 1)).is_err());
    assert!(SweepPlan::read("{}").is_err());
}
