//! Commands that help a user to find things: `keys`, `patterns`, `studies`, `init`, examples in help, completion, manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::seekwise::{program_command, program_output, run_program, sorted_names};
use serde_json::Value;

fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples")
}

/// A folder with all examples in it.
fn folder_with_examples() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in sorted_names(&examples_folder()) {
        fs::copy(examples_folder().join(&name), folder.path().join(&name)).unwrap();
    }
    folder
}

/// The commands in the comments at the head of an example.
fn commands_in_head(text: &str) -> Vec<String> {
    let head = text.lines().take_while(|line| line.starts_with([';', '#']));
    let commands = head.filter_map(|line| line.trim_start_matches([';', '#', ' ']).strip_prefix("seekwise "));
    commands.map(str::to_owned).collect()
}

#[test]
fn every_example_runs_by_the_commands_in_its_head() {
    let folder = folder_with_examples();
    for name in sorted_names(&examples_folder()).into_iter().filter(|name| name != "README.md") {
        let commands = match name.ends_with(".icf") {
            // Iometer's files have no comments.
            true => vec![format!("run {name} --on cheetah-15k.4")],
            false => commands_in_head(&fs::read_to_string(examples_folder().join(&name)).unwrap()),
        };
        assert!(!commands.is_empty(), "{name} names no command");
        for line in commands {
            let (line, code) = line.split_once("(exit code ").unwrap_or((&line, "0)"));
            let words = line.split("  ").next().unwrap().split_whitespace();
            let run = run_program(folder.path(), &words.collect::<Vec<_>>());
            assert_eq!(format!("{})", run.code), code, "{name}: {line}\n{}", run.err);
            assert!(!run.err.contains("warning"), "{name}: {line}\n{}", run.err);
        }
    }
}

#[test]
fn the_index_names_every_example() {
    let index = fs::read_to_string(examples_folder().join("README.md")).unwrap();
    let files = sorted_names(&examples_folder()).into_iter().filter(|name| name != "README.md");
    files.for_each(|name| assert!(index.contains(&format!("[{name}]({name})")), "{name}"));
}

