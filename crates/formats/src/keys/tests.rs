//! Every key is described, the guide's tables are up to date, and unknown keys get a useful suggestion.

use std::path::Path;

use seekwise_drives::key_names::{NAMES, is_below};
use seekwise_drives::limits::LIMITS;
use seekwise_drives::stack::StackFile;

use super::*;
use crate::study;

/// The end of the error about an unknown key: the suggestion.
fn suggestion_for(key: &str) -> String {
    let error = unknown_key("--set", 0, key).to_string();
    error.strip_prefix(&format!("--set: `{key}`: unknown key")).unwrap_or(&error).to_owned()
}

#[test]
fn a_key_is_found_in_whichever_layer_it_is() {
    for (key, nearest) in [
        ("rpm", "drive.mechanics.rpm"),
        ("drive.rpm", "drive.mechanics.rpm"),
        ("drive.mechanics.RPM", "drive.mechanics.rpm"),
        ("segments", "drive.cache.segments"),
        ("write-cache", "drive.cache.write_back"),
        ("drive.cache.writeback", "drive.cache.write_back"),
        ("nr_requests", "driver.capacity"),
        ("chunk_kib", "array.chunk_kib"),
        ("runtime", "job.runtime"),
        ("ncq", "drive.firmware.depth"),
        ("drves.depth", "driver.depth"),
    ] {
        assert_eq!(suggestion_for(key), format!("; did you mean `{nearest}`?"), "{key}");
    }
}

#[test]
fn a_value_in_a_key_s_place_is_shown_its_key() {
    for (key, nearest) in [
        ("mq-deadline", "driver=linux-mq-deadline"),
        ("bfq", "driver=linux-bfq"),
        ("tcq", "drive.link.queuing=tcq"),
        ("raid10", "array=raid-10"),
        ("ahci", "controller=ahci"),
        ("UDMA5", "controller.mode=udma-5"),
    ] {
        assert_eq!(suggestion_for(key), format!("; did you mean `{nearest}`?"), "{key}");
    }
}

#[test]
fn a_mode_of_sata_is_offered_with_what_its_name_means() {
    assert_eq!(
        suggestion_for("sata3"),
        "; expected KEY=VALUE (SATA's modes go by their Gb/s: SATA II is sata-3, SATA III is sata-6); \
         did you mean `controller.mode=sata-3`?"
    );
    let mut stack = StackFile::named_drive("barracuda");
    let faults = stack.set("controller.mode", "SATA6").unwrap_err();
    assert!(faults[0].to_string().ends_with("SATA III is sata-6); did you mean `sata-6`?"), "{}", faults[0]);
}

#[test]
fn what_may_be_several_is_not_guessed() {
    assert_eq!(
        suggestion_for("depth"),
        "; expected one of driver.depth, array.depth, controller.depth, drive.firmware.depth, job.depth"
    );
    assert!(
        suggestion_for("multcount").contains("controller.interrupt_block_sectors"),
        "{}",
        suggestion_for("multcount")
    );
    assert_eq!(suggestion_for("zzzzzz"), "");
}

#[test]
fn a_word_of_the_field_leads_to_its_keys() {
    let error_about = |key: &str| unknown_key("--set", 0, key).to_string();
    let read_ahead = error_about("readahead");
    assert!(
        read_ahead.ends_with(
            "expected one of drive.cache.read_ahead.max_sectors, pagecache.read_ahead_kib, accelerator.read_ahead_kib"
        ),
        "{read_ahead}"
    );
    assert_eq!(
        error_about("latency"),
        "--set: `latency`: response times are a result: `--metric mean`, p50, p90, p95, p99, p99.9, p99.99 or max, alone or \
         after `read.`, `write.`, `flush.`"
    );
    assert_eq!(error_about("p95"), "--set: `p95`: is a result, and no key; expected --metric p95");
    assert_eq!(error_about("18tb"), "--set: `18tb`: is a drive, and no key; expected `--on exos-x18`");
    assert!(error_about("ironwolf").contains("no Seagate IronWolf is built in"), "{}", error_about("ironwolf"));
}

