//! Reads a trace ahead on a thread of its own: reading (and unpacking) goes on while requests are played. Requests come in the trace's
//! order, so the results do not depend on which of the two is faster.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::trace::{TraceEntry, TraceReader};

use crate::HAS_THREADS;

/// Requests of a bundle: enough that handing one over costs little.
const BUNDLE: usize = 4096;

/// The most bundles that wait to be played: with one being read and one being played, 2 MB.
const WAITING: usize = 4;

/// Requests of a trace.
struct EntryBundle {
    entries: Vec<TraceEntry>,
    /// The end of the trace, or a fault, after these.
    end: Option<Result<(), Diagnostic>>,
}

impl EntryBundle {
    fn read(reader: &mut TraceReader) -> EntryBundle {
        let mut entries = Vec::with_capacity(BUNDLE);
        while entries.len() < BUNDLE {
            match reader.read() {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => return EntryBundle { entries, end: Some(Ok(())) },
                Err(fault) => return EntryBundle { entries, end: Some(Err(fault)) },
            }
        }
        EntryBundle { entries, end: None }
    }
}

/// A trace that is read ahead: the requests at hand, their end, and the source of more.
pub(crate) struct TracePrefetch {
    ready: std::vec::IntoIter<TraceEntry>,
    end: Option<Result<(), Diagnostic>>,
    coming: Option<ComingBundles>,
}

/// The source of the next bundles.
enum ComingBundles {
    Thread(Receiver<EntryBundle>, JoinHandle<()>),
    /// Without threads, the reader itself.
    Reader(Box<TraceReader>),
}

impl TracePrefetch {
    /// Starts to read ahead. A trace that ends within the first bundle needs no thread.
    pub fn new(mut reader: TraceReader) -> TracePrefetch {
        let EntryBundle { entries, end } = EntryBundle::read(&mut reader);
        let coming = end.is_none().then(|| {
            if !HAS_THREADS {
                return ComingBundles::Reader(Box::new(reader));
            }
            let (sender, receiver) = sync_channel(WAITING);
            ComingBundles::Thread(receiver, thread::spawn(move || send_bundles(&mut reader, &sender)))
        });
        TracePrefetch { ready: entries.into_iter(), end, coming }
    }

    /// The next request; `None` if there is no more.
    #[inline]
    pub(crate) fn next_entry(&mut self) -> Result<Option<TraceEntry>, Diagnostic> {
        loop {
            match (self.ready.next(), &self.end) {
                (Some(entry), _) => return Ok(Some(entry)),
                (None, Some(end)) => return end.clone().map(|()| None),
                (None, None) => self.receive_bundle(),
            }
        }
    }

    fn receive_bundle(&mut self) {
        let coming = self.coming.take().expect("there until the end has come");
        let (bundle, coming) = match coming {
            ComingBundles::Reader(mut reader) => (EntryBundle::read(&mut reader), ComingBundles::Reader(reader)),
            ComingBundles::Thread(receiver, thread) => match receiver.recv() {
                Ok(bundle) => (bundle, ComingBundles::Thread(receiver, thread)),
                // The thread ends without a last bundle only if it panics.
                Err(_) => resume_unwind(thread.join().expect_err("the last bundle says that it is the last")),
            },
        };
        (self.ready, self.end) = (bundle.entries.into_iter(), bundle.end);
        self.coming = Some(coming);
    }
}

impl Drop for TracePrefetch {
    /// A run that ends before its trace leaves no thread behind.
    fn drop(&mut self) {
        if let Some(ComingBundles::Thread(receiver, thread)) = self.coming.take() {
            drop(receiver);
            let _ = thread.join();
        }
    }
}

/// Sends all further bundles, until the receiver is gone.
fn send_bundles(reader: &mut TraceReader, sender: &SyncSender<EntryBundle>) {
    loop {
        let bundle = EntryBundle::read(reader);
        let is_last = bundle.end.is_some();
        if sender.send(bundle).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_formats::trace::{TraceReadOptions, open};
    use std::fmt::Write;

    fn reader(rows: usize, last: &str) -> TraceReader {
        let mut text = String::new();
        (0..rows).for_each(|row| writeln!(text, "0,{},4096,R,{row}.5", row * 8).unwrap());
        text.push_str(last);
        open(vec![("t".to_owned(), Box::new(std::io::Cursor::new(text)))], &TraceReadOptions::default()).unwrap()
    }

    #[test]
    fn what_is_read_ahead_is_what_is_read() {
        for rows in [1, BUNDLE - 1, BUNDLE, BUNDLE + 1, 20 * BUNDLE + 7] {
            let (mut plain, mut ahead) = (reader(rows, ""), TracePrefetch::new(reader(rows, "")));
            while let Some(entry) = plain.read().unwrap() {
                assert_eq!(ahead.next_entry().unwrap(), Some(entry));
            }
            assert_eq!((ahead.next_entry().unwrap(), ahead.next_entry().unwrap()), (None, None), "{rows}");
        }
    }

    #[test]
    fn a_fault_comes_after_what_was_good_and_stays() {
        // A request is delivered when the window is full: by the last good row all but a window's are, and the one that
        // made room.
        let rows = seekwise_formats::trace::WINDOW + 3 * BUNDLE;
        let mut ahead = TracePrefetch::new(reader(rows, "0,8,4096,X,1e7\n"));
        let mut good = 0;
        let fault = loop {
            match ahead.next_entry() {
                Ok(entry) => good += usize::from(entry.is_some()),
                Err(fault) => break fault,
            }
        };
        assert_eq!(good, 3 * BUNDLE + 1);
        assert!(fault.to_string().starts_with(&format!("t:{}: ", rows + 1)), "{fault}");
        assert_eq!(ahead.next_entry().unwrap_err(), fault);
    }

    #[test]
    fn a_trace_that_is_not_played_to_its_end_leaves_nothing() {
        let mut ahead = TracePrefetch::new(reader(60 * BUNDLE, ""));
        assert!(ahead.next_entry().unwrap().is_some());
        drop(ahead);
    }
}