#[test]
fn init_writes_the_examples_and_replaces_nothing_unasked() {
    let folder = tempfile::tempdir().unwrap();
    for (what, like) in [("stack", None), ("study", None), ("drive", Some("caviar-wd400jb"))] {
        let name = format!("{what}.toml");
        let mut words = vec!["init", what, "-o", &name];
        words.extend(like.iter().flat_map(|like| ["--like", *like]));
        run_program(folder.path(), &words).success_stdout();
        let written = fs::read_to_string(folder.path().join(&name)).unwrap();
        if std::env::var_os("SEEKWISE_UPDATE").is_some() {
            fs::write(examples_folder().join(&name), &written).unwrap();
        }
        assert!(
            written == fs::read_to_string(examples_folder().join(&name)).unwrap(),
            "{name}: SEEKWISE_UPDATE=1 writes it"
        );
        fs::write(folder.path().join(&name), "mine").unwrap();
        let again = run_program(folder.path(), &words);
        assert_eq!(again.code, 2);
        assert!(again.err.contains("already exists; --force overwrites it"), "{}", again.err);
        assert_eq!(fs::read_to_string(folder.path().join(&name)).unwrap(), "mine");
        words.push("--force");
        run_program(folder.path(), &words).success_stdout();
        assert_eq!(fs::read_to_string(folder.path().join(&name)).unwrap(), written);
    }
    let mine = run_program(folder.path(), &["init", "study", "-o", "mine.toml"]);
    mine.success_stdout();
    assert!(fs::read_to_string(folder.path().join("mine.toml")).unwrap().contains("seekwise study mine.toml"));
    let out = run_program(folder.path(), &["init", "drive", "--like", "exos"]);
    assert!(out.code == 2 && out.err.contains("did you mean `exos-x18`?"), "{}", out.err);
    assert!(run_program(folder.path(), &["init", "stack"]).success_stdout().contains("[driver]"));
    // The example of the help, pasted; the drive meets what it was made for, in figures and at work.
    let wide = program_command(folder.path()).args(["init", "--help"]).env("COLUMNS", "200").output().unwrap();
    let help = program_output(wide).success_stdout();
    let line = help.lines().find(|line| line.contains("init drive --capacity")).expect("an example").trim();
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    run_program(folder.path(), &words).success_stdout();
    let made = run_program(folder.path(), &["drives", "my-8tb.toml", "--json"]).json();
    assert!(made["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{made}");
    assert_eq!((&made["capacity_gb"], &made["rpm"]), (&8000.0.into(), &5640.0.into()));
    run_program(folder.path(), &["drives", "my-8tb.toml", "--check"]).success_stdout();
    // A wrong capacity is noticed when the drive is used, and in its table.
    let text = fs::read_to_string(folder.path().join("my-8tb.toml")).unwrap();
    fs::write(folder.path().join("slip.toml"), text.replace("value = 15625000000", "value = 3562500000")).unwrap();
    let slip = run_program(folder.path(), &["drives", "slip.toml"]);
    assert!(slip.code == 1 && slip.out.contains("NOT MET"), "{}", slip.out);
    assert!(
        slip.err.contains("the drive has 1824.0 GB, but its zones hold 8000.1 GB, 4.4 times as much"),
        "{}",
        slip.err
    );
    for (wrong, says) in [
        (&["--outer", "90", "--inner", "185"], "--inner 185 is more than --outer 90"),
        (&["--capacity", "8x", "--rpm", "5400"], "expected for example 500g, 8t"),
        (&["--capacity", "8e", "--rpm", "5400"], "expected 1 MB to 144 PB"),
    ] {
        let refused = run_program(folder.path(), &[&["init", "drive"][..], wrong].concat());
        assert!(refused.code == 2 && refused.err.contains(says), "{}", refused.err);
    }
}

#[test]
fn keys_are_listed_found_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let keys = |words: &[&str]| run_program(folder.path(), &[&["keys"], words].concat());
    for key in ["drive.cache.segments", "driver.queue.policy", "job.env.NAME", "claim.over"] {
        assert!(keys(&[]).success_stdout().contains(key), "{key}");
    }
    let layer = keys(&["accelerator", "--json"]).json();
    assert_eq!(layer[0]["keys"][1]["key"], "accelerator.size_mb");
    assert_eq!(layer[0]["keys"][1]["unit"], "MiB");
    assert!(keys(&["read", "ahead"]).success_stdout().contains("drive.cache.read_ahead.max_sectors"));
    let one = keys(&["drive.mechanics.rpm", "--json"]).json();
    let values = one[0]["keys"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 14);
    assert!(values.iter().any(|value| value["of"] == "cheetah-15k.4" && value["value"] == "15000"));
    assert!(
        values.iter().all(|value| ["measured", "datasheet", "inferred"].contains(&value["kind"].as_str().unwrap()))
    );
    assert!(keys(&["controller.mode"]).success_stdout().contains("udma-5"));
    let unknown = keys(&["segmets"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean `drive.cache.segments`?"), "{}", unknown.err);
}

#[test]
fn words_that_are_known_limits_are_answered_with_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    for (words, said) in [
        (&["keys", "smr"][..], "shingled tracks and zoned drives are not modelled; see docs/model.md"),
        (&["keys", "write", "hole"], "`seekwise power-cut` counts it on arrays"),
        (&["keys", "xfs"], "FAT32, NTFS and ext4 are modelled"),
        (&["drives", "ssd"], "solid-state drives are not modelled"),
        (&["patterns", "nvme"], "solid-state drives are not modelled"),
        (&["run", "random-read", "--on", "smr"], "shingled tracks"),
        (&["run", "random-read", "--on", "exos-x18", "--set", "drive.smr=true"], "shingled tracks"),
        (&["run", "random-read", "--on", "exos-x18", "--set", "array=raid-z"], "other levels are not modelled"),
        (&["run", "random-read", "--on", "exos-x18", "--set", "job.filesystem=btrfs"], "other file systems are not"),
        (&["run", "start", "--on", "exos-x18", "--set", "volume.c.fs=zfs"], "other file systems are not"),
    ] {
        let run = run_program(folder.path(), words);
        assert_eq!(run.code, 2, "{words:?}");
        assert!(run.err.contains(said) && !run.err.contains("did you mean"), "{words:?}: {}", run.err);
    }
    // A file that is not there is a file, whatever its name.
    assert!(!run_program(folder.path(), &["run", "xfs.fio", "--on", "exos-x18"]).err.contains("modelled"));
}

#[test]
fn patterns_and_studies_are_shown_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let show = |words: &[&str]| run_program(folder.path(), words);
    let text = show(&["patterns", "file-server"]).success_stdout();
    assert!(text.contains("64 KiB") && text.contains("bssplit=512/10:1024/5"), "{text}");
    fs::write(
        folder.path().join("same.fio"),
        show(&["patterns", "database", "--json"]).json()["fio"].as_str().unwrap(),
    )
    .unwrap();
    let iops = |job: &str| {
        let run = show(&["run", job, "--on", "barracuda-7200.7", "--runtime", "20s", "--json"]).json();
        run["all"]["iops"].as_f64().unwrap()
    };
    let (pattern, fio) = (iops("database"), iops("same.fio"));
    assert!((pattern / fio - 1.0).abs() < 0.05, "the same mix: {pattern} and {fio} requests a second");
    assert!(show(&["patterns", "workstation"]).success_stdout().contains("No fio job says the same"));
    assert!(show(&["patterns", "one-block"]).success_stdout().contains("--set job.env.BS=128k"));
    assert!(show(&["patterns", "fileserver"]).err.contains("did you mean `file-server`?"));
    let text = show(&["studies", "n-write-cache"]).success_stdout();
    assert!(text.contains("controller=ahci") && text.contains("24 cells, 5 runs of each: 120 runs"), "{text}");
    let study = show(&["studies", "n-write-cache", "--json"]).json();
    assert_eq!((&study["runs"], &study["claims"][0]["id"]), (&Value::from(120), &Value::from("N3")));
    assert_eq!(study["factors"][1]["sets"][0], "drive.cache.write_back=true");
    assert!(show(&["studies", "ncq-alon"]).err.contains("did you mean `ncq-alone`?"));
}

