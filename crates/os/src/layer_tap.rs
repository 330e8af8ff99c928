//! A layer between a program and the disk (an NBD proxy such as `nbdkit` or `qemu-nbd`), and a tap in front of it: the
//! tap passes all bytes on and counts the flushes and forced writes that the program sends. The disk counts those that
//! arrive.
//!
//! Requests are parsed as the protocol document of NBD lays them out. Replies are not parsed: whether the layer answers
//! rightly is not asked here. An encrypted connection cannot be counted, and says so.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::kernel::{ExitCause, ShellProgram, sleep_10_ms};
use crate::nbd::wire::{FUA, HEAD, NbdCommand, OPTIONS, RequestHead};

/// The durable requests that a program sent to a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentRequests {
    /// Writes, of bytes or zeroes.
    pub writes: u64,
    /// Flushes, with or without something to flush.
    pub flushes: u64,
    /// Writes with FUA.
    pub forced: u64,
    /// Those of both that had something to make durable: a forced write, or a flush after a write that was not forced. A
    /// layer may answer the others by itself.
    pub needed: u64,
    /// Connections whose requests could not be parsed.
    pub unreadable: u64,
}

/// Parses the bytes that one client sends.
#[derive(Debug, Default)]
struct RequestParser {
    head: Vec<u8>,
    /// Bytes of a payload that are still to come.
    payload: u64,
    has_greeted: bool,
    is_unreadable: bool,
}

/// Bytes of the client's flags, which end the greeting.
const CLIENT_FLAGS: usize = 4;

/// Bytes of an option's head: its magic number, its number and the length of its data.
const OPTION_HEAD: usize = 16;

