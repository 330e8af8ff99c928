//! The plan of `seekwise crash`: a recipe (workload, check and file system), options that override parts of it, and the disk. A plan
//! that cannot be carried out on this machine is refused before anything begins.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use seekwise::crash::{
    ExpectedOutcome, FILE_SYSTEMS, FileSystemKind, GroupParent, ProgramBounds, Recipe, ShellProgram,
    check_stack_can_be_cut, is_root, parse_recipes, recipes, run_tool_for_output,
};
use seekwise::error::Diagnostic;
use seekwise::leftovers::FOLDER;
use seekwise::outputs::{create_like_parent, create_scratch};
use seekwise::setup::{self, Stack};
use serde_json::json;

use crate::args;
use crate::cmd::{print_json, print_text};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::tables;
use seekwise::Files;

/// The plan of a crash test.
pub struct CrashPlan {
    pub target: String,
    pub recipe: Recipe,
    pub system: Option<FileSystemKind>,
    pub stack: Stack,
    pub warnings: Vec<String>,
    /// Environment of workload, check and preparation, besides what every program gets.
    pub environment: Vec<(String, String)>,
    /// The size of the file system in bytes.
    size: u64,
}

impl CrashPlan {
    /// The plan that the arguments describe; fails if it cannot be carried out here.
    pub fn from_args(args: &args::CrashArgs, files: &Files) -> Result<CrashPlan, CommandError> {
        let named = args.recipe.as_deref().map(|name| find_recipe(files, name));
        let mut recipe = named.unwrap_or_else(|| Ok(Recipe::default()))?;
        recipe.workload = args.workload.clone().unwrap_or(recipe.workload);
        recipe.check = args.check.clone().unwrap_or(recipe.check);
        recipe.recover = args.recover.clone().or(recipe.recover);
        recipe.fs = args.fs.clone().or(recipe.fs);
        recipe.prepare = args.prepare.clone().or(recipe.prepare);
        recipe.user = args.user.clone().or(recipe.user);
        recipe.may_lose = args.may_lose.unwrap_or(recipe.may_lose);
        let target = args.target.clone().unwrap_or_default();
        let (stack, changes, warnings) = setup::build_stack(files, &target, &args.set)?;
        if let Some(change) = changes.first() {
            let key = &change.key;
            return Err(CommandError::new(format!(
                "`{key}` changes during a run; expected settings that hold from the start"
            )));
        }
        check_stack_can_be_cut(&stack).map_err(CommandError::new)?;
        let system = recipe.fs.as_deref().map(|text| parse_file_system(text, &[])).transpose()?;
        // The size of a recipe is meant for its own file system; another one may need more.
        let usual_bytes = system.as_ref().map_or(0, |system: &FileSystemKind| match recipe.size {
            Some(size) if size >= system.usual_bytes() => size,
            _ if system.name() == "ext4" => recipe.size.unwrap_or(system.usual_bytes()),
            _ => system.usual_bytes(),
        });
        let size = args.size.unwrap_or(usual_bytes);
        let environment = extra_environment(args, &recipe)?;
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let plan = CrashPlan { target, recipe, system, stack, warnings, environment, size };
        plan.check_feasible(args)?;
        Ok(plan)
    }

    /// Refuses a plan that cannot be carried out here.
    fn check_feasible(&self, args: &args::CrashArgs) -> Result<(), CommandError> {
        let disk_bytes = self.stack.sectors() * 512;
        let is_cut_again = args.recover.is_some() || args.recovery_cuts.is_some() || args.recovery_speed.is_some();
        match &self.system {
            _ if args.depth == 1 && is_cut_again => {
                return Err(CommandError::new(
                    "--recover, --recovery-cuts and --recovery-speed are for cuts of recoveries; expected --depth 2 or 3",
                ));
            }
            None if args.depth > 1 && self.recipe.recover.is_none() => {
                return Err(CommandError::new("--depth: nothing recovers on a bare disk; expected --recover, or --fs"));
            }
            None if self.recipe.prepare.is_some() || args.size.is_some() || self.recipe.user.is_some() => {
                return Err(CommandError::new("--prepare, --size and --user need a file system; expected --fs ext4"));
            }
            None => {}
            Some(_) if args.layer.is_some() => {
                return Err(CommandError::new(
                    "--layer stands before the bare disk; expected a workload that uses SEEKWISE_URI, without --fs",
                ));
            }
            Some(_) if !is_root() => {
                return Err(CommandError::new(
                    "mounting a file system needs root; expected root, or a workload for the raw disk without --fs",
                ));
            }
            Some(system) if self.size < system.least_bytes() => {
                let (size, least_mib, name) = (self.size, system.least_bytes() >> 20, system.name());
                return Err(CommandError::new(format!(
                    "--size {size}: expected at least {least_mib}m, the least that {name} needs"
                )));
            }
            Some(_) if self.size > disk_bytes => {
                return Err(CommandError::new(format!(
                    "--size {}: the disk has {disk_bytes} bytes; expected less",
                    self.size
                )));
            }
            Some(_) => {}
        }
        let system_tools = self
            .system
            .iter()
            .flat_map(|system| system.required_tools().into_iter().chain(["losetup", "mount", "umount"]));
        let needed = self.recipe.needs.iter().map(String::as_str).chain(system_tools);
        match needed.into_iter().find(|program| !is_installed(program)) {
            Some(program) => Err(CommandError::new(format!("`{program}`: not found; expected it in PATH"))),
            None => Ok(()),
        }
    }

