//! One client: a thread that reads its requests and one that writes its replies. What it may have outstanding is bounded,
//! in bytes: a client that asks and never reads makes its own reader wait, nobody else's.

use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::clock::take_precedence;

use super::negotiation::{ALLOCATION_ID, Export, Negotiated, negotiate, skip};
use super::wire::{self, Command, HEAD, Head, error};

/// Bytes of requests and replies that a client may have here at once: two of the largest requests.
const BUDGET: usize = 64 << 20;

/// Bytes that are taken off a connection at once, where so many are there: many heads, or one small write.
const READ: usize = 64 << 10;

/// What a request costs of that beside its data.
const REQUEST: usize = 256;

/// A request as it came, checked against the export's bounds.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub head: Head,
    /// What is to be written.
    pub data: Vec<u8>,
    /// How it is answered. Dropped without an answer it says that the server is shutting down.
    pub reply: Reply,
}

/// The way back to whoever asked.
pub struct Reply {
    way: Option<Way>,
}

/// Takes the outcome to whoever asked.
type Way = Box<dyn FnOnce(Result<Given, u32>) + Send>;

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

/// What a client's writer writes, and how much it frees by that.
#[derive(Debug)]
struct Answer {
    head: Head,
    outcome: Result<Given, u32>,
    cost: usize,
}

/// What a request that went well is answered with.
#[derive(Debug)]
pub enum Given {
    /// What was read; nothing of others.
    Bytes(Vec<u8>),
    /// What is allocated, as bytes and flags of `base:allocation`.
    Extents(Vec<(u32, u32)>),
}

impl Reply {
    /// Goes by `way`.
    pub fn new(way: impl FnOnce(Result<Given, u32>) + Send + 'static) -> Reply {
        Reply { way: Some(Box::new(way)) }
    }

    fn send(&mut self, outcome: Result<Given, u32>) {
        if let Some(way) = self.way.take() {
            way(outcome);
        }
    }

    /// It is done; `data` is what was read.
    pub fn done(mut self, data: Vec<u8>) {
        self.send(Ok(Given::Bytes(data)));
    }

    /// What is allocated.
    pub fn extents(mut self, extents: Vec<(u32, u32)>) {
        self.send(Ok(Given::Extents(extents)));
    }

    /// It went wrong ([`wire::error`]).
    pub fn failed(mut self, error: u32) {
        self.send(Err(error));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send(Err(error::SHUTDOWN));
    }
}

