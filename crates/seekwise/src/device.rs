//! The modelled disk as a device, for programs that submit requests in their own time: the vocabulary of requests, and
//! settings of a running stack in words. [`build_stack`](crate::setup::build_stack) makes the stack that is built.

/// Requests, answers, landings and controls; the contract is that of [`Device`].
pub use seekwise_disk::block::setting::LayerSetting;
pub use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, MemberRole, Op, Request, Status,
};

/// The parts of a response.
pub use seekwise_disk::record::Part;

/// A key and a value as a setting of a running stack, and why one was refused.
pub use seekwise_drives::change::{parse_setting, refusal_words};
