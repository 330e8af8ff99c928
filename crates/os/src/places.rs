//! The list of places in real time, for `--on`, `place = "NAME"` in studies, errors, completions and the page.

use seekwise_run::place::{PlaceKind, PlaceSource};

use crate::remote::{LivePlace, RemotePlace};
use crate::{null, real};

/// All places in real time.
pub const PLACES: &[PlaceKind] = &[
    PlaceKind {
        name: null::NullPlace::NAME,
        form: "null",
        about: "answers each request at once, in real time, to measure the overhead of Seekwise itself",
        of: PlaceSource::Nothing(null::NullPlace::new_place),
    },
    PlaceKind {
        name: LivePlace::NAME,
        form: "live:NAME|STACK",
        about: "a modelled disk in real time, served to Seekwise itself",
        of: PlaceSource::Stack(LivePlace::new_place),
    },
    PlaceKind {
        name: RemotePlace::NAME,
        form: "nbd:ADDRESS",
        about: "any network block device, such as nbd:unix:/tmp/disk or nbd://127.0.0.1:10809; jobs that write destroy what is on it, and need --destroy ADDRESS",
        of: PlaceSource::Address(RemotePlace::connect_place),
    },
    PlaceKind {
        name: real::FILE,
        form: "file:PATH",
        about: "a real file, or seekwise.data in a folder; jobs that write destroy what is in it",
        of: PlaceSource::File(real::open_file_place),
    },
    PlaceKind {
        name: real::DEVICE,
        form: "device:PATH",
        about: "a real block device; jobs that write need --destroy SERIAL",
        of: PlaceSource::Device(real::open_device_place),
    },
];
