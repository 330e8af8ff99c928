//! The committed outcomes of the claims: `validation/claims.toml`, which `cargo xtask score` writes from `seekwise claims --ablate
//! --json` (a file that `SEEKWISE_SCORE` names), and `validation/levers.toml`, which `cargo xtask explain` writes from `seekwise
//! explain` (a folder that `SEEKWISE_LEVERS` names). This module reads and writes them and makes the blocks of docs/claims.md; the
//! test in `readme` compares the blocks.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use seekwise_lab::digest::sha256;
use seekwise_lab::finding::{BoundDistance, ClaimAnswer};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_reproduce::findings::catalogue_claims;
use serde::{Deserialize, Serialize};

use crate::readme::{repository_text, workspace};

/// Causes of findings that are not reproduced: the word after `Cause:` in docs/claims.md, and the README's words.
pub const CAUSES: [(&str, &str); 6] = [
    ("segments", "The cost of many short segments in a buffer, and the gain of adaptive ones"),
    ("read-ahead", "The length of read-ahead, and when it stops for a waiting command"),
    ("order", "The number of commands and cached writes that a drive chooses from"),
    ("system", "The requests that an operating system and its programs send, and their times"),
    ("unknown", "Unpublished behaviour inside a product"),
    ("chance", "Chance: more runs of the study show the opposite"),
];

/// The studies, by the letter of their findings.
const STUDIES: [(char, &str); 5] = [
    ('D', "drivers on a Fireball Plus AS"),
    ('N', "NCQ and write cache in a notebook"),
    ('F', "flush and write cache"),
    ('Q', "command queuing and arrays"),
    ('C', "cache segments of a Cheetah 15K.4"),
];

/// A miss by at most this share of the bound counts as near, because inferred figures are varied by as much.
const NEAR_SHARE: f64 = 0.1;

/// The outcome of the claims.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The program that ran them.
    pub program: ProgramVersion,
    /// Each study with claims, and a hash of what it is made of.
    pub made_of: BTreeMap<String, String>,
    /// The claims that were run, in the sources' order.
    pub claim: Vec<Row>,
}

/// The outcome of one claim, in the words of `seekwise claims --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: String,
    pub class: String,
    pub study: Option<String>,
    pub answer: ClaimAnswer,
    pub reproduced: Option<bool>,
    pub ablated: Option<bool>,
    pub planted: Option<bool>,
    pub condition: String,
    pub unchecked: Option<String>,
    pub distance: Option<BoundDistance>,
}

/// The part of the output of `seekwise claims --json` that is kept.
#[derive(Deserialize)]
pub struct PrintedClaims {
    pub program: ProgramVersion,
    pub claims: Vec<Row>,
}

/// The answers of `seekwise explain`.
#[derive(Serialize, Deserialize)]
struct Levers {
    /// For each claim, the sentences on the settings that change its answer.
    changed_by: BTreeMap<String, Vec<String>>,
}

pub fn committed_score() -> Score {
    toml::from_str(&repository_text("validation/claims.toml")).expect("the committed score")
}

/// A hash of a study's text and of the drives and jobs that it names. Lines `classes.` and `says` are left out: they only give words
/// for answers, so no claim depends on them.
pub fn study_hash(study: &str) -> String {
    let study: String = repository_text(&format!("crates/lab/studies/{study}.toml"))
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("classes.") && !line.starts_with("says = "))
        .collect();
    let mut all = study.clone();
    for folder in ["crates/drives/profiles", "crates/lab/studies/jobs"] {
        for file in crate::seekwise::sorted_names(&workspace().join(folder)) {
            if study.contains(file.trim_end_matches(".toml")) {
                all += &repository_text(&format!("{folder}/{file}"));
            }
        }
    }
    sha256(all.as_bytes())[..16].to_owned()
}

/// Writes the score from the output of `seekwise claims --ablate --json` in this file.
pub fn rewrite_score(output: &Path) {
    let PrintedClaims { program, mut claims } =
        serde_json::from_str(&fs::read_to_string(output).expect("what the claims' command printed")).expect("its JSON");
    claims.retain(|claim| claim.study.is_some());
    let studies = claims.iter().filter_map(|claim| claim.study.clone());
    let made_of = studies.map(|study| (study.clone(), study_hash(&study))).collect();
    let head = "# Outcomes of the claims: seekwise claims --ablate. Rewritten by cargo xtask score.\n\n";
    let text = toml::to_string(&Score { program, made_of, claim: claims }).expect("a table");
    fs::write(workspace().join("validation/claims.toml"), format!("{head}{text}")).expect("the score is written");
}

