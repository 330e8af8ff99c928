//! The generated blocks of README.md and docs/claims.md: the text between their markers must agree with the committed data, and the
//! README has no figures outside of them.
//!
//! `SEEKWISE_UPDATE=1` rewrites the blocks instead of comparing them. The outcomes of the claims are in `validation/claims.toml`, which
//! `cargo xtask score` writes from `seekwise claims --ablate --json` (a file that `SEEKWISE_SCORE` names). Running all claims takes too
//! long for a test: here that file is compared with the hashes of the studies, and two claims run again.

use std::fs;
use std::path::{Path, PathBuf};

use seekwise_lab::finding::ClaimAnswer;
use seekwise_lab::provenance::ProgramVersion;

use crate::score::{
    CAUSES, PrintedClaims, Score, claims_block, class_counts, committed_score, rewrite_levers, rewrite_score,
    rows_by_cause, study_hash,
};

/// Claims that run in a second or two: one of mechanics, one of power cuts.
const QUICK: [&str; 2] = ["Q1", "N9"];

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
pub fn repository_text(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_update() -> bool {
    std::env::var_os("SEEKWISE_UPDATE").is_some()
}

/// The cells of a row of docs/validation.md, whose figures another test compares with the traces.
fn validation_row(name: &str) -> Vec<String> {
    let page = repository_text("docs/validation.md");
    let line = page.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap_or_else(|| panic!("no {name}"));
    line.split('|').skip(2).map(|cell| cell.trim().to_owned()).collect()
}

/// The README's block on how far to trust the model: measured drives, published figures, findings.
fn trust_block() -> String {
    let (whole, half) = (validation_row("profile, whole trace"), validation_row("profile, second half"));
    let page = repository_text("docs/published.md");
    let headline = |role: &str| page.lines().find_map(|line| line.strip_prefix(role)).expect("a headline").trim();
    let (tried, fitted) = (headline("**Tried:"), headline("**Fitted:"));
    let (fitted, _) = fitted.split_once(" figures").expect("a number of figures");
    let Score { claim, .. } = committed_score();
    let whole_findings = claim.iter().filter(|row| row.answer == ClaimAnswer::Reproduced).count();
    let parts_of = claim.iter().filter(|row| row.answer == ClaimAnswer::InPart).count();
    let by_cause: String =
        CAUSES.iter().map(|(cause, words)| format!("  - {words}: {}.\n", rows_by_cause(cause).join(", "))).collect();
    format!(
        "- **Traced drives.** Fitted on half of a trace, the model's mean is off by at most {} on the other half, over {}\n  \
           drives; its demerit is at or below DiskSim's on {} ([validation](docs/validation.md)).\n\
         - **Published figures.** Tried: {}\n  \
           Fitted, which proves less: {fitted} ([published](docs/published.md)).\n\
         - **Findings of five studies.** {whole_findings} of {} are reproduced and {parts_of} more in part, judgements left out ({}).\n  \
           The others, by cause ([claims](docs/claims.md)):\n{by_cause}\
         - **Arithmetic.** `seekwise drives --check` compares everyday work on each drive with its own datasheet\n  \
           ([everyday work](docs/everyday.md)).\n",
        half[2],
        whole[0].rsplit(' ').next().unwrap_or_default(),
        half[0],
        tried.replace("**", ""),
        claim.iter().filter(|row| row.class != "J").count(),
        class_counts(&claim),
    )
}

/// The page with another text between the marks of the block `name`.
fn with_block(page: &str, name: &str, block: &str) -> String {
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no <!-- {name} -->"));
    let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("no end of {name}"));
    format!("{before}{start}{block}<!-- end -->{after}")
}

#[test]
fn the_readme_and_the_score_say_what_the_committed_data_say() {
    if let Some(said) = std::env::var_os("SEEKWISE_SCORE") {
        rewrite_score(Path::new(&said));
    }
    if let Some(folder) = std::env::var_os("SEEKWISE_LEVERS") {
        rewrite_levers(Path::new(&folder));
    }
    for (path, name, block) in [("README.md", "trust", trust_block()), ("docs/claims.md", "claims", claims_block())] {
        let page = repository_text(path);
        let renewed = with_block(&page, name, &block);
        if is_update() {
            fs::write(workspace().join(path), renewed).expect("the page is written");
            continue;
        }
        for (line, (old, new)) in page.lines().zip(renewed.lines()).enumerate() {
            assert_eq!(
                old,
                new,
                "{path}:{}: SEEKWISE_UPDATE=1 cargo test -p seekwise-cli --test program readme::",
                line + 1
            );
        }
        assert!(page == renewed, "{path}: SEEKWISE_UPDATE=1 cargo test -p seekwise-cli --test program readme::");
    }
}

