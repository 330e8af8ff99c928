//! A suspected part of the model, with the arithmetic behind it.

use serde::Serialize;

/// A part of the model, or of the measurement, that explains a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuspectedPart {
    /// The results come from a cache, flash or memory.
    NoPlatter,
    /// Another stack stood between, or another drive was measured.
    OtherStack,
    /// Only a part of the drive was in use.
    Span,
    /// What each command costs.
    Overhead,
    /// The seek curve.
    Seek,
    /// The speed of the spindle.
    Rotation,
    /// The seek curve or the spindle: the results do not tell which.
    SeekOrRotation,
    /// The drive's queue: its depth, and what it chooses.
    Queue,
    /// The rate of the medium, or of the link.
    StreamRate,
    /// What a sequential command costs, or where read-ahead ends.
    StreamCommand,
    /// The state of the write cache.
    WriteCache,
    /// Each write is read back.
    WriteVerify,
    /// How cached writes reach the medium.
    Destage,
    /// How long the arm settles for a write.
    WriteSettle,
    /// No rule explains it.
    Unknown,
}

impl SuspectedPart {
    /// The part in words.
    pub const fn words(self) -> &'static str {
        match self {
            SuspectedPart::NoPlatter => "no platter answered",
            SuspectedPart::OtherStack => "another stack or another drive",
            SuspectedPart::Span => "only a part of the drive was in use",
            SuspectedPart::Overhead => "command overhead",
            SuspectedPart::Seek => "seek time",
            SuspectedPart::Rotation => "rotation",
            SuspectedPart::SeekOrRotation => "seek time or rotation",
            SuspectedPart::Queue => "the drive's queue",
            SuspectedPart::StreamRate => "media or link rate",
            SuspectedPart::StreamCommand => "overhead of sequential commands, or read-ahead",
            SuspectedPart::WriteCache => "state of the write cache",
            SuspectedPart::WriteVerify => "write and verify",
            SuspectedPart::Destage => "destaging of cached writes",
            SuspectedPart::WriteSettle => "settling before writes",
            SuspectedPart::Unknown => "no single part",
        }
    }
}

/// A suspected part, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspicion {
    pub part: SuspectedPart,
    /// The arithmetic, in sentences.
    pub why: String,
    /// Keys of the drive that decide it.
    pub keys: Vec<&'static str>,
}

impl Suspicion {
    pub(crate) fn new(part: SuspectedPart, keys: &[&'static str], why: String) -> Suspicion {
        Suspicion { part, why, keys: keys.to_vec() }
    }
}
