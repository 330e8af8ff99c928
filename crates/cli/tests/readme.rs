//! The figures of the README and of docs/claims.md: what stands between their markers is what the committed data say, and the
//! README has no other figure.
//!
//! `SEEKWISE_UPDATE=1` rewrites the blocks instead of comparing. The score of the claims is `validation/claims.toml`, which
//! `cargo xtask score` writes from `seekwise claims --ablate --json` (named by `SEEKWISE_SCORE`). It takes too long to be made
//! here: it is held to the studies that it was made of, and two claims are run again to see whether it still holds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use seekwise_lab::claims::known;
use seekwise_lab::digest::sha256;
use seekwise_lab::provenance::ProgramVersion;
use serde::{Deserialize, Serialize};

/// Claims that run in a second or two: one of mechanics, one of power cuts.
const QUICK: [&str; 2] = ["Q1", "N9"];

/// What came of the claims.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Score {
    /// The program that ran them.
    program: ProgramVersion,
    /// Each study with claims, and a hash of what it is made of.
    made_of: BTreeMap<String, String>,
    /// The claims that were run, in the sources' order.
    claim: Vec<Row>,
}

/// What came of one claim, in the words of `seekwise claims --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    id: String,
    class: String,
    study: Option<String>,
    reproduced: Option<bool>,
    ablated: Option<bool>,
    planted: Option<bool>,
}