    /// The program and its version, as the recipe's command prints them in its first line; `None` without such a command.
    pub fn read_version(
        &self,
        groups: &GroupParent,
        bounds: ProgramBounds<'_>,
    ) -> Result<Option<String>, CommandError> {
        let Some(command) = &self.recipe.version else { return Ok(None) };
        let ended = ShellProgram { command, environment: self.environment.clone(), groups, bounds }.run();
        let ended = ended.map_err(CommandError::new)?;
        match ended.printed.lines().next().map(str::trim).filter(|line| ended.how.is_success() && !line.is_empty()) {
            Some(line) => Ok(Some(line.to_owned())),
            None => Err(CommandError::new(format!(
                "the command of `version` {}: {}; expected a line with the program and its version",
                ended.how,
                ended.printed.trim()
            ))),
        }
    }

    /// Makes a file with the disk's initial contents in this folder: the file system, prepared as the recipe says. `None` without a
    /// file system.
    pub fn make_base(
        &self,
        folder: &Path,
        groups: &GroupParent,
        bounds: ProgramBounds<'_>,
    ) -> Result<Option<PathBuf>, CommandError> {
        let Some(system) = &self.system else { return Ok(None) };
        let base = folder.join("base");
        system.make_image(&base, self.size, bounds).map_err(CommandError::new)?;
        let mount = folder.join("prepare");
        let created = create_like_parent(&mount);
        created.map_err(|error| CommandError::new(format!("{}: {error}", mount.display())))?;
        // The file system is mounted even if nothing is prepared, so that wrong options are found before the disk is served.
        let mounted = system.mount(&base, &mount, bounds);
        let mounted = mounted.map_err(|error| CommandError::new(format!("--fs: {error}")))?;
        if let Some(command) = &self.recipe.prepare {
            let mut environment = self.environment.clone();
            environment.push(("SEEKWISE_MOUNT".to_owned(), mount.display().to_string()));
            let ended = ShellProgram { command, environment, groups, bounds }.run().map_err(CommandError::new)?;
            if !ended.how.is_success() {
                let (how, printed) = (ended.how, ended.printed.trim().to_owned());
                return Err(CommandError::new(format!("the command of --prepare {how}: {printed}")));
            }
        }
        mounted.unmount().map_err(CommandError::new)?;
        Ok(Some(base))
    }
}

/// Parses a file system and its options from `--fs`. An error names the `others` that are expected too.
pub(in crate::cmd) fn parse_file_system(text: &str, others: &[&str]) -> Result<FileSystemKind, CommandError> {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    FileSystemKind::find_by_name(name, options).ok_or_else(|| {
        let wrong = Diagnostic::at("--fs", 0, format!("unknown file system `{name}`"));
        let expected = [&FILE_SYSTEMS, others].concat();
        wrong.with_expected(expected.join(", ")).suggest_nearest(name, expected).into()
    })
}

/// Environment variables besides those of every program: those that the recipe inherits or sets, and those of `--env`.
fn extra_environment(args: &args::CrashArgs, recipe: &Recipe) -> Result<Vec<(String, String)>, CommandError> {
    let inherited = |name: &String| std::env::var(name).ok().map(|value| (name.clone(), value));
    let mut environment: Vec<(String, String)> = recipe.env.iter().filter_map(inherited).collect();
    environment.extend(recipe.set.iter().cloned());
    for (name, value) in &args.env {
        let value = match value {
            Some(value) => value.clone(),
            None => std::env::var(name).map_err(|_| {
                CommandError::new(format!(
                    "--env {name}: not set in this environment; expected NAME=VALUE, or a variable that is set"
                ))
            })?,
        };
        environment.push((name.clone(), value));
    }
    Ok(environment)
}

/// Finds a recipe by its name, or by a file and a name in it.
fn find_recipe(files: &Files, name: &str) -> Result<Recipe, CommandError> {
    if let Some(recipe) = recipes().iter().find(|recipe| recipe.name == name) {
        return Ok(recipe.clone());
    }
    let names = || recipes().iter().map(|recipe| recipe.name.as_str());
    let (file, recipe_name) =
        name.rsplit_once(':').map_or((name, None), |(file, recipe_name)| (file, Some(recipe_name)));
    let Some(text) = files.find(file)? else {
        let wrong = Diagnostic::at("--recipe", 0, format!("`{name}`: no such recipe or file"));
        return Err(wrong
            .with_expected("one of `seekwise crash --recipes`, or FILE:NAME")
            .suggest_nearest(name, names())
            .into());
    };
    let file_recipes = parse_recipes(file, &text)?;
    let file_names: Vec<&str> = file_recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    let expected = file_names.join(", ");
    match recipe_name {
        None if file_recipes.len() == 1 => Ok(file_recipes[0].clone()),
        None => Err(CommandError::new(format!(
            "{file}: has {} recipes; expected {file}:NAME, of {expected}",
            file_recipes.len()
        ))),
        Some(recipe_name) => file_recipes.iter().find(|recipe| recipe.name == recipe_name).cloned().ok_or_else(|| {
            let fault =
                Diagnostic::at(file, 0, format!("has no recipe `{recipe_name}`")).with_expected(expected.as_str());
            fault.suggest_nearest(recipe_name, file_names.iter().copied()).into()
        }),
    }
}