#[test]
fn a_word_of_another_layer_is_no_misspelling() {
    let policy = ["fcfs", "sstf", "look", "clook", "deadline", "fair"];
    assert_eq!(VOCABULARY.find_meant_value("sptf", policy), None, "sstf does something else");
    assert_eq!(VOCABULARY.find_meant_value("C-LOOK", policy).as_deref(), Some("clook"));
    assert_eq!(VOCABULARY.find_meant_value("mq-deadline", policy).as_deref(), Some("driver=linux-mq-deadline"));
    assert_eq!(
        VOCABULARY.find_meant_value("mq-deadline", ["ahci", "ide"]).as_deref(),
        Some("driver=linux-mq-deadline")
    );
    assert_eq!(VOCABULARY.find_meant_value("ncq", ["ahci", "ide"]).as_deref(), Some("drive.link.queuing=ncq"));
    assert_eq!(VOCABULARY.find_meant_value("raid10", ["raid-0", "raid-1", "raid-10"]).as_deref(), Some("raid-10"));
    assert_eq!(VOCABULARY.find_meant_value("frward", ["forward", "drop"]).as_deref(), Some("forward"));
}

#[test]
fn all_words_for_a_switch_are_one_setting() {
    for (words, value) in [(["true", "on", "YES", "1"], "true"), (["false", "off", "No", "0"], "false")] {
        for word in words {
            let drive = seekwise_drives::drives::find_text("barracuda-7200.7").expect("it is built in");
            let mut stack = StackFile::named_drive("barracuda");
            stack.set("drive.cache.write_back", word).unwrap();
            stack.set("at.1 s.drive.cache.write_back", word).unwrap();
            let file = format!("drive = \"barracuda\"\n[driver]\nname = \"linux-none\"\nmerge = \"{word}\"\n");
            let of_file = StackFile::parse("s.toml", &file).unwrap().build(&|_| Ok(drive.to_owned())).unwrap();
            let built = stack.build(&|_| Ok(drive.to_owned())).unwrap();
            for (built, key) in [
                (&built, "drive.cache.write_back"),
                (&built, "at.1 s.drive.cache.write_back"),
                (&of_file, "driver.merge"),
            ] {
                let setting = built.settings.iter().find(|setting| setting.key == key).unwrap();
                assert_eq!(setting.value, value, "{key} = {word}");
            }
        }
    }
}

/// The keys of a section that the study reader lists in its error about an unknown key.
fn keys_known_to_study_reader(section: &str) -> Vec<String> {
    let text = match section {
        "" => "zzz = 1\n".to_owned(),
        _ => format!("title = 't'\nquestion = 'q'\n[[{section}]]\nzzz = 1\n"),
    };
    let fault = study::parse("s.toml", &text).unwrap_err().remove(0);
    let keys = fault.expected.expect("a list of keys");
    let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
    keys.split(", ").map(|key| format!("{prefix}{key}")).collect()
}

#[test]
fn the_list_has_every_key_of_a_study() {
    let sections = ["factor", "compare", "claim", "best"];
    let known = keys_known_to_study_reader("").into_iter().filter(|key| !sections.contains(&key.as_str()));
    let mut known: Vec<String> =
        known.chain(sections.iter().flat_map(|section| keys_known_to_study_reader(section))).collect();
    let mut listed: Vec<String> = STUDY.iter().map(|key| key.0.to_owned()).collect();
    known.sort_unstable();
    listed.sort_unstable();
    assert_eq!(known, listed);
    let shortest_study = study::parse("s.toml", "title = 't'\nquestion = 'q'\n").unwrap();
    let otherwise = |name: &str| STUDY.iter().find(|key| key.0 == name).unwrap().2.to_owned();
    assert_eq!(
        ["seed", "runs", "margin_percent"].map(otherwise),
        [shortest_study.seed.to_string(), shortest_study.runs.to_string(), shortest_study.margin_percent.to_string()]
    );
}

