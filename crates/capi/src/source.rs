//! The source that a disk is opened from: a built-in drive, the text of a stack file, or a profile of the caller's own. No file is opened here.

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::stack::StackFile;
use seekwise_drives::{drives, profile};

/// The stack's name in errors.
const STACK_FILE: &str = "stack.toml";

/// The profile's name in errors, and the drive's in a stack above it.
const PROFILE_FILE: &str = "profile.toml";

/// The source of a disk: a name or texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskSource {
    /// A built-in drive by name, with nothing above it.
    Drive(String),
    /// The text of a stack file, whose drive is a built-in one.
    Stack(String),
    /// The text of a profile, and of the stack above it, whose drive is `profile.toml`.
    Profile { profile: String, stack: Option<String> },
}

impl DiskSource {
    /// Builds the device.
    pub(crate) fn build(&self, seed: u64) -> Result<Box<dyn Device>, Vec<Diagnostic>> {
        match self {
            DiskSource::Drive(name) => Ok(Stack::bare(drives::load(name)?.profile()?).build(Seed(seed))),
            DiskSource::Stack(stack) => build_stack(stack, seed, &drives::read),
            DiskSource::Profile { profile, stack: None } => {
                Ok(Stack::bare(profile::parse(PROFILE_FILE, profile)?.profile()?).build(Seed(seed)))
            }
            DiskSource::Profile { profile, stack: Some(stack) } => build_stack(stack, seed, &|name| match name {
                PROFILE_FILE => Ok(profile.clone()),
                _ => Err(vec![other_drive(name)]),
            }),
        }
    }
}

/// Builds a stack from the text of a stack file.
fn build_stack(
    text: &str,
    seed: u64,
    profile_text: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
) -> Result<Box<dyn Device>, Vec<Diagnostic>> {
    let built = StackFile::parse(STACK_FILE, text)?.build(profile_text)?;
    if !built.stack.changes.is_empty() {
        let wrong = Diagnostic::at(STACK_FILE, 0, "changes during a run are the caller's here").with_key("at");
        return Err(vec![wrong.with_expected("a call that sets the key at its instant (seekwise_set)")]);
    }
    Ok(built.stack.build(Seed(seed)))
}

/// The error that a stack above a profile names another drive.
fn other_drive(name: &str) -> Diagnostic {
    let wrong = Diagnostic::at(name, 0, "not the profile that was passed").with_key("drive");
    wrong.with_expected(format!("drive = \"{PROFILE_FILE}\""))
}
