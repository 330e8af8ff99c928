//! Drives: those that are built in, profiles of others, the figures of each, and whether everyday work on a drive is as
//! fast as its figures say. Fits to measurements and validations against them are in [`fit`](mod@crate::fit) and
//! [`validate`](mod@crate::validate).

/// The built-in drives, by name or by words that mean them.
pub use seekwise_drives::drives::matching;
pub use seekwise_lab::catalogue::{find_text, load_drive, names};

/// A profile, read from its text.
pub use seekwise_drives::profile::not_modelled::ForeignParameter;
pub use seekwise_drives::profile::{DriveFile, ReadingCache, parse};

/// The figures, checks and curves of a drive.
pub use seekwise_lab::catalogue::check::DatasheetCheck;
pub use seekwise_lab::catalogue::curves::Curves;
pub use seekwise_lab::catalogue::show::{
    DriveSheet, DriveSummary, SheetFigure, build_sheet, drive_summaries, rate_picture, seek_picture,
};

/// Everyday work against arithmetic from a drive's figures.
pub use seekwise_drives::profile::everyday::CASES;
pub use seekwise_lab::everyday::arithmetic::RateLaw;
pub use seekwise_lab::everyday::{CaseVerdict, EverydayPlan, EverydayReport, EverydayRow, plan_cases};

/// A profile drafted from the figures of a datasheet.
pub use seekwise_lab::catalogue::sketch::{Datasheet, draft_profile, nearest_drive};

/// A profile converted from DiskSim's parameters.
pub use seekwise_formats::disksim::{DisksimImport, UnmodelledParameter, import as import_disksim};