/// Bytes that are taken.
#[derive(Default)]
struct Budget {
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Budget {
    /// True where nobody would have to wait for these.
    fn has_room(&self, bytes: usize) -> bool {
        let taken = *self.lock();
        taken == 0 || taken + bytes <= BUDGET
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room. What is larger than all goes alone.
    fn take(&self, bytes: usize) {
        let mut taken = self.lock();
        while *taken > 0 && *taken + bytes > BUDGET {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
    }

    fn free(&self, bytes: usize) {
        *self.lock() -= bytes;
        self.freed.notify_one();
    }
}

/// Serves a client until it leaves: `ask` takes the requests that make sense, those together that came together.
/// `stream` and `back` are the two ways of one connection.
pub fn serve(
    mut stream: impl Read + Write,
    mut back: impl Write + Send,
    export: &Export,
    mut ask: impl FnMut(Vec<Asked>),
) -> io::Result<()> {
    let Some(negotiated) = negotiate(&mut stream, export)? else { return Ok(()) };
    let budget = Arc::new(Budget::default());
    let (answers, written) = channel();
    thread::scope(|scope| {
        let freed = Arc::clone(&budget);
        let writer = scope.spawn(move || {
            take_precedence();
            write_all(&mut back, &written, &freed, negotiated)
        });
        let mut stream = BufReader::with_capacity(READ, stream);
        let mut batch = Batch { asked: Vec::new(), ask: &mut ask };
        let read = read_all(&mut stream, export, negotiated, &budget, &answers, &mut batch);
        batch.hand_over();
        // The writer ends when the last request is answered.
        drop(answers);
        let wrote = writer.join().unwrap_or_else(|_| Err(io::Error::other("a writer panicked")));
        read.and(wrote)
    })
}

fn write_all(
    back: &mut impl Write,
    answers: &Receiver<Answer>,
    budget: &Budget,
    negotiated: Negotiated,
) -> io::Result<()> {
    /// Bytes that are gathered to go at once: what a socket takes at once or less.
    const GATHERED: usize = 128 << 10;
    let mut result = Ok(());
    let mut out = Vec::new();
    while let Ok(first) = answers.recv() {
        // What else is there goes with it: a system call costs more than a reply.
        let mut cost = 0;
        let mut next = Some(first);
        while let Some(answer) = next {
            put(&mut out, &answer, negotiated);
            cost += answer.cost;
            next = if out.len() < GATHERED { answers.try_recv().ok() } else { None };
        }
        if result.is_ok() {
            result = back.write_all(&out);
        }
        out.clear();
        // Also for a client that is gone: its reader must come to its end.
        budget.free(cost);
    }
    result
}

/// An answer's bytes.
fn put(out: &mut Vec<u8>, answer: &Answer, negotiated: Negotiated) {
    let Head { command, cookie, offset, .. } = answer.head;
    let chunks = negotiated.structured && matches!(command, Command::Read | Command::BlockStatus);
    out.extend(match &answer.outcome {
        Err(error) if chunks => wire::error_chunk(cookie, *error),
        Err(error) => wire::simple(*error, cookie),
        Ok(Given::Extents(extents)) => wire::status_chunk(cookie, ALLOCATION_ID, extents),
        Ok(Given::Bytes(data)) if chunks => wire::data_chunk(cookie, offset, data),
        Ok(Given::Bytes(_)) => wire::simple(0, cookie),
    });
    if let (Ok(Given::Bytes(data)), false) = (&answer.outcome, chunks) {
        out.extend(data);
    }
}

/// Requests that came together: whoever takes them is woken once.
struct Batch<'a, A: FnMut(Vec<Asked>)> {
    asked: Vec<Asked>,
    ask: &'a mut A,
}

impl<A: FnMut(Vec<Asked>)> Batch<'_, A> {
    fn hand_over(&mut self) {
        if !self.asked.is_empty() {
            (self.ask)(std::mem::take(&mut self.asked));
        }
    }
}

/// Nothing is waited for, neither the client nor room, while requests are kept back.
fn read_all<A: FnMut(Vec<Asked>)>(
    stream: &mut BufReader<impl Read>,
    export: &Export,
    negotiated: Negotiated,
    budget: &Budget,
    answers: &Sender<Answer>,
    batch: &mut Batch<'_, A>,
) -> io::Result<()> {
    loop {
        if stream.buffer().len() < HEAD {
            batch.hand_over();
        }
        let mut bytes = [0; HEAD];
        match stream.read_exact(&mut bytes) {
            Err(gone) if gone.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let Some(head) = Head::parse(&bytes) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what came is no request"));
        };
        if head.command == Command::Disconnect {
            return Ok(());
        }
        let fault = fault(&head, export, negotiated);
        let carries = head.command == Command::Write;
        let holds = matches!(head.command, Command::Read | Command::Write) && fault.is_none();
        let cost = REQUEST + if holds { head.length as usize } else { 0 };
        let comes = if carries { head.length as usize } else { 0 };
        if stream.buffer().len() < comes || !budget.has_room(cost) {
            batch.hand_over();
        }
        budget.take(cost);
        let mut data = Vec::new();
        match (carries, fault) {
            (true, None) => {
                data = vec![0; head.length as usize];
                stream.read_exact(&mut data)?;
            }
            (true, Some(_)) => skip(stream, u64::from(head.length))?,
            _ => {}
        }
        let answers = answers.clone();
        // The client may be gone.
        let reply = Reply::new(move |outcome| drop(answers.send(Answer { head, outcome, cost })));
        match fault {
            Some(error) => reply.failed(error),
            None => batch.asked.push(Asked { head, data, reply }),
        }
    }
}

/// What is wrong with a request, as an error of the protocol.
fn fault(head: &Head, export: &Export, negotiated: Negotiated) -> Option<u32> {
    let within = head.offset.checked_add(u64::from(head.length)).is_some_and(|end| end <= export.bytes);
    let aligned = (head.offset | u64::from(head.length)).is_multiple_of(u64::from(export.smallest));
    let range = match () {
        () if head.length == 0 || !aligned => Some(error::INVALID),
        () if !within && matches!(head.command, Command::Write | Command::WriteZeroes) => Some(error::NO_SPACE),
        () if !within => Some(error::INVALID),
        () => None,
    };
    match head.command {
        Command::Read | Command::Write if head.length > export.largest => Some(error::INVALID),
        Command::Read | Command::Write | Command::Trim | Command::WriteZeroes => range,
        Command::BlockStatus if !negotiated.status => Some(error::INVALID),
        Command::BlockStatus => range,
        // It is of all that there is, and says so by naming nothing.
        Command::Flush if (head.offset, head.length) != (0, 0) => Some(error::INVALID),
        Command::Flush | Command::Disconnect => None,
        Command::Unknown(_) => Some(error::INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export() -> Export {
        Export { description: String::new(), bytes: 1 << 20, smallest: 512, preferred: 4096, largest: 1 << 16 }
    }

    fn of(command: Command, offset: u64, length: u32) -> Head {
        Head { command, flags: 0, cookie: 1, offset, length }
    }

    #[test]
    fn requests_are_held_against_the_export() {
        let plain = Negotiated::default();
        let said = |head: Head| fault(&head, &export(), plain);
        assert_eq!(said(of(Command::Read, 0, 4096)), None);
        assert_eq!(said(of(Command::Read, 0, 0)), Some(error::INVALID));
        assert_eq!(said(of(Command::Read, 100, 512)), Some(error::INVALID));
        assert_eq!(said(of(Command::Read, 0, 1 << 17)), Some(error::INVALID));
        assert_eq!(said(of(Command::Write, (1 << 20) - 512, 1024)), Some(error::NO_SPACE));
        assert_eq!(said(of(Command::Read, u64::MAX - 511, 512)), Some(error::INVALID));
        assert_eq!(said(of(Command::Trim, 0, 1 << 20)), None, "no bytes come with it");
        assert_eq!(said(of(Command::BlockStatus, 0, 512)), Some(error::INVALID), "not agreed upon");
        assert_eq!(said(of(Command::Flush, 0, 0)), None);
        assert_eq!(said(of(Command::Flush, 0, 512)), Some(error::INVALID), "it would never be over");
        assert_eq!(said(of(Command::Unknown(77), 0, 512)), Some(error::INVALID));
    }

    #[test]
    fn what_is_larger_than_all_goes_alone() {
        let budget = Budget::default();
        budget.take(2 * BUDGET);
        budget.free(2 * BUDGET);
        budget.take(1);
        assert_eq!(*budget.lock(), 1);
    }
}