#[test]
fn the_score_is_that_of_todays_studies() {
    let score = committed_score();
    for (study, hash) in &score.made_of {
        assert_eq!(
            *hash,
            study_hash(study),
            "crates/lab/studies/{study}.toml, or a drive or job of it, has changed: cargo xtask score"
        );
    }
    let mut carried = crate::seekwise::sorted_names(&workspace().join("crates/lab/studies"));
    carried.retain(|name| {
        name.ends_with(".toml") && repository_text(&format!("crates/lab/studies/{name}")).contains("\n[[claim]]")
    });
    let carried: Vec<&str> = carried.iter().map(|name| name.trim_end_matches(".toml")).collect();
    assert_eq!(score.made_of.keys().map(String::as_str).collect::<Vec<_>>(), carried, "cargo xtask score");
    if score.program != ProgramVersion::current() {
        eprintln!(
            "note: the score was made by {}, this is {}; cargo xtask score",
            score.program,
            ProgramVersion::current()
        );
    }
}

#[test]
fn claims_run_again_come_out_as_the_score_says() {
    let folder = tempfile::tempdir().unwrap();
    let said = crate::seekwise::run_program(folder.path(), &[&["claims", "--ablate", "--json"], &QUICK[..]].concat());
    let PrintedClaims { program, claims } = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(program, ProgramVersion::current());
    assert_eq!(claims.len(), QUICK.len());
    let score = committed_score();
    for claim in &claims {
        assert_eq!(score.claim.iter().find(|row| row.id == claim.id), Some(claim), "cargo xtask score");
    }
}

/// The lines of the README, with their numbers, without blocks, commands, the targets of links, and `code`.
fn lines_of_prose(readme: &str) -> Vec<(usize, String)> {
    let (mut fenced, mut block, mut prose) = (false, false, Vec::new());
    for (at, line) in readme.lines().enumerate() {
        match line {
            fence if fence.starts_with("```") => fenced = !fenced,
            "<!-- end -->" => block = false,
            conclusion if conclusion.starts_with("<!-- holds:") => {}
            marker if marker.starts_with("<!-- ") => block = true,
            _ if fenced || block => {}
            line => {
                let code: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
                let unlinked = code.split("](").enumerate().map(|(part, text)| match part {
                    0 => text,
                    _ => text.split_once(')').map_or(text, |(_, after)| after),
                });
                prose.push((at + 1, unlinked.collect::<Vec<_>>().join(" ")));
            }
        }
    }
    prose
}

/// Whether a word with digits is no result: an exit code, a version, or a name.
fn is_no_result(word: &str) -> bool {
    let rust = repository_text("Cargo.toml");
    let rust = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version").trim_matches('"');
    // Exit codes, the version of the licence, versions of fio, and architectures.
    word == rust || ["0", "1", "2", "130", "2.0", "3", "3.33", "x86-64", "arm64"].contains(&word)
}

fn typed_figures(readme: &str) -> Vec<(usize, String)> {
    let of_line = |(at, line): (usize, String)| {
        let words =
            line.split(|c: char| c.is_whitespace() || "(),;:*[]!?".contains(c)).map(|word| word.trim_end_matches('.'));
        let figures = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()) && !is_no_result(word));
        figures.map(|figure| (at, figure.to_owned())).collect::<Vec<_>>()
    };
    lines_of_prose(readme).into_iter().flat_map(of_line).collect()
}

#[test]
fn no_figure_of_the_readme_is_typed_by_hand() {
    assert_eq!(typed_figures(&repository_text("README.md")), [], "put it into a block that a test writes");
    let bad = "a 4 `5`\n```sh\n6\n```\n<!-- x -->\n7\n<!-- end -->\n[8](9) within 1.4 %.\n";
    let found: Vec<(usize, String)> = typed_figures(bad);
    assert_eq!(found, [(1, "4".to_owned()), (8, "8".to_owned()), (8, "1.4".to_owned())]);
}