/// Writes which settings change the answers of claims, from the outputs of `seekwise explain --out FOLDER/ID.json`. Claims without
/// an output there keep their entries.
pub fn rewrite_levers(folder: &Path) {
    let mut levers: Levers = toml::from_str(&repository_text("validation/levers.toml")).expect("the committed levers");
    for name in crate::seekwise::sorted_names(folder).into_iter().filter(|name| name.ends_with(".json")) {
        let said = fs::read_to_string(folder.join(&name)).expect("an answer");
        let said: serde_json::Value = serde_json::from_str(&said).expect("its JSON");
        let id = said["id"].as_str().expect("the claim").to_owned();
        let sentences: Vec<String> = serde_json::from_value(said["sentences"].clone()).expect("its sentences");
        levers.changed_by.insert(id, sentences);
    }
    let head = "# Settings that change the answers of claims: seekwise explain. Rewritten by cargo xtask explain.\n\n";
    let text = toml::to_string(&levers).expect("a table");
    fs::write(workspace().join("validation/levers.toml"), format!("{head}{text}")).expect("the levers are written");
}

/// The number of reproduced findings in each class, and of all findings in it.
pub fn class_counts(claim: &[Row]) -> String {
    let of = |class: &str| -> (usize, usize) {
        let all = || claim.iter().filter(|row| row.class == class);
        (all().filter(|row| row.answer == ClaimAnswer::Reproduced).count(), all().count())
    };
    let classes = [("M", "mechanisms"), ("N", "no difference"), ("S", "unpublished work"), ("I", "inputs")];
    let words = classes.map(|(class, words)| {
        let (yes, all) = of(class);
        format!("{words} {yes} of {all}")
    });
    words.join(", ")
}

/// The findings that are not reproduced, or not decided, for this cause.
pub fn rows_by_cause(cause: &str) -> Vec<String> {
    let page = paragraph_reader();
    let score = committed_score();
    let open = score.claim.into_iter().filter(|row| row.is_open());
    open.filter(|row| page(&row.id).cause.as_deref() == Some(cause)).map(|row| row.id).collect()
}

impl Row {
    /// Whether it is not reproduced or not decided.
    fn is_open(&self) -> bool {
        matches!(self.answer, ClaimAnswer::NotReproduced | ClaimAnswer::NotDecided)
    }

    fn is_near_miss(&self) -> bool {
        self.distance.as_ref().is_some_and(|distance| distance.is_near_miss(NEAR_SHARE))
    }

    fn has_no_bound(&self) -> bool {
        self.distance.as_ref().is_none_or(|distance| distance.share.is_none())
    }

    /// Distance to the bound, in words.
    fn distance_words(&self) -> String {
        match &self.distance {
            Some(BoundDistance { share: Some(share), .. }) if *share > 0.0 => format!("{:.1} % beyond", 100.0 * share),
            Some(BoundDistance { share: Some(_), .. }) if self.is_open() => "its own checks hold".to_owned(),
            Some(BoundDistance { share: Some(share), .. }) => format!("{:.1} % to spare", -100.0 * share),
            Some(_) if self.is_open() => "another order".to_owned(),
            _ => "–".to_owned(),
        }
    }
}

/// The generated block of docs/claims.md: the findings counted by class, then a table for each study.
pub fn claims_block() -> String {
    let Score { program, claim, .. } = committed_score();
    let listed = catalogue_claims().len();
    let mut text = format!(
        "Five source studies state {listed} findings. Each was listed, with the condition under which it counts, before anything\n\
         was run. {} were tried by {program}:\n\n\
         | class | findings | reproduced | in part | not decided | not reproduced |\n|---|---|---|---|---|---|\n",
        claim.len()
    );
    let count = |fits: &dyn Fn(&Row) -> bool| claim.iter().filter(|row| fits(row)).count();
    for (class, words) in [
        ("M", "M: mechanisms"),
        ("N", "N: no difference"),
        ("S", "S: unpublished work"),
        ("I", "I: inputs of the model and tests of the tool; no evidence"),
    ] {
        let of = |answer: ClaimAnswer| count(&|row| row.class == class && row.answer == answer);
        let all = count(&|row| row.class == class);
        let [yes, part, open, no] =
            [ClaimAnswer::Reproduced, ClaimAnswer::InPart, ClaimAnswer::NotDecided, ClaimAnswer::NotReproduced].map(of);
        let _ = writeln!(text, "| {words} | {all} | {yes} | {part} | {open} | {no} |");
    }
    let judgements = count(&|row| row.class == "J");
    let agrees = count(&|row| row.answer == ClaimAnswer::Agrees);
    let fail = count(&|row| row.class == "M" && row.reproduced == Some(true) && row.ablated == Some(true));
    let hold = count(&|row| row.class == "M" && row.reproduced == Some(true));
    let _ = writeln!(
        text,
        "\n{judgements} more are judgements of the authors (J), which never count; the model agrees with {agrees} of those that \
         can be checked. {hold} mechanisms are reproduced, in whole or in part; {fail} of these fail with the mechanism switched \
         off, as they must."
    );
    let also: Vec<&str> = claim
        .iter()
        .filter(|row| row.reproduced == Some(true) && row.ablated == Some(false))
        .map(|row| row.id.as_str())
        .collect();
    if !also.is_empty() {
        let _ = writeln!(text, "\nReproduced also without their mechanism: {}.", also.join(", "));
    }
    text += &misses_text(&claim);
    let levers: Levers =
        toml::from_str(&self::repository_text("validation/levers.toml")).expect("the committed levers");
    for (letter, what) in STUDIES {
        let rows: Vec<&Row> = claim.iter().filter(|row| row.id.starts_with(letter)).collect();
        text += &study_table(letter, what, &rows, &levers);
    }
    text
}

