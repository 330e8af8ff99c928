//! Concerns: aspects that a difference between two sides of a comparison can be credited to. The list is fixed, so that a
//! credit means the same in every study.
//!
//! The list of keys in `seekwise-formats` says which setting belongs to which concern.

/// Something in which the two sides of a comparison may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// The processor above the stack.
    Processor,
    /// A cache of the whole disk in host memory.
    Accelerator,
    /// A driver, apart from its scheduler, its flush policy and its number of commands.
    Driver,
    /// The order in which the host sends commands: sorting, merging, plugging.
    Scheduler,
    /// Handling of flushes, of durable writes and of a power-off above the drive.
    FlushPolicy,
    /// Several drives as one.
    Array,
    /// The path to memory that several drives share: a bus, a channel.
    Bus,
    /// The host bus adapter.
    Controller,
    /// The link between controller and drive.
    Interface,
    /// The drive as a whole, apart from its queue, its write cache and its interface.
    Drive,
    /// How many commands the drive has, and in which order it serves them.
    Queue,
    /// Whether the drive acknowledges writes before they are on the platter.
    WriteCache,
    /// The drive's buffer and its segments.
    Segments,
    /// Data that the drive reads without a request.
    ReadAhead,
    /// A drive's cache on the platters or in flash.
    MediaCache,
    /// Spindle speed, seeks, head switches.
    Mechanics,
    /// Where sectors lie on the platters.
    Media,
    /// The drive's overhead per command, and its destaging.
    Firmware,
    /// Weak sectors, recovery, and faulty behaviour of the drive.
    Faults,
    /// Changes of settings during the run.
    Change,
    /// The order of the layers.
    Order,
    /// The operating system, with its rules for calls and flushes.
    System,
    PageCache,
    /// The file system, and the layout of volumes and files.
    FileSystem,
    /// The number of workers, and when each runs.
    Workers,
    /// Behaviour of programs.
    Program,
    /// The number of requests in flight.
    Depth,
    /// Reads or writes, sequential or random, and their order.
    Pattern,
    /// Sizes of requests.
    Size,
    /// Where on the drive the work takes place, and on how much of it.
    Place,
    /// Rates and pauses of the work.
    Rate,
    /// Flushes and durable writes of the work.
    Flushes,
    /// How long the work runs.
    Duration,
}

use Concern::*;

/// All concerns: the word in a study, and the words for a reader.
const ALL: [(Concern, &str, &str); 33] = [
    (Processor, "processor", "the processor"),
    (Accelerator, "accelerator", "the cache in memory"),
    (Driver, "driver", "the driver"),
    (Scheduler, "scheduler", "the scheduler"),
    (FlushPolicy, "flush-policy", "the flush policy"),
    (Array, "array", "the array"),
    (Bus, "bus", "the bus"),
    (Controller, "controller", "the controller"),
    (Interface, "interface", "the interface"),
    (Drive, "drive", "the drive"),
    (Queue, "queue", "the command queue"),
    (WriteCache, "write-cache", "the write cache"),
    (Segments, "segments", "the drive's segments"),
    (ReadAhead, "read-ahead", "the read-ahead"),
    (MediaCache, "media-cache", "the media cache"),
    (Mechanics, "mechanics", "the mechanics"),
    (Media, "media", "the media"),
    (Firmware, "firmware", "the drive's firmware"),
    (Faults, "faults", "the drive's faults"),
    (Change, "change", "a change during the run"),
    (Order, "order", "the order of the layers"),
    (System, "system", "the system"),
    (PageCache, "page-cache", "the page cache"),
    (FileSystem, "file-system", "the file system"),
    (Workers, "workers", "the workers"),
    (Program, "program", "the program"),
    (Depth, "depth", "the depth"),
    (Pattern, "pattern", "the pattern"),
    (Size, "size", "the size of requests"),
    (Place, "place", "the place of the work"),
    (Rate, "rate", "the rate of the work"),
    (Flushes, "flushes", "the flushes of the work"),
    (Duration, "duration", "the duration"),
];

impl Concern {
    /// The word in a study.
    pub fn word(self) -> &'static str {
        ALL[self as usize].1
    }

    /// The name for a reader.
    pub fn title(self) -> &'static str {
        ALL[self as usize].2
    }

    /// True if the concern belongs to the work, false if to the stack that the work runs on.
    pub fn is_work(self) -> bool {
        self >= Workers
    }

    /// All words, in order.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(_, word, _)| *word)
    }

    /// The concern of a word.
    pub fn from_word(word: &str) -> Option<Concern> {
        ALL.iter().find(|(_, known, _)| *known == word).map(|(concern, ..)| *concern)
    }
}

/// Names concerns for a reader; several are a bundle.
pub fn credit_title(concerns: &[Concern]) -> String {
    let titles: Vec<&str> = concerns.iter().map(|concern| concern.title()).collect();
    match titles[..] {
        [title] => title.to_owned(),
        _ => format!("a bundle: {}", titles.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_concern_stands_at_its_place() {
        for (index, (concern, word, _)) in ALL.into_iter().enumerate() {
            assert_eq!((concern as usize, Concern::from_word(word)), (index, Some(concern)), "{word}");
        }
        assert!(Depth.is_work() && !Change.is_work());
        assert_eq!(credit_title(&[Queue]), "the command queue");
        assert_eq!(credit_title(&[Queue, Bus]), "a bundle: the command queue, the bus");
    }
}