/// What `seekwise claims --json` prints, as far as it is kept.
#[derive(Deserialize)]
struct Claims {
    program: ProgramVersion,
    claims: Vec<Row>,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn text(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn updating() -> bool {
    std::env::var_os("SEEKWISE_UPDATE").is_some()
}

fn score() -> Score {
    toml::from_str(&text("validation/claims.toml")).expect("the committed score")
}

/// A hash of a study's text and of the drives and jobs that it names. Classes of levels are words of answers: no claim
/// can hang on them.
fn made_of(study: &str) -> String {
    let study: String = text(&format!("studies/{study}.toml"))
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("classes."))
        .collect();
    let mut all = study.clone();
    for folder in ["drives", "studies/jobs"] {
        for file in crate::seekwise::names(&workspace().join(folder)) {
            if study.contains(file.trim_end_matches(".toml")) {
                all += &text(&format!("{folder}/{file}"));
            }
        }
    }
    sha256(all.as_bytes())[..16].to_owned()
}

/// Writes the score from what the claims' command printed.
fn rewrite_score(said: &Path) {
    let Claims { program, mut claims } =
        serde_json::from_str(&fs::read_to_string(said).expect("what the claims' command printed")).expect("its JSON");
    claims.retain(|claim| claim.study.is_some());
    let studies = claims.iter().filter_map(|claim| claim.study.clone());
    let made_of = studies.map(|study| (study.clone(), made_of(&study))).collect();
    let head = "# What came of the claims: seekwise claims --ablate. Rewritten by cargo xtask score.\n\n";
    let text = toml::to_string(&Score { program, made_of, claim: claims }).expect("a table");
    fs::write(workspace().join("validation/claims.toml"), format!("{head}{text}")).expect("the score is written");
}

/// The claims, counted; those that do not come out, with the reason that docs/claims.md gives.
fn claims() -> String {
    let Score { program, claim, .. } = score();
    let count = |fits: &dyn Fn(&Row) -> bool| claim.iter().filter(|row| fits(row)).count();
    let listed = known().len();
    let no = count(&|row| row.reproduced == Some(false));
    let mut text = format!(
        "Five source studies state {listed} findings, each listed with the condition under which it counts before anything\n\
         was run. {} were tried by {program}:\n\n| claims | |\n|---|---|\n",
        claim.len()
    );
    let mut row = |number: usize, what: &str| {
        let _ = writeln!(text, "| {number} | {what} |");
    };
    row(count(&|row| row.reproduced == Some(true)), "reproduced");
    row(
        count(&|row| row.reproduced == Some(true) && row.ablated == Some(true)),
        "of these: fail with their mechanism switched off, as they must",
    );
    row(
        count(&|row| row.reproduced == Some(true) && row.planted == Some(true)),
        "of these: no difference, although a planted one is detected",
    );
    row(
        count(&|row| row.reproduced == Some(true) && row.class == "I"),
        "of these: inputs of the model, or tests of the tool; no evidence",
    );
    let also: Vec<&str> = claim
        .iter()
        .filter(|row| row.reproduced == Some(true) && row.ablated == Some(false))
        .map(|row| row.id.as_str())
        .collect();
    if !also.is_empty() {
        row(also.len(), &format!("of these: hold without their mechanism, too ({})", also.join(", ")));
    }
    row(no, "not reproduced");
    row(count(&|row| row.reproduced.is_none()), "without a condition: only the figures are shown");
    row(listed - claim.len(), "not tried: no study has them yet");
    text += "\n| not reproduced | why |\n|---|---|\n";
    let page = text_of_claims();
    for row in claim.iter().filter(|row| row.reproduced == Some(false)) {
        let (anchor, why) = page(&row.id);
        let _ = writeln!(text, "| [{}](#{anchor}) | {why} |", row.id);
    }
    text
}

/// Of a claim: the anchor of its heading in docs/claims.md, and the sentence there that says why it is not reproduced.
fn text_of_claims() -> impl Fn(&str) -> (String, String) {
    let page = text("docs/claims.md");
    move |id| {
        let place = page.find(&format!("\n### {id}: ")).unwrap_or_else(|| panic!("docs/claims.md: no heading of {id}"));
        let mut lines = page[place + 1..].lines();
        let heading = lines.next().unwrap_or_default().trim_start_matches("### ");
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-');
        let anchor = heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let body: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
        let body = body.join(" ");
        let why = body
            .split_once("Not reproduced: ")
            .unwrap_or_else(|| panic!("docs/claims.md, {id}: no `Not reproduced: `"))
            .1;
        (anchor, why.split(". ").next().unwrap_or_default().trim_end_matches([' ', '.']).to_owned() + ".")
    }
}

/// A row of the table of docs/validation.md that a test holds to the traces.
fn traced(name: &str) -> Vec<String> {
    let page = text("docs/validation.md");
    let line = page.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap_or_else(|| panic!("no {name}"));
    line.split('|').skip(2).map(|cell| cell.trim().to_owned()).collect()
}

/// How far to trust the model, in a few lines: measured drives, published figures, findings.
fn trust() -> String {
    let (whole, half) = (traced("profile, whole trace"), traced("profile, second half"));
    let page = text("docs/published.md");
    let cases = page.lines().find(|line| line.starts_with("Of ") && line.contains(" cases ")).expect("the summary");
    let (cases, parts) = cases.split_once(": ").expect("the summary and its parts");
    let Score { claim, .. } = score();
    let yes: Vec<&Row> = claim.iter().filter(|row| row.reproduced == Some(true)).collect();
    let inputs = yes.iter().filter(|row| row.class == "I").count();
    format!(
        "- **Traced drives.** Fitted on half of a trace, the model's mean is off by at most {} on the other half, over {}\n  \
           drives; its demerit is at or below DiskSim's on {} ([validation](docs/validation.md)).\n\
         - **Published figures.** {cases}: {}\n  \
           ([published](docs/published.md)).\n\
         - **Findings of five studies.** {} of {} are reproduced, {inputs} of them inputs of the model. Each of the others\n  \
           is listed with its reason ([claims](docs/claims.md)).\n\
         - **Arithmetic.** `seekwise drives --check` compares everyday work on each drive with its own datasheet\n  \
           ([everyday work](docs/everyday.md)).\n",
        half[2],
        whole[0].rsplit(' ').next().unwrap_or_default(),
        half[0],
        parts.trim_end_matches('.'),
        yes.len(),
        known().len(),
    )
}

/// A page with one of its blocks written anew.
fn renewed(page: &str, name: &str, block: &str) -> String {
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
    for (path, name, block) in [("README.md", "trust", trust()), ("docs/claims.md", "claims", claims())] {
        let page = text(path);
        let renewed = renewed(&page, name, &block);
        if updating() {
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
    let score = score();
    for (study, hash) in &score.made_of {
        assert_eq!(
            *hash,
            made_of(study),
            "studies/{study}.toml, or a drive or job of it, has changed: cargo xtask score"
        );
    }
    let mut carried = crate::seekwise::names(&workspace().join("studies"));
    carried.retain(|name| {
        name != "claims.toml" && name.ends_with(".toml") && text(&format!("studies/{name}")).contains("\n[[claim]]")
    });
    let carried: Vec<&str> = carried.iter().map(|name| name.trim_end_matches(".toml")).collect();
    assert_eq!(score.made_of.keys().map(String::as_str).collect::<Vec<_>>(), carried, "cargo xtask score");
    if score.program != ProgramVersion::this() {
        eprintln!(
            "note: the score was made by {}, this is {}; cargo xtask score",
            score.program,
            ProgramVersion::this()
        );
    }
}

#[test]
fn claims_run_again_come_out_as_the_score_says() {
    let folder = tempfile::tempdir().unwrap();
    let said = crate::seekwise::seekwise(folder.path(), &[&["claims", "--ablate", "--json"], &QUICK[..]].concat());
    let Claims { program, claims } = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(program, ProgramVersion::this());
    assert_eq!(claims.len(), QUICK.len());
    let score = score();
    for claim in &claims {
        assert_eq!(score.claim.iter().find(|row| row.id == claim.id), Some(claim), "cargo xtask score");
    }
}

/// The README without its blocks, its commands, its links and all that stands in `code`.
fn prose(readme: &str) -> Vec<(usize, String)> {
    let (mut fenced, mut block, mut prose) = (false, false, Vec::new());
    for (at, line) in readme.lines().enumerate() {
        match line {
            fence if fence.starts_with("```") => fenced = !fenced,
            "<!-- end -->" => block = false,
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

/// Figures of the README's prose that are no results: exit codes, versions, names.
fn is_no_result(word: &str) -> bool {
    let rust = text("Cargo.toml");
    let rust = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version").trim_matches('"');
    // Exit codes; Apache's licence; what fio and JSON of fio are read as; architectures.
    word == rust || ["0", "1", "2", "130", "2.0", "3", "3.33", "x86-64", "arm64"].contains(&word)
}

fn typed_figures(readme: &str) -> Vec<(usize, String)> {
    let of_line = |(at, line): (usize, String)| {
        let words =
            line.split(|c: char| c.is_whitespace() || "(),;:*[]!?".contains(c)).map(|word| word.trim_end_matches('.'));
        let figures = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()) && !is_no_result(word));
        figures.map(|figure| (at, figure.to_owned())).collect::<Vec<_>>()
    };
    prose(readme).into_iter().flat_map(of_line).collect()
}

#[test]
fn no_figure_of_the_readme_is_typed_by_hand() {
    assert_eq!(typed_figures(&text("README.md")), [], "put it into a block that a test writes");
    let bad = "a 4 `5`\n```sh\n6\n```\n<!-- x -->\n7\n<!-- end -->\n[8](9) within 1.4 %.\n";
    let found: Vec<(usize, String)> = typed_figures(bad);
    assert_eq!(found, [(1, "4".to_owned()), (8, "8".to_owned()), (8, "1.4".to_owned())]);
}
