//! The kept find of `seekwise crash`: keeps the worst one (`--keep`), describes a kept one, and makes its medium again (`--again`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use seekwise::Error;
use seekwise::answer::ProgramVersion;
use seekwise::crash::{
    BadChain, CheckBench, CrashResults, CrashTrial, FindIndex, FindOrigin, FindWrite, KeptFind, MediumImage,
    ShrinkResult, digest_content,
};
use seekwise::outputs::{OutputFile, prepare_output};
use seekwise::reading::mark_inputs;
use seekwise::shell::quote_for_shell;
use serde_json::{Value, json};

use super::plan::CrashPlan;
use super::recovery::{self, RecoveryReport};
use super::text::{self, MOST_NAMED};
use super::{WorstMedium, print_json, print_text, print_to_stderr};
use crate::args::{self, RestoredWrites};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::pages::command_line;
use crate::screen::{self, wrap_text};

/// Digits of a content's digest that are shown: as many as those of other results.
const SHOWN_DIGITS: usize = 16;

/// A find that was kept.
pub struct KeptFile {
    /// From the root, so that its command works in any folder.
    pub path: PathBuf,
    /// The digest of its medium.
    pub content: String,
}

impl KeptFile {
    /// The command that makes the medium of the find again.
    pub fn command(&self) -> String {
        format!("seekwise crash --again {} --image medium.img", quote_for_shell(&self.path.display().to_string()))
    }

    /// The sentence before that command.
    pub fn sentence(&self) -> String {
        let content = &self.content[..SHOWN_DIGITS];
        format!("This command makes the medium of the cut again, byte for byte (content {content}):")
    }

    /// The find as JSON.
    pub fn json(&self) -> Value {
        json!({ "file": self.path.display().to_string(), "content": self.content, "command": self.command() })
    }
}

/// The worst medium of all: that of the first cuts, or else of recoveries.
struct WorstFind<'a> {
    trial: &'a CrashTrial,
    image: &'a MediumImage,
    chain: Option<&'a BadChain>,
    examined: Option<&'a WorstMedium>,
}

impl WorstFind<'_> {
    fn choose<'a>(
        outcome: &'a CrashResults,
        worst: Option<&'a WorstMedium>,
        recoveries: Option<&'a RecoveryReport>,
    ) -> Option<WorstFind<'a>> {
        if let (Some((_, (_, image))), Some(worst)) = (outcome.first.last_key_value(), worst) {
            return Some(WorstFind { trial: &worst.tried, image, chain: None, examined: Some(worst) });
        }
        let recoveries = recoveries?;
        let chain = recovery::worst_chain(&recoveries.results)?;
        let image = &chain.links.last()?.image;
        Some(WorstFind { trial: &chain.trial, image, chain: Some(chain), examined: recoveries.worst.as_ref() })
    }
}

/// Keeps the worst find, if there is one and a file for it.
pub fn keep_worst(
    args: &args::CrashArgs,
    (plan, words): (&CrashPlan, &[OsString]),
    bench: &CheckBench<'_>,
    (outcome, worst): (&CrashResults, Option<&WorstMedium>),
    recoveries: Option<&RecoveryReport>,
) -> Result<Option<KeptFile>, CommandError> {
    let (Some(path), Some(found)) = (args.find_path(), WorstFind::choose(outcome, worst, recoveries)) else {
        return Ok(None);
    };
    let ProgramVersion { version, build } = ProgramVersion::current();
    let cuts = found.chain.map_or(&[][..], |chain| &chain.links);
    let earlier_cuts = cuts.iter().take(cuts.len().saturating_sub(1)).map(|link| link.case.at).collect();
    let origin = FindOrigin {
        made_by: format!("{version} {build}"),
        command: command_line(words),
        title: text::report_title(args, plan),
        fs: plan.recipe.fs.clone(),
        verdict: found.trial.finding.verdict.words().to_owned(),
        words: text::check_words(&found.trial.finding).to_owned(),
        promises: found.trial.case.promises,
        earlier_cuts,
        cut: found.trial.case.at,
    };
    let last_session = found.chain.map(|chain| bench.of_last_session(&chain.links));
    let mut find = KeptFind::new(last_session.as_ref().unwrap_or(bench), found.image, origin)?;
    if let Some(WorstMedium { shrunk: ShrinkResult::To { lost, .. }, purposes, .. }) = found.examined {
        find.explain(&lost.left, purposes);
    }
    find.write(&path, args.force)?;
    print_to_stderr(format!("The find: {}", path.display()));
    let path = std::path::absolute(&path).map_err(CommandError::new)?;
    Ok(Some(KeptFile { path, content: find.index.content }))
}

/// Describes a kept find, and writes its medium if that is asked for.
pub fn run_again(args: &args::CrashArgs, path: &Path, json: bool) -> CommandResult {
    mark_inputs(&[&*path.to_string_lossy()]);
    if let Some(image) = &args.image {
        prepare_output(image, args.force).map_err(|why| Error::of_file(image, &why))?;
    }
    let find = KeptFind::read(path)?;
    let restored = restored_writes(args, &find)?;
    let disk = find.disk_content(&restored);
    let content = digest_content(&disk);
    if let Some(image) = &args.image {
        let write = || {
            let file = OutputFile::create_private(image, args.force)?;
            disk.fill_file(file.as_file())?;
            file.finish()
        };
        write().map_err(|why| Error::of_file(image, &why))?;
    }
    let made = args.image.as_deref().map(|image| MadeMedium { image, restored: &restored, content: &content });
    match json {
        true => print_json(&find_json(&find, made.as_ref()))?,
        false => print_text(&find_text(path, &find, made.as_ref(), screen::output_width()))?,
    }
    Ok(CommandAnswer::Done)
}

