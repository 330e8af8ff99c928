//! The list of places in real time. `--on`, `place = "NAME"` in studies, errors, completions and the page know a place by it.

use seekwise_run::place::{Kind, Of};

use crate::remote::{Live, Remote};
use crate::{null, real};

/// All places in real time.
pub const PLACES: &[Kind] = &[
    Kind {
        name: null::Null::NAME,
        form: "null",
        about: "answers each request at once, in real time: what Seekwise costs itself",
        of: Of::Nothing(null::Null::place),
    },
    Kind {
        name: Live::NAME,
        form: "live:NAME|STACK",
        about: "the modelled disk in real time, served to Seekwise itself",
        of: Of::Stack(Live::of),
    },
    Kind {
        name: Remote::NAME,
        form: "nbd:ADDRESS",
        about: "any network block device, such as nbd:unix:/tmp/disk or nbd://127.0.0.1:10809; jobs that write destroy what is on it, and need --destroy ADDRESS",
        of: Of::Address(Remote::at),
    },
    Kind {
        name: real::FILE,
        form: "file:PATH",
        about: "a real file, or seekwise.data in a folder; jobs that write destroy what is in it",
        of: Of::File(real::file),
    },
    Kind {
        name: real::DEVICE,
        form: "device:PATH",
        about: "a real block device; jobs that write need --destroy SERIAL",
        of: Of::Device(real::device),
    },
];