/// Whether a program is in PATH, or in the folders of root's programs.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let root_folders = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(root_folders).any(|folder| folder.join(program).is_file())
}

/// Creates the folder for media, in memory if possible. Only its owner can read it; the group of `user` can pass through it.
pub fn create_scratch_folder(
    args: &args::CrashArgs,
    user: Option<&str>,
    bounds: ProgramBounds<'_>,
) -> Result<tempfile::TempDir, CommandError> {
    use std::os::unix::fs::{PermissionsExt, chown};
    const MEMORY: &str = "/dev/shm";
    let temporary = std::env::temp_dir();
    let memory = Path::new(MEMORY);
    let parent = args.scratch.as_deref().unwrap_or(if memory.is_dir() { memory } else { &temporary });
    let wrong = |error: std::io::Error| CommandError::new(format!("{}: {error}", parent.display()));
    let folder = create_scratch(parent, FOLDER).map_err(wrong)?;
    if let Some(user) = user {
        let unknown =
            |why: &dyn Display| CommandError::new(format!("--user {user}: {why}; expected a user of this machine"));
        let group = run_tool_for_output("id", ["-g", "--", user], bounds).map_err(|why| unknown(&why))?;
        chown(folder.path(), None, Some(group.parse().map_err(|why| unknown(&why))?)).map_err(wrong)?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o710)).map_err(wrong)?;
    }
    Ok(folder)
}

/// Prints the list of recipes, or one recipe in full.
pub fn print_recipes(args: &args::CrashArgs, files: &Files, json: bool) -> CommandResult {
    let built_in = recipes();
    let recipe_json = |recipe: &Recipe| {
        json!({
            "name": recipe.name, "title": recipe.title, "needs": recipe.needs, "fs": recipe.fs, "size": recipe.size,
            "user": recipe.user, "env": recipe.env, "prepare": recipe.prepare, "workload": recipe.workload, "check": recipe.check,
            "recover": recipe.recover, "version": recipe.version, "promises": recipe.promises,
            "expect": recipe.expect.map(ExpectedOutcome::word),
            "may_lose_s": recipe.may_lose.seconds(),
            "set": recipe.set.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        })
    };
    if let Some(name) = &args.recipe {
        let recipe = find_recipe(files, name)?;
        if json {
            print_json(&recipe_json(&recipe))?;
            return Ok(CommandAnswer::Done);
        }
        let set: String = recipe.set.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let section =
            |heading: &str, text: &str| format!("\n{heading}:\n\n    {}\n", text.trim().replace('\n', "\n    "));
        let fs = recipe.fs.as_deref().unwrap_or("none: the bare disk");
        let user = recipe.user.as_deref().map_or(String::new(), |user| format!(" (programs run as {user})"));
        let prepare = recipe.prepare.as_deref().map(|text| section("Before", text)).unwrap_or_default();
        let recover = recipe.recover.as_deref().map(|text| section("Recovery", text)).unwrap_or_default();
        let line =
            |heading: &str, text: Option<&str>| text.map(|text| format!("{heading}: {text}\n")).unwrap_or_default();
        let promises = line("Promise", recipe.promises.as_deref());
        let expect = line("Expected", recipe.expect.map(ExpectedOutcome::word));
        let may_lose = match recipe.may_lose.nanos {
            0 => String::new(),
            _ => format!("May lose: promises of the last {}\n", recipe.may_lose),
        };
        print_text(&format!(
            "{}: {}\n\nFile system: {fs}{user}\nNeeds: {}\nSets: {set}\nTakes from the environment: {}\n{promises}{expect}{may_lose}{prepare}{}{recover}{}",
            recipe.name,
            recipe.title,
            recipe.needs.join(", "),
            recipe.env.join(", "),
            section("Workload", &recipe.workload),
            section("Check", &recipe.check)
        ))?;
        return Ok(CommandAnswer::Done);
    }
    if json {
        print_json(&built_in.iter().map(recipe_json).collect::<Vec<_>>())?;
        return Ok(CommandAnswer::Done);
    }
    let mut table = tables::new_table(["recipe", "mode", "promise", "expected"]);
    for recipe in built_in {
        let promises = recipe.promises.as_deref().unwrap_or_default();
        table.add_row([recipe.name.as_str(), &recipe.title, promises, recipe.expect.map_or("", ExpectedOutcome::word)]);
    }
    print_text(&format!("{table}\n\n`seekwise crash --recipes --recipe NAME` shows one."))?;
    Ok(CommandAnswer::Done)
}