/// The findings that are not reproduced: near misses apart from wrong orders.
fn misses_text(claim: &[Row]) -> String {
    let open = || claim.iter().filter(|row| row.answer == ClaimAnswer::NotReproduced);
    let list =
        |rows: Vec<&Row>| rows.iter().map(|row| format!("{} ({})", row.id, row.distance_words())).collect::<Vec<_>>();
    let near = list(open().filter(|row| row.is_near_miss()).collect());
    let far = list(open().filter(|row| !row.is_near_miss() && !row.has_no_bound()).collect());
    let order: Vec<&str> = open().filter(|row| row.has_no_bound()).map(|row| row.id.as_str()).collect();
    let mut text = "\nThe findings that are not reproduced:\n\n".to_owned();
    let within = format!("near misses, by at most {:.0} % of a bound", 100.0 * NEAR_SHARE);
    for (what, all) in [
        (within.as_str(), near.join(", ")),
        ("misses by more", far.join(", ")),
        ("another order or sign", order.join(", ")),
    ] {
        let _ = writeln!(text, "- {what}: {}", if all.is_empty() { "none" } else { all.as_str() });
    }
    text
}

/// The table of a study.
fn study_table(letter: char, what: &str, rows: &[&Row], levers: &Levers) -> String {
    let page = paragraph_reader();
    let mut text = format!(
        "\n#### Study {letter}: {what}\n\n\
         | finding | answer | condition | figure that decides | distance to the bound | reason, and what changes the answer | data that would decide |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let said = page(&row.id);
        let got = row.distance.as_ref().map_or("–".to_owned(), |distance| distance.value.clone());
        let mut why: Vec<String> = row.unchecked.iter().map(|part| format!("Not checked: {part}.")).collect();
        if row.is_open() {
            why.push(said.why.clone().unwrap_or_else(|| panic!("docs/claims.md, {}: no `Not reproduced: `", row.id)));
            why.extend(levers.changed_by.get(&row.id).into_iter().flatten().map(|lever| format!("It {lever}.")));
        }
        let data = if row.is_open() {
            let known = CAUSES.iter().any(|(cause, _)| said.cause.as_deref() == Some(*cause));
            assert!(known, "docs/claims.md, {}: no `Cause: …`, or one that is not listed", row.id);
            said.data.clone().unwrap_or_else(|| panic!("docs/claims.md, {}: no `What would decide: `", row.id))
        } else {
            String::new()
        };
        let cells = [
            format!("[{}](#{}) ({})", row.id, said.anchor, row.class),
            row.answer.words().to_owned(),
            row.condition.clone(),
            got,
            row.distance_words(),
            why.join(" "),
            data,
        ];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "/")).join(" | "));
    }
    text
}

/// The paragraph of a claim in docs/claims.md.
struct Paragraph {
    /// The anchor of its heading.
    anchor: String,
    /// Why it is not reproduced, in a sentence.
    why: Option<String>,
    cause: Option<String>,
    /// Data that would decide the finding.
    data: Option<String>,
}

/// A function that finds the paragraph of a claim, by its id, in docs/claims.md.
fn paragraph_reader() -> impl Fn(&str) -> Paragraph {
    let page = repository_text("docs/claims.md");
    move |id| {
        let place = page.find(&format!("\n### {id}: ")).unwrap_or_else(|| panic!("docs/claims.md: no heading of {id}"));
        let mut lines = page[place + 1..].lines();
        let heading = lines.next().unwrap_or_default().trim_start_matches("### ");
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-');
        let anchor = heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let body: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
        let body = body.join(" ");
        let sentence = |mark: &str| {
            let (_, rest) = body.split_once(mark)?;
            Some(rest.split(". ").next().unwrap_or_default().trim_end_matches([' ', '.']).to_owned())
        };
        let why = sentence("Not reproduced: ").or_else(|| sentence("Not decided: ")).map(|why| {
            let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
            format!("{}{rest}.", first.to_uppercase())
        });
        Paragraph { anchor, why, cause: sentence("Cause: "), data: sentence("What would decide: ") }
    }
}
