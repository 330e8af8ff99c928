//! Concerns: what a difference may be credited to. A fixed list, so that a credit means the same in every study.
//!
//! Which setting belongs to which concern is the laboratory's affair.

use serde::de::{Deserialize, Deserializer, Error};

use crate::spelling::nearest;

/// Something that one side of a comparison may have otherwise than the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// The processor above the stack.
    Processor,
    /// A cache of the whole disk in host memory.
    Accelerator,
    /// What a driver is beside its scheduler, its flush policy and how many commands it sends.
    Driver,
    /// In which order the host sends commands: sorting, merging, plugging.
    Scheduler,
    /// What becomes of flushes, of writes that are to be durable, and of a power-off, above the drive.
    FlushPolicy,
    /// Several drives as one.
    Array,
    /// What several drives share on their way to memory: a bus, a channel.
    Bus,
    /// The host bus adapter.
    Controller,
    /// The link between controller and drive.
    Interface,
    /// Another drive, with all that comes with it; not its queue, its write cache and its interface.
    Drive,
    /// How many commands the drive gets and in which order it takes them.
    Queue,
    /// Whether the drive acknowledges writes before they are on the platter.
    WriteCache,
    /// The drive's buffer and its segments.
    Segments,
    /// What the drive reads that nobody asked for.
    ReadAhead,
    /// A drive's cache on the platter or in flash.
    MediaCache,
    /// Spindle speed, seeks, head switches.
    Mechanics,
    /// Where sectors lie on the platters.
    Media,
    /// What the drive spends on a command, and when it writes out what it holds.
    Firmware,
    /// Weak places, recovery, and what a drive does wrong.
    Faults,
    /// What changes during the run.
    Change,
    /// In which order the layers stand.
    Order,
    /// The system whose rules calls and flushes follow.
    System,
    /// The page cache.
    PageCache,
    /// The file system, and how volumes and their files lie.
    FileSystem,
    /// How many workers there are, and when each has its turn.
    Workers,
    /// What programs do.
    Program,
    /// Requests that the work has in flight.
    Depth,
    /// Reads or writes, in sequence or at random, in which order.
    Pattern,
    /// Sizes of requests.
    Size,
    /// Where on the drive the work is done, and how much of it.
    Place,
    /// Rates and pauses of the work.
    Rate,
    /// Flushes and durable writes that the work asks for.
    Flushes,
    /// How long the work goes on.
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
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        ALL[self as usize].1
    }

    /// Its name for a reader.
    pub fn title(self) -> &'static str {
        ALL[self as usize].2
    }

    /// Belongs to what is done rather than to what it is done on.
    pub fn is_work(self) -> bool {
        self >= Workers
    }

    /// All words, in order.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(_, word, _)| *word)
    }

    /// The concern of a word.
    pub fn named(word: &str) -> Option<Concern> {
        ALL.iter().find(|(_, known, _)| *known == word).map(|(concern, ..)| *concern)
    }
}

/// A list of concerns for a reader; several are a bundle.
pub fn credited(concerns: &[Concern]) -> String {
    let titles: Vec<&str> = concerns.iter().map(|concern| concern.title()).collect();
    match titles[..] {
        [title] => title.to_owned(),
        _ => format!("a bundle: {}", titles.join(", ")),
    }
}

/// Reads the key `credit` of a comparison: `["queue", "controller"]`.
pub(crate) fn credit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Concern>>, D::Error> {
    let words = || Concern::words().collect::<Vec<_>>().join(", ");
    let toml::Value::Array(list) = toml::Value::deserialize(deserializer)? else {
        return Err(D::Error::custom(format!(
            "`credit` is not a list of concerns; expected one or more of {}",
            words()
        )));
    };
    let concern = |value: &toml::Value| {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let near = nearest(&word, Concern::words()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Concern::named(&word).ok_or(format!("unknown concern `{word}`; expected one or more of {}{near}", words()))
    };
    let mut concerns = list.iter().map(concern).collect::<Result<Vec<_>, _>>().map_err(D::Error::custom)?;
    concerns.dedup();
    match concerns.is_empty() {
        true => Err(D::Error::custom(format!("`credit` is empty; expected one or more of {}", words()))),
        false => Ok(Some(concerns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_concern_stands_at_its_place() {
        for (place, (concern, word, _)) in ALL.into_iter().enumerate() {
            assert_eq!((concern as usize, Concern::named(word)), (place, Some(concern)), "{word}");
        }
        assert!(Depth.is_work() && !Change.is_work());
        assert_eq!(credited(&[Queue]), "the command queue");
        assert_eq!(credited(&[Queue, Bus]), "a bundle: the command queue, the bus");
    }
}