/// A medium that was made again.
struct MadeMedium<'a> {
    image: &'a Path,
    restored: &'a BTreeSet<u64>,
    content: &'a str,
}

/// The numbers of the writes to put back; an error if one was not lost.
fn restored_writes(args: &args::CrashArgs, find: &KeptFind) -> Result<BTreeSet<u64>, CommandError> {
    let lost: BTreeSet<u64> = find.lost_writes().iter().map(|write| write.stamp).collect();
    let wanted = match &args.restore {
        None => return Ok(BTreeSet::new()),
        Some(RestoredWrites::All) => return Ok(lost),
        Some(RestoredWrites::Numbered(wanted)) => wanted,
    };
    match wanted.difference(&lost).next() {
        None => Ok(wanted.clone()),
        Some(other) => {
            let some: Vec<String> = lost.iter().take(MOST_NAMED).map(u64::to_string).collect();
            let expected = match lost.is_empty() {
                true => "no --restore, for no write was lost".to_owned(),
                false => format!("all, or some of {}", some.join(",")),
            };
            Err(CommandError::new(format!("--restore: write {other} was not lost at this cut; expected {expected}")))
        }
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A find as text, wrapped to `width`.
fn find_text(path: &Path, find: &KeptFind, made: Option<&MadeMedium<'_>>, width: usize) -> String {
    let index = &find.index;
    let earlier: Vec<String> = index.earlier_cuts_ns.iter().map(|cut| format!("{:.6} s", seconds(*cut))).collect();
    let session = match earlier.is_empty() {
        true => String::new(),
        false => format!(" of the recovery after cuts at {}", earlier.join(" and ")),
    };
    let fs = index.fs.as_ref().map_or("a bare disk".to_owned(), |fs| fs.clone());
    let head = format!(
        "{} ({fs}, {} bytes). The power failed at {:.6} s{session}, after {} promises. The medium was {}: {}.",
        index.title,
        index.disk_bytes,
        seconds(index.cut_ns),
        index.promises,
        index.verdict,
        index.words
    );
    let lost = find.lost_writes();
    let unreadable: u64 = index.unreadable.iter().map(|run| run.1 - run.0).sum();
    let unreadable = if unreadable == 0 { String::new() } else { format!(", {unreadable} sectors unreadable") };
    let writes = format!(
        "The disk had accepted {} writes of this session. Lost, whole or in part: {}{unreadable}.",
        index.writes.len(),
        lost.len()
    );
    let mut text = format!("{}\n\n{}", wrap_text(&head, width), wrap_text(&writes, width));
    for write in lost.iter().take(MOST_NAMED) {
        text.push_str(&format!(
            "\n  {}",
            wrap_text(&lost_line(write), width.saturating_sub(4)).replace('\n', "\n    ")
        ));
    }
    if lost.len() > MOST_NAMED {
        text.push_str(&format!("\n  and {} more", lost.len() - MOST_NAMED));
    }
    let made = match made {
        None => {
            let file = KeptFile { path: path.to_owned(), content: index.content.clone() };
            let restore =
                if lost.is_empty() { "" } else { " With --restore all, or numbers, lost writes are put back." };
            format!("{}\n  {}", wrap_text(&format!("{}{restore}", file.sentence()), width), file.command())
        }
        Some(made) => wrap_text(&made_sentence(index, made), width),
    };
    format!("{text}\n\n{made}\n\nFound by\n  {}", index.command)
}

fn lost_line(write: &FindWrite) -> String {
    let sectors: u64 = write.lost.iter().map(|run| run.1 - run.0).sum();
    let explains = if write.explains { "; it alone or with the others so marked explains the medium" } else { "" };
    let purpose = write.purpose.as_ref().map_or(String::new(), |purpose| format!("; {purpose}"));
    let promised = match write.promised_ns {
        Some(promised) => format!("promised at {:.6} s", seconds(promised)),
        None => "not promised".to_owned(),
    };
    format!(
        "write {} to sector {}, {sectors} of {} sectors lost, {promised}{purpose}{explains}",
        write.stamp, write.lba, write.sectors
    )
}

fn made_sentence(index: &FindIndex, made: &MadeMedium<'_>) -> String {
    let image = made.image.display();
    let [content, of_cut] = [made.content, &index.content].map(|content| &content[..SHOWN_DIGITS]);
    match made.restored.len() {
        0 => {
            format!("{image}: equal, byte for byte, to the medium that was checked after the cut (content {content}).")
        }
        count => {
            let writes = if count == 1 { "1 lost write".to_owned() } else { format!("{count} lost writes") };
            format!(
                "{image}: the medium after the cut with {writes} put back (content {content}; that of the cut is {of_cut})."
            )
        }
    }
}

/// A find as JSON.
fn find_json(find: &KeptFind, made: Option<&MadeMedium<'_>>) -> Value {
    let index = &find.index;
    let made = made.map(|made| {
        let equal = made.content == index.content;
        json!({
            "image": made.image.display().to_string(), "restored": made.restored, "content": made.content, "equal": equal,
        })
    });
    json!({
        "title": index.title, "command": index.command, "made_by": index.made_by, "fs": index.fs, "verdict": index.verdict,
        "words": index.words, "promises": index.promises, "bytes": index.disk_bytes, "content": index.content,
        "cut_s": seconds(index.cut_ns), "earlier_cuts_s": index.earlier_cuts_ns.iter().map(|cut| seconds(*cut)).collect::<Vec<_>>(),
        "writes": index.writes.len(), "lost": find.lost_writes(), "unreadable": index.unreadable, "made": made,
    })
}