impl RequestParser {
    /// Counts the requests in the next bytes of the client. `has_unflushed` is true while some client's write waits for a flush.
    fn count(&mut self, mut bytes: &[u8], sent: &mut SentRequests, has_unflushed: &mut bool) {
        while !bytes.is_empty() && !self.is_unreadable {
            if self.payload > 0 {
                let skipped = self.payload.min(bytes.len() as u64);
                bytes = &bytes[skipped as usize..];
                self.payload -= skipped;
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            self.take_head(sent, has_unflushed);
        }
    }

    /// Takes the head of an option or a request, if it is complete.
    fn take_head(&mut self, sent: &mut SentRequests, has_unflushed: &mut bool) {
        let is_option = self.head.starts_with(&OPTIONS.to_be_bytes()[..4]);
        match self.head.len() {
            CLIENT_FLAGS if !self.has_greeted => self.has_greeted = true,
            OPTION_HEAD if is_option => {
                let length: [u8; 4] = self.head[12..].try_into().expect("four bytes");
                self.payload = u32::from_be_bytes(length).into();
            }
            HEAD => match self.head[..].try_into().ok().and_then(RequestHead::parse) {
                Some(head) => self.payload = count_request(head, sent, has_unflushed),
                None => {
                    self.is_unreadable = true;
                    sent.unreadable += 1;
                }
            },
            _ => return,
        }
        self.head.clear();
    }
}

/// Counts one request; returns the length of its payload.
fn count_request(head: RequestHead, sent: &mut SentRequests, has_unflushed: &mut bool) -> u64 {
    let is_write = matches!(head.command, NbdCommand::Write | NbdCommand::WriteZeroes);
    if is_write {
        sent.writes += 1;
        match head.flags & FUA != 0 {
            true => (sent.forced, sent.needed) = (sent.forced + 1, sent.needed + 1),
            false => *has_unflushed = true,
        }
    }
    if head.command == NbdCommand::Flush {
        sent.flushes += 1;
        sent.needed += u64::from(*has_unflushed);
        *has_unflushed = false;
    }
    if head.command == NbdCommand::Write { head.length.into() } else { 0 }
}

/// Counts of all clients, and whether a write of theirs waits for a flush.
type SharedCounts = Arc<Mutex<(SentRequests, bool)>>;

/// Runs `work` behind the layer that `command` starts, with the path of the tap's socket in `folder`; returns the result and the
/// requests that came. The layer finds the disk in its environment, and the path at which it must serve in `SEEKWISE_LAYER`.
pub fn run_behind_layer<T>(
    command: ShellProgram<'_>,
    folder: &Path,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<(T, SentRequests)> {
    let (socket, tap) = (folder.join("layer"), folder.join("tap"));
    let (is_over, counts) = (AtomicBool::new(false), SharedCounts::default());
    let mut layer = command;
    layer.environment.push(("SEEKWISE_LAYER".to_owned(), socket.display().to_string()));
    layer.bounds.stop = Some(&is_over);
    thread::scope(|scope| {
        let running = scope.spawn(|| layer.run());
        let ready = wait_for_layer(&socket, || running.is_finished());
        let result = ready.and_then(|()| {
            let listener = UnixListener::bind(&tap)?;
            let (counts, socket) = (Arc::clone(&counts), socket.clone());
            let is_over = &is_over;
            scope.spawn(move || serve_tap(&listener, &socket, &counts, is_over));
            let result = work(&tap);
            is_over.store(true, Ordering::Relaxed);
            // Wakes the tap, so that it sees the end.
            drop(UnixStream::connect(&tap));
            result
        });
        is_over.store(true, Ordering::Relaxed);
        let ended = running.join().unwrap_or_else(|_| Err(io::Error::other("the layer's thread panicked")))?;
        match result {
            Ok(value) => Ok((value, counts.lock().unwrap_or_else(PoisonError::into_inner).0)),
            // The layer's own words say more than the program that could not reach it.
            Err(error) if ended.how != ExitCause::Stopped => {
                Err(io::Error::other(format!("--layer {}: {} ({error})", ended.how, ended.printed.trim())))
            }
            Err(error) => Err(error),
        }
    })
}

/// Looks for a layer's socket, 10 ms apart: twenty seconds in all, and a proxy begins in some milliseconds.
const READY_LOOKS: usize = 2000;

/// Waits until the layer's socket takes connections.
fn wait_for_layer(socket: &Path, has_ended: impl Fn() -> bool) -> io::Result<()> {
    for _ in 0..READY_LOOKS {
        if socket.exists() {
            return Ok(());
        }
        if has_ended() {
            return Err(io::Error::other("ended; expected a proxy that serves until it is ended"));
        }
        sleep_10_ms();
    }
    Err(io::Error::other("--layer: nothing serves at SEEKWISE_LAYER after 20 s; expected a proxy there"))
}

/// Accepts clients until all is over; each gets a connection of its own to the layer.
fn serve_tap(listener: &UnixListener, socket: &PathBuf, counts: &SharedCounts, is_over: &AtomicBool) {
    for client in listener.incoming().map_while(Result::ok) {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        // Without the layer the client's connection ends, which its program reports.
        let Ok(server) = UnixStream::connect(socket) else { continue };
        let (Ok(client_reader), Ok(server_reader)) = (client.try_clone(), server.try_clone()) else { continue };
        let (mut parser, counts) = (RequestParser::default(), Arc::clone(counts));
        let count = move |bytes: &[u8]| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let (sent, has_unflushed) = &mut *counts;
            parser.count(bytes, sent, has_unflushed);
        };
        // Both end with their connections, at the latest when the program and the layer have ended.
        thread::spawn(move || pass_on(client_reader, server, count));
        thread::spawn(move || pass_on(server_reader, client, |_| ()));
    }
}

/// Passes bytes on until one side ends, and shows them to `count` before they go.
fn pass_on(mut from: UnixStream, mut to: UnixStream, mut count: impl FnMut(&[u8])) {
    /// Bytes passed on at once; NBD clients write up to 32 MiB in a request.
    const CHUNK: usize = 256 << 10;
    let mut buffer = vec![0; CHUNK];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        count(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::wire::REQUEST;

    fn request(flags: u16, command: u16, length: u32) -> Vec<u8> {
        let mut bytes = REQUEST.to_be_bytes().to_vec();
        bytes.extend([flags.to_be_bytes(), command.to_be_bytes()].concat());
        bytes.extend([0; 16]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(vec![7; if command == 1 { length as usize } else { 0 }]);
        bytes
    }

    /// Client flags, an option with five bytes of data; then a write, two flushes, a forced write, forced zeroes.
    fn session() -> Vec<u8> {
        let mut option = OPTIONS.to_be_bytes().to_vec();
        option.extend([0, 0, 0, 7, 0, 0, 0, 5, 1, 2, 3, 4, 5]);
        let requests =
            [request(0, 1, 100), request(0, 3, 0), request(0, 3, 0), request(FUA, 1, 40), request(FUA, 6, 512)];
        [vec![0, 0, 0, 3], option, requests.concat()].concat()
    }

    #[test]
    fn requests_are_counted_however_their_bytes_arrive() {
        let expected = SentRequests { writes: 3, flushes: 2, forced: 2, needed: 3, unreadable: 0 };
        for chunk in [1, 3, 28, 1000] {
            let (mut parser, mut sent, mut has_unflushed) = (RequestParser::default(), SentRequests::default(), false);
            session().chunks(chunk).for_each(|bytes| parser.count(bytes, &mut sent, &mut has_unflushed));
            assert_eq!((sent, has_unflushed), (expected, false), "{chunk} bytes at a time");
        }
    }

    #[test]
    fn bytes_that_are_no_requests_are_reported_once() {
        let (mut parser, mut sent, mut has_unflushed) = (RequestParser::default(), SentRequests::default(), false);
        parser.count(&[9; 200], &mut sent, &mut has_unflushed);
        assert_eq!(sent, SentRequests { unreadable: 1, ..SentRequests::default() });
    }
}
