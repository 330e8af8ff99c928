//! `seekwise completions` and the hidden `seekwise man`: shell completion and manual pages, both made from the declarations in
//! `args`. The completion script of a shell runs this program at each completion ([`answer_completion_request`]), so it offers the
//! drives, patterns, studies and keys of this version.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use seekwise::drives;
use seekwise::jobs::{JOBS, SCENES, built_in_patterns, programs};
use seekwise::keys::{layers, sections};
use seekwise::outputs::{create_folder, write_whole};
use seekwise::places::PLACES;
use seekwise::study::{BUILT_IN, REVIEWS};

use super::print_text;
use crate::args::{self, Cli, Shell};
use crate::exit::{CommandAnswer, CommandResult};

/// The environment variable with which a script requests completions. clap's usual `COMPLETE` might be set for another program.
const VARIABLE: &str = "SEEKWISE_COMPLETE";

/// A wrapper of clap's function for bash, which splits `--set KEY=VALUE` at `=` into three words: the wrapper joins them for the
/// program, and strips everything up to the `=` from its answers.
const BASH_WRAPPER: &str = r#"
_seekwise() {
    local -a joined=()
    local word last=0 glued=
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}" "${2-}"; do
        last=$((${#joined[@]} - 1))
        if [[ $last -ge 1 && ( $word == "=" || ( -n $glued && ${joined[last]} == *= ) ) ]]; then
            joined[last]+=$word
            glued=1
        elif [[ -z $word && ${COMP_WORDS[COMP_CWORD]} == "=" ]]; then
            joined[last]+="="
        else
            joined+=("$word")
            glued=
        fi
    done
    last=$((${#joined[@]} - 1))
    local -a COMP_WORDS=("${joined[@]}")
    local COMP_CWORD=$last
    local before=${joined[last]%"${joined[last]##*=}"}
    _clap_complete_seekwise "$1" "${joined[last]}" "${3-}"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o nospace -o bashdefault -F _seekwise seekwise
"#;

/// Answers a shell's completion request and ends the program. Returns true if there is no request, false after an error.
pub fn answer_completion_request(words: &[OsString]) -> bool {
    let folder = std::env::current_dir().ok();
    match CompleteEnv::with_factory(command_with_completers).var(VARIABLE).try_complete(words, folder.as_deref()) {
        Ok(true) => std::process::exit(0),
        Ok(false) => true,
        Err(error) => {
            let _ = error.print();
            false
        }
    }
}

/// The declaration of the command line, with a completer for each argument that has one.
fn command_with_completers() -> Command {
    let places = || PLACES.iter().map(|place| place.form.find(':').map_or(place.name, |colon| &place.form[..=colon]));
    let targets = move || complete_words_and_files(drives::names().chain(places()).map(str::to_owned).collect());
    let jobs = || {
        let patterns = built_in_patterns().into_iter().map(|pattern| pattern.name);
        let jobs = JOBS.iter().map(|job| job.name).chain(SCENES.iter().map(|scene| scene.name));
        complete_words_and_files(patterns.chain(jobs.map(str::to_owned)).collect())
    };
    let programs = || {
        let names: Vec<String> = programs().iter().map(|program| program.name.clone()).collect();
        ArgValueCompleter::new(move |current: &OsStr| complete_words(current, &names))
    };
    let studies = || complete_words_and_files(REVIEWS.iter().chain(BUILT_IN).map(|study| study.0.to_owned()).collect());
    let set = || ArgValueCompleter::new(|current: &OsStr| complete_setting(current));
    let keys = || ArgValueCompleter::new(|current: &OsStr| complete_words(current, &all_keys()));
    let complete_job_and_target = move |command: Command| {
        command
            .mut_arg("job", |arg| arg.add(jobs()))
            .mut_arg("target", |arg| arg.add(targets()))
            .mut_arg("set", |arg| arg.add(set()))
    };
    Cli::command()
        .mut_subcommand("drives", |command| command.mut_arg("name", |arg| arg.add(targets())))
        .mut_subcommand("studies", |command| command.mut_arg("name", |arg| arg.add(studies())))
        .mut_subcommand("patterns", |command| command.mut_arg("name", |arg| arg.add(jobs())))
        .mut_subcommand("programs", |command| command.mut_arg("name", |arg| arg.add(programs())))
        .mut_subcommand("keys", |command| command.mut_arg("words", |arg| arg.add(keys())))
        .mut_subcommand("init", |command| command.mut_arg("like", |arg| arg.add(targets())))
        .mut_subcommand("run", complete_job_and_target)
        .mut_subcommand("compare", |command| complete_job_and_target(command).mut_arg("vary", |arg| arg.add(set())))
        .mut_subcommand("power-cut", complete_job_and_target)
        .mut_subcommand("study", |command| command.mut_arg("study", |arg| arg.add(studies())))
        .mut_subcommand("validate", |command| {
            command.mut_arg("drive", |arg| arg.add(targets())).mut_arg("set", |arg| arg.add(set()))
        })
        .mut_subcommand("export", |command| {
            command.mut_subcommand("latency", |command| {
                command.mut_arg("target", |arg| arg.add(targets())).mut_arg("set", |arg| arg.add(set()))
            })
        })
        .mut_subcommand("bench", |command| command.mut_arg("drive", |arg| arg.add(targets())))
}

/// Completes these words, and files.
fn complete_words_and_files(words: Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let mut found = complete_words(current, &words);
        found.extend(PathCompleter::any().complete(current));
        found
    })
}

/// Completes the words that begin with `current`.
fn complete_words(current: &OsStr, words: &[String]) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    words.iter().filter(|word| word.starts_with(current)).map(CompletionCandidate::new).collect()
}

fn all_keys() -> Vec<String> {
    let all = sections();
    let names = all.iter().map(|section| section.name.to_owned());
    names.chain(all.iter().flat_map(|section| &section.keys).map(|entry| entry.key.clone())).collect()
}

/// Completes keys with `=`, and after it the words that the key takes.
fn complete_setting(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_settable = |name: &str| matches!(name, "job" | "real") || layers().any(|layer| layer == name);
    let settable = sections().into_iter().filter(|section| is_settable(section.name));
    let entries: Vec<_> = settable.flat_map(|section| section.keys).collect();
    let typed = current.to_str().unwrap_or_default();
    let words: Vec<String> = match typed.split_once('=') {
        None => entries.iter().map(|entry| format!("{}=", entry.key)).collect(),
        Some(("drive", _)) => drives::names().map(|name| format!("drive={name}")).collect(),
        Some((key, _)) => {
            let entry = entries.iter().find(|entry| entry.key == key);
            // A list of words is separated by commas; a part with a blank is a range or a sentence.
            let words = entry.iter().flat_map(|entry| entry.takes.split(", ")).filter(|word| !word.contains(' '));
            words.map(|word| format!("{key}={word}")).collect()
        }
    };
    complete_words(current, &words)
}

/// Prints a shell's completion script.
pub fn print_completions(args: &args::CompletionsArgs) -> CommandResult {
    let shell = match args.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let shells = Shells::builtins();
    let completer = shells.completer(shell).expect("the library knows this shell");
    let mut script = Vec::new();
    let written = completer.write_registration(VARIABLE, "seekwise", "seekwise", "seekwise", &mut script);
    written.expect("memory can be written to");
    if args.shell == Shell::Bash {
        script.extend_from_slice(BASH_WRAPPER.as_bytes());
    }
    print_text(String::from_utf8_lossy(&script).trim_end())?;
    Ok(CommandAnswer::Done)
}

/// Writes a manual page for the program and each command.
pub fn write_manual(args: &args::ManArgs) -> CommandResult {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let written = create_folder(&args.folder).and_then(|()| write_pages(program, &args.folder));
    written.map_err(|why| seekwise::Error::of_file(&args.folder, &why))?;
    Ok(CommandAnswer::Done)
}

/// Writes a page for a command and each of its subcommands.
fn write_pages(command: Command, folder: &Path) -> io::Result<()> {
    command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
        .try_for_each(|subcommand| write_pages(subcommand.clone(), folder))?;
    let (page, mut text) = (clap_mangen::Man::new(command), Vec::new());
    page.render(&mut text)?;
    write_whole(&folder.join(page.get_filename()), &text, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed_settings(typed: &str) -> Vec<String> {
        let found = complete_setting(OsStr::new(typed)).into_iter();
        found.map(|word| word.get_value().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn keys_and_their_words_complete() {
        assert!(completed_settings("drive.cache.wr").contains(&"drive.cache.write_back=".to_owned()));
        assert_eq!(
            completed_settings("drive.cache.write_back="),
            ["drive.cache.write_back=on", "drive.cache.write_back=off"]
        );
        assert_eq!(completed_settings("array=raid-1"), ["array=raid-1", "array=raid-10"]);
        assert_eq!(completed_settings("real.engine="), ["real.engine=io_uring", "real.engine=psync"]);
        assert_eq!(completed_settings("drive=exos"), ["drive=exos-x18"]);
        assert_eq!(completed_settings("drive.mechanics.rpm="), [""; 0], "a range has no words");
    }

    #[test]
    fn every_completed_argument_exists() {
        command_with_completers().debug_assert();
    }
}
