//! Crash tests, as `seekwise crash` makes them: real software works on a modelled disk, the power is cut at many
//! instants, and a check is run on the medium of each cut. The session and the checks need Linux (`ProgramSession`,
//! `CheckBench`); the rest is computed from the recorded session.

#[cfg(target_os = "linux")]
mod check_bench;
#[cfg(target_os = "linux")]
mod kept_find;
#[cfg(target_os = "linux")]
mod recovery_bench;

/// A session as it was recorded: requests, completions, landings, and promises of the program.
pub use seekwise_disk::block::{Completion, Landing, LandingKind, MemberRole, Op, Request, Status, TrackRun};
pub use seekwise_disk::history::{DataPart, History, HistoryEvent, HistoryMark, WriteData};

/// Media, and writes that are not on them.
pub use seekwise_disk::durability::image::{LostWrite, MediumImage};
pub use seekwise_disk::durability::writes::{SessionWrite, SessionWrites};

/// Instants of cuts, and how they are chosen.
pub use seekwise_lab::crash::instants::{InstantReason, InstantWeights, landing_time};

/// The data in place of lost writes.
pub use seekwise_formats::excerpt::{ByteDifference, show_bytes};
pub use seekwise_lab::crash::standing::{StandingData, StandingState};

/// Trials: a check on the medium of each cut, and its verdict.
pub use seekwise_lab::crash::trial::{
    CrashCase, CrashResults, CrashTrial, MediumCheck, ShrinkResult, TrialOptions, check_stack_can_be_cut,
};
pub use seekwise_lab::crash::verdict::{CheckOutput, CrashFinding, CrashVerdict};

/// Cuts during recovery: chains of sessions, each with the cut that ended it, and their results.
pub use seekwise_lab::crash::recovery::{
    BadChain, ChainLink, ChainMedium, RecoveryLevel, RecoveryOptions, RecoveryResults,
};

/// The fewest lost writes, and the trial of the check itself.
pub use seekwise_lab::crash::proof::{CheckProof, NoticedChange};
pub use seekwise_lab::crash::shrink::MinimalSet;

/// Recipes: workloads with their checks.
pub use seekwise_formats::recipe::{ExpectedOutcome, Recipe, parse as parse_recipes, recipes};

#[cfg(target_os = "linux")]
pub use self::check_bench::CheckBench;
#[cfg(target_os = "linux")]
pub use self::kept_find::{FindIndex, FindOrigin, FindWrite, KeptFind, digest_content};
#[cfg(target_os = "linux")]
pub use self::recovery_bench::RecoveryRunner;

/// A program's session, and the bounds of programs.
#[cfg(target_os = "linux")]
pub use seekwise_os::kernel::{
    ExitCause, FILE_SYSTEMS, FileSystemKind, GroupParent, ProgramBounds, ProgramExit, ShellProgram, is_root,
    run_tool_for_output,
};
#[cfg(target_os = "linux")]
pub use seekwise_os::session::{ProgramSession, SentRequests, SessionRecord};

/// Checks of media, and data that a disk was not given.
#[cfg(target_os = "linux")]
pub use seekwise_os::image_checker::{CheckResult, ImageChecker, ImageContent};
#[cfg(target_os = "linux")]
pub use seekwise_os::kernel::pages::{FilePages, NameChange, UnflushedName, UnflushedPages, UnflushedState};