/// The keys of `work` record the work of a run and are in no list: each has a concern instead (see [`concern_of`]).
#[test]
fn every_constant_names_a_key_or_the_root_of_keys_and_is_called_like_it() {
    let all = sections();
    let listed: Vec<&str> = all.iter().flat_map(|section| &section.keys).map(|entry| entry.key.as_str()).collect();
    let changes = STACK.iter().find(|key| key.0 == "at.TIME.KEY").expect("changes during a run").3;
    for &(module, names) in NAMES {
        let layer = format!("{}.", if module == "work" { "job" } else { module });
        for &(name, key) in names {
            assert_eq!(name, key.strip_prefix(layer.as_str()).unwrap_or(key).replace('.', "_").to_uppercase(), "{key}");
            let key = if module == "figure" { format!("drive.{key}") } else { key.to_owned() };
            let changes_only = changes.split([' ', ',']).any(|word| word == key);
            let is_known = changes_only || listed.iter().any(|listed| is_below(listed, &key));
            assert!(is_known || module == "work", "{key}");
        }
    }
}

#[test]
fn every_key_says_what_it_is() {
    for section in sections() {
        for entry in &section.keys {
            assert!([&entry.takes, entry.meaning, entry.otherwise].iter().all(|text| !text.is_empty()), "{entry:?}");
        }
    }
}

/// The first table of a layer's section in the guide, after its offset in bytes.
fn find_table<'a>(guide: &'a str, section: &str) -> (usize, &'a str) {
    let head = format!("\n## {section}\n");
    let start = guide.find(&head).unwrap_or_else(|| panic!("the guide has no section {section}")) + head.len();
    let table_start = start + guide[start..].find("\n|").expect("a table") + 1;
    let lines = guide[table_start..].split_inclusive('\n').take_while(|line| line.starts_with('|'));
    (table_start, &guide[table_start..table_start + lines.map(str::len).sum::<usize>()])
}

fn print_table(section: &KeySection) -> String {
    let mut text = "| key | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    for entry in section.keys.iter().filter(|entry| entry.key != section.name || section.name == "job") {
        let key = entry.key.strip_prefix(&format!("{}.", section.name)).unwrap_or(&entry.key);
        let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
        text += &format!("| `{key}` | {}{unit} | {} | {} |\n", entry.takes, entry.otherwise, entry.meaning);
    }
    text
}

#[test]
fn the_guide_has_every_key() {
    let in_other_chapters = ["stack", "real", "trace", "scene", "profile", "study", "review"];
    check_or_write_tables("stack.md", |section| !in_other_chapters.contains(&section.name));
    check_or_write_tables("scenes.md", |section| section.name == "scene");
    check_or_write_tables("real.md", |section| section.name == "real");
    check_or_write_tables("traces.md", |section| section.name == "trace");
}

/// Checks the tables of these sections in a chapter of the guide, or with SEEKWISE_UPDATE writes them.
fn check_or_write_tables(chapter: &str, is_in_chapter: impl Fn(&KeySection) -> bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(chapter);
    let mut guide = std::fs::read_to_string(&path).expect("the guide");
    for section in sections().iter().filter(|section| is_in_chapter(section)) {
        let wanted = print_table(section);
        let (start, found) = find_table(&guide, section.name);
        if std::env::var_os("SEEKWISE_UPDATE").is_none() {
            assert!(found == wanted, "{chapter}, {}: SEEKWISE_UPDATE=1 writes the tables anew", section.name);
        }
        guide.replace_range(start..start + found.len(), &wanted);
    }
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        std::fs::write(&path, guide).expect("the guide is written");
    }
}

#[test]
fn no_key_is_a_limit() {
    for entry in sections().iter().flat_map(|section| &section.keys) {
        let words_of_limits: Vec<&str> = LIMITS.iter().flat_map(|limit| limit.words).copied().collect();
        assert!(!words_of_limits.iter().any(|word| is_same(word, &entry.key)), "{}", entry.key);
        assert!(!entry.also.iter().any(|also| words_of_limits.iter().any(|word| is_same(word, also))), "{}", entry.key);
    }
}

#[test]
fn what_a_term_names_is_there() {
    let keys: Vec<String> = sections().into_iter().flat_map(|section| section.keys).map(|entry| entry.key).collect();
    for term in terms::TERMS {
        for key in term.keys {
            assert!(keys.iter().any(|known| known == key), "{}: {key}", term.words[0]);
        }
        for metric in term.metrics {
            assert!(metric.parse::<Metric>().is_ok(), "{}: {metric}", term.words[0]);
        }
        assert!(!term.says.is_empty() && !term.says.ends_with('.'), "{}", term.words[0]);
    }
}
