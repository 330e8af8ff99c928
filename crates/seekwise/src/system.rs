//! Takes the place of `seekwise_os` in WebAssembly, under the same names. There are no files and no places in real time: a
//! call that needs one is an error that says so. The clock stands still. Texts come from memory
//! ([`Files::with_text`](crate::Files::with_text)), and results stay there.

/// Real time.
pub mod clock {
    /// A clock that stands: nothing takes time, so that no work is forecast to take long.
    pub struct Clock;

    impl Clock {
        /// Starts at zero.
        pub fn start() -> Clock {
            Clock
        }

        /// Always zero.
        pub fn elapsed_seconds(&self) -> f64 {
            0.0
        }
    }
}

/// Files and folders.
pub mod outputs {
    use std::fs::{File, Metadata};
    use std::io::{self, ErrorKind, Write};
    use std::path::Path;

    /// No file is written.
    pub enum OutputFile {}

    impl OutputFile {
        /// Always an error.
        pub fn create(_: &Path, _: bool) -> io::Result<OutputFile> {
            refuse_files()
        }

        /// There is nothing to complete.
        pub fn finish(self) -> io::Result<()> {
            match self {}
        }
    }

    impl Write for OutputFile {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }

        fn flush(&mut self) -> io::Result<()> {
            match *self {}
        }
    }

    fn refuse_files<T>() -> io::Result<T> {
        let why = "WebAssembly has no files; expected a call whose results stay in memory";
        Err(io::Error::new(ErrorKind::Unsupported, why))
    }

    macro_rules! without_files {
        ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
            $(
                /// Always an error.
                pub fn $name($(_: $argument),*) -> io::Result<$result> {
                    refuse_files()
                }
            )*
        };
    }

    without_files! {
        check_output_folder(&Path) -> ();
        create_folder(&Path) -> ();
        open_append(&Path) -> File;
        open_folder(&Path) -> File;
        open_read(&Path) -> File;
        open_update(&Path) -> File;
        prepare_output(&Path, bool) -> ();
        write_whole(&Path, &[u8], bool) -> ();
    }

    /// Nobody holds a lock.
    pub fn lock_holder(_: &File) -> Option<u32> {
        None
    }

    /// Marks nothing: no output could take its place.
    pub fn mark_input(_: &Metadata) {}
}

/// The list of places in real time.
pub mod places {
    use seekwise_run::place::{PlaceKind, PlaceResult, PlaceSource};

    /// The names of all places; each is an error.
    pub const PLACES: &[PlaceKind] = &[
        refuse_place("null"),
        refuse_place("live"),
        refuse_place("nbd"),
        refuse_place("file"),
        refuse_place("device"),
    ];

    const fn refuse_place(name: &'static str) -> PlaceKind {
        let form = "a drive or a stack file: WebAssembly has no places in real time";
        PlaceKind { name, form, about: "", of: PlaceSource::Address(refuse_address) }
    }

    fn refuse_address(_: &str) -> PlaceResult {
        Err("WebAssembly has no places in real time; expected a drive or a stack file".to_owned())
    }
}

/// Real files and devices.
pub mod real {
    use seekwise_run::handle::RealOptions;

    /// Always an error.
    pub fn path_bytes(_: &str, _: bool, _: &RealOptions) -> Result<u64, String> {
        Err("WebAssembly has no real files and devices".to_owned())
    }
}

/// Files that a program would leave unfinished.
pub mod unfinished {
    /// No files.
    pub struct UnfinishedFiles;

    /// Locks nothing: nothing is written.
    pub fn lock_unfinished() -> UnfinishedFiles {
        UnfinishedFiles
    }

    impl UnfinishedFiles {
        /// Counts nothing: nothing is kept.
        pub fn count_kept_records(&mut self, _: u64) {}
    }
}
