//! The network block device protocol fuzzed from both ends, for the fuzz targets and for the test on stable: each entry takes
//! any bytes as what the other end sent, and must return.
#![allow(dead_code, reason = "each fuzz target uses one entry")]

use std::io::{self, Cursor, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use seekwise_disk::block::{Device, Flags, Op, Request, SECTOR, Status};
use seekwise_disk::time::{Instant, Span};
use seekwise_os::nbd::wire::{NbdCommand, RequestHead, error};
use seekwise_os::nbd::{self, Export, NbdClient, Transmission};

/// A small disk: bounds are near.
fn export() -> Export {
    Export {
        description: "fuzz".to_owned(),
        bytes: 1 << 20,
        smallest: 512,
        preferred: 4096,
        largest: 1 << 16,
        fast_zeroes: false,
    }
}

/// What a client sent, and a place for what it is answered.
struct Talk<'a>(Cursor<&'a [u8]>);

impl Read for Talk<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Talk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server that answers at once hears any bytes from its client, in pieces that depend on them. Returns how many requests it took.
pub(crate) fn server(data: &[u8]) -> usize {
    let mut talk = Talk(Cursor::new(data));
    // A client that is wrong is told so or left, and costs no panic.
    let Ok(Some(negotiated)) = nbd::negotiate(&mut talk, &export()) else { return 0 };
    let mut line = Transmission::new(export(), negotiated);
    let rest = &data[talk.0.position() as usize..];
    let piece = 1 + rest.iter().map(|&byte| usize::from(byte)).sum::<usize>() % 5000;
    let mut taken = 0;
    for mut piece in rest.chunks(piece) {
        while line.wants_read() && !piece.is_empty() {
            line.read_from(&mut piece).expect("no connection fails here");
            taken += answer_all(&mut line);
        }
    }
    line.read_from(&mut &[][..]).expect("no connection fails here");
    assert!(line.next_request().is_none() && line.is_over(), "it has an end");
    taken
}

/// Answers what was heard. Returns how many requests that were.
fn answer_all(line: &mut Transmission) -> usize {
    let mut taken = 0;
    while let Some((head, data)) = line.next_request() {
        answer(line, &head, &data);
        taken += 1;
    }
    line.write_to(&mut io::sink(), |_, _| panic!("all was heard")).expect("no connection fails here");
    taken
}

/// Holds a request against the disk's bounds and answers it.
fn answer(line: &mut Transmission, head: &RequestHead, data: &[u8]) {
    let length = head.length as usize;
    let end = head.offset.checked_add(u64::from(head.length)).expect("a request that is passed on has an end");
    let bounded = if head.command == NbdCommand::Flush { end == 0 } else { end <= export().bytes && length > 0 };
    assert!(bounded, "{head:?} is no request of this disk");
    let carried = if head.command == NbdCommand::Write { length } else { 0 };
    assert_eq!(data.len(), carried, "{head:?}");
    match head.command {
        NbdCommand::BlockStatus => line.answer_extents(head, &[(head.length, 0)]),
        NbdCommand::Trim => line.answer_failed(head, error::SHUTDOWN),
        _ => line.answer_done(head, |_| Ok(())),
    }
}

/// A client hears any bytes from its server, and comes to an end for each of its requests. Returns how many were done.
pub(crate) fn client(data: &[u8]) -> usize {
    // What fits a socket's memory, so that no second thread is needed.
    let data = &data[..data.len().min(32 << 10)];
    let (near, mut far) = UnixStream::pair().expect("a pair of sockets");
    far.write_all(data).expect("room in the socket");
    far.shutdown(Shutdown::Write).expect("an end");
    let Ok(mut client) = NbdClient::connect(Box::new(near), "disk") else { return 0 };
    let limits = client.limits();
    assert!(limits.sectors > 0 && limits.max_transfer > 0 && limits.logical <= limits.physical, "{limits:?}");
    let operations = [Op::Read, Op::Write, Op::Flush, Op::Trim, Op::WriteZeroes];
    let mut asked = 0;
    for (tag, op) in operations.into_iter().enumerate() {
        let sectors = if op == Op::Flush { 0 } else { limits.logical / SECTOR as u32 };
        let tag = tag as u32;
        let stamp = u64::from(tag) + 1;
        let request = Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba: 0, sectors, stamp };
        asked += usize::from(client.submit(Instant::ZERO, request).is_ok());
    }
    let (mut ended, mut done) = (0, 0);
    let mut now = Instant::ZERO;
    while ended < asked {
        now += Span::from_nanos(1);
        client.handle_timeout(now);
        while let Some(completion) = client.poll_completion() {
            ended += 1;
            done += usize::from(completion.status == Status::Done);
        }
    }
    done
}

/// A session that goes well, as a client sends it: a seed for changes.
pub(crate) fn client_bytes() -> Vec<u8> {
    let mut out = 3u32.to_be_bytes().to_vec();
    let mut option = |number: u32, data: &[u8]| {
        out.extend(0x4948_4156_454f_5054u64.to_be_bytes());
        out.extend(number.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
    };
    // The only export has no name.
    let name = 0u32.to_be_bytes();
    let context = [&name[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
    option(8, &[]);
    option(3, &[]);
    option(9, &context);
    option(10, &context);
    let export = [&name[..], &[0, 1, 0, 3]].concat();
    option(6, &export);
    option(7, &export);
    let requests = [(0u16, 0u64, 4096u32), (1, 4096, 512), (3, 0, 0), (4, 0, 8192), (6, 512, 1024), (7, 0, 65_536)];
    for (cookie, (command, offset, length)) in (1u64..).zip(requests) {
        out.extend(0x2560_9513u32.to_be_bytes());
        out.extend([0, (command & 1) as u8]);
        out.extend(command.to_be_bytes());
        out.extend(cookie.to_be_bytes());
        out.extend(offset.to_be_bytes());
        out.extend(length.to_be_bytes());
        out.extend(vec![7; if command == 1 { length as usize } else { 0 }]);
    }
    out.extend(0x2560_9513u32.to_be_bytes());
    out.extend([0, 0, 0, 2]);
    out.extend([0; 20]);
    out
}

/// The same as a server sends it.
pub(crate) fn server_bytes() -> Vec<u8> {
    let mut out = 0x4e42_444d_4147_4943u64.to_be_bytes().to_vec();
    out.extend(0x4948_4156_454f_5054u64.to_be_bytes());
    out.extend(3u16.to_be_bytes());
    let mut answer = |kind: u32, data: &[u8]| {
        out.extend(0x0003_e889_0455_65a9u64.to_be_bytes());
        out.extend(7u32.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
    };
    answer(3, &[&[0, 0][..], &(1u64 << 20).to_be_bytes(), &0x17du16.to_be_bytes()].concat());
    answer(3, &[&[0, 3][..], &512u32.to_be_bytes(), &4096u32.to_be_bytes(), &65_536u32.to_be_bytes()].concat());
    answer(1, &[]);
    for cookie in 1u64..=5 {
        out.extend(0x6744_6698u32.to_be_bytes());
        out.extend(0u32.to_be_bytes());
        out.extend(cookie.to_be_bytes());
        out.extend(vec![7; if cookie == 1 { 512 } else { 0 }]);
    }
    out
}