#[test]
fn all_words_for_a_switch_are_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |word: &str| {
        let set = format!("drive.cache.write_back={word}");
        let words = ["run", "random-write", "--on", "barracuda-7200.7", "--runtime", "1s", "--set", &set, "--json"];
        let mut run = run_program(folder.path(), &words).json();
        run.as_object_mut().unwrap().remove("settings");
        run
    };
    assert_eq!(run("off"), run("false"));
    assert_eq!(run("No"), run("0"));
    assert_ne!(run("on")["all"]["iops"], run("off")["all"]["iops"]);
    fs::write(
        folder.path().join("s.toml"),
        "drive = \"barracuda-7200.7\"\n[driver]\nname = \"linux-none\"\nmerge = \"on\"\n",
    )
    .unwrap();
    run_program(folder.path(), &["run", "random-read", "--on", "s.toml", "--runtime", "1s"]).success_stdout();
}

#[test]
fn shells_complete_by_asking_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run_program(folder.path(), &["completions", shell]).success_stdout();
        assert!(script.contains("SEEKWISE_COMPLETE") && script.contains("seekwise"), "{script}");
    }
    let complete = |words: &[&str]| {
        let mut command = program_command(folder.path());
        command.env("SEEKWISE_COMPLETE", "fish").arg("--").arg("seekwise").args(words);
        program_output(command.output().unwrap()).success_stdout()
    };
    assert!(complete(&["pow"]).contains("power-cut"));
    assert!(complete(&["run", "file-s"]).contains("file-server"));
    assert!(complete(&["run", "file-server", "--on", "exo"]).contains("exos-x18"));
    assert!(complete(&["study", "ncq"]).contains("ncq-alone"));
    assert!(complete(&["run", "x", "--on", "y", "--set", "drive.cache.seg"]).contains("drive.cache.segments="));
    assert!(complete(&["run", "x", "--on", "y", "--set", "array=raid-1"]).contains("array=raid-10"));
    fs::write(folder.path().join("mine.fio"), "").unwrap();
    assert!(complete(&["run", "mi"]).contains("mine.fio"));
}

/// The completions that the script gives in Bash for these words, of which the last one is being typed.
fn bash_completions(folder: &Path, words: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_seekwise")).parent().unwrap();
    let script = format!(
        "PATH={}:$PATH; source <(seekwise completions bash); COMP_WORDS=({words}); COMP_TYPE=9\n\
         COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); cur=${{COMP_WORDS[COMP_CWORD]}}; if [[ $cur == = ]]; then cur=; fi\n\
         _seekwise seekwise \"$cur\" '' 2>/dev/null; echo \"${{COMPREPLY[*]}}\"",
        program.display()
    );
    program_output(std::process::Command::new("bash").arg("-c").arg(script).current_dir(folder).output().unwrap()).out
}

#[test]
fn bash_completes_a_key_and_its_value() {
    let folder = tempfile::tempdir().unwrap();
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return eprintln!("skipped: no bash");
    }
    for (words, answer) in [
        ("seekwise run file-ser", "file-server"),
        ("seekwise run x --on exos", "exos-x18"),
        ("seekwise run x --on y --set drive.cache.seg", "drive.cache.segments="),
        // Bash has `=` as a word of its own.
        ("seekwise run x --on y --set drive.cache.write_back = o", "on off"),
        ("seekwise run x --on y --set array = raid-1", "raid-1 raid-10"),
        ("seekwise run x --on y --set drive.link.queuing =", "none tcq ncq scsi"),
        ("seekwise run x --set array = raid-5 --on exos", "exos-x18"),
    ] {
        let found = bash_completions(folder.path(), words);
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), answer, "{words}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    run_program(folder.path(), &["man", "man1"]).success_stdout();
    let pages = sorted_names(&folder.path().join("man1"));
    for page in ["seekwise.1", "seekwise-run.1", "seekwise-keys.1", "seekwise-import-disksim.1"] {
        assert!(pages.contains(&page.to_owned()), "{pages:?}");
    }
    let page = fs::read_to_string(folder.path().join("man1/seekwise-run.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("\\-\\-seed"), "{page}");
}
