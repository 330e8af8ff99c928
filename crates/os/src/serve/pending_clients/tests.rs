//! Tests which connections are accepted, wait, or are disconnected, and when: with sockets of this program and instants
//! that the tests set.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use super::*;
use crate::live::{DiskOrder, Messages, create_inbox};
use crate::nbd::wire::option;
use crate::serve::SocketFile;

/// A hall without doors, whose clients are let in by hand.
struct Hall {
    pending: PendingClients,
    /// The disk's side.
    disk: Messages,
    book: AttendanceCounters,
}

fn hall(limit: usize) -> Hall {
    let (inbox, disk) = create_inbox().unwrap();
    let book = AttendanceCounters::default();
    book.update_counters(|counters| counters.limit = limit);
    let export = Export {
        description: String::new(),
        bytes: 1 << 20,
        smallest: 512,
        preferred: 4096,
        largest: 1 << 16,
        fast_zeroes: false,
    };
    let pending = PendingClients::new([None, None], export, inbox, book.clone()).unwrap();
    Hall { pending, disk, book }
}

impl Hall {
    /// Somebody comes; his end of the connection.
    fn comes(&mut self, is_client: bool) -> UnixStream {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        near.set_nonblocking(true).unwrap();
        self.pending.add_connection(Box::new(far), is_client);
        near
    }

    /// All who are here are ready.
    fn hears_all(&mut self) {
        let (guests, ordering) = (vec![true; self.pending.negotiating.len()], vec![true; self.pending.ordering.len()]);
        self.pending.serve_ready(&guests, &ordering);
    }
}

/// Whether the other end has hung up; what it had said before is read.
fn is_left(near: &mut UnixStream) -> bool {
    let mut all = [0; 1024];
    loop {
        match near.read(&mut all) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// A client's flags, and the option by which it goes to transmission.
fn agrees() -> Vec<u8> {
    let option_name = [&b"IHAVEOPT"[..], &option::EXPORT_NAME.to_be_bytes(), &0u32.to_be_bytes()].concat();
    [&3u32.to_be_bytes()[..], &option_name].concat()
}

#[test]
fn the_limit_is_of_those_who_are_here_and_the_first_of_them_gives_way() {
    for limit in 1..4 {
        let mut hall = hall(limit);
        let mut came: Vec<UnixStream> = (0..limit + 2).map(|_| hall.comes(true)).collect();
        let left: Vec<bool> = came.iter_mut().map(is_left).collect();
        let expected: Vec<bool> = (0..limit + 2).map(|at| at < 2).collect();
        assert_eq!((left, hall.pending.negotiating.len()), (expected, limit));
        let book = hall.book.read_counters();
        assert_eq!((book.came, book.gave_way, book.orders_turned_away), (limit as u64 + 2, 2, 0));
    }
}

#[test]
fn of_seventeen_who_are_to_give_orders_the_first_is_sent_away() {
    let mut hall = hall(1);
    let mut came: Vec<UnixStream> = (0..17).map(|_| hall.comes(false)).collect();
    let left: Vec<usize> = (0..17).filter(|&at| is_left(&mut came[at])).collect();
    assert_eq!((left, hall.pending.ordering.len()), (vec![0], 16));
    let book = hall.book.read_counters();
    assert_eq!((book.orders_turned_away, book.came, book.gave_way), (1, 0, 0), "they are no clients");
}

#[test]
fn a_guest_has_ten_seconds_to_the_nanosecond() {
    let mut hall = hall(8);
    let mut near = hall.comes(true);
    let came = hall.pending.negotiating[0].arrived;
    let last = Span::from_nanos(9_999_999_999);
    hall.pending.drop_expired(came + last);
    assert!(!is_left(&mut near) && hall.book.read_counters().expired == 0);
    hall.pending.drop_expired(came + last + Span::from_nanos(1));
    assert!(is_left(&mut near) && hall.book.read_counters().expired == 1);
    hall.pending.drop_expired(came + Span::from_secs(100));
    assert_eq!(hall.book.read_counters().expired, 1, "nobody is counted twice");
}

/// A client waits at the socket, and the disk has ended: none of its clients gives way.
#[test]
fn without_a_descriptor_a_newcomer_is_turned_away_and_without_memory_it_waits() {
    for (errno, is_turned) in
        [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::NOBUFS, false), (Errno::NOMEM, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let Hall { mut pending, disk, book } = hall(1);
        drop(disk);
        let door = UnixListener::bind(&path).unwrap();
        pending.clients = Some(ServerListener::Unix(door, SocketFile::new(&path).unwrap()));
        let error = io::Error::from(errno);
        assert!(
            !pending.make_room_to_accept(&error, true) && book.read_counters().without_descriptor == 0,
            "nobody has come"
        );
        let mut near = UnixStream::connect(&path).unwrap();
        near.set_nonblocking(true).unwrap();
        assert_eq!((pending.make_room_to_accept(&error, true), is_left(&mut near)), (is_turned, is_turned), "{errno}");
        let counted = book.read_counters();
        assert_eq!((counted.without_descriptor, counted.turned_away), (1, u64::from(is_turned)), "{errno}");
        assert_eq!((pending.reserve.is_some(), pending.paused_until.is_some()), (true, !is_turned), "{errno}");
    }
}

#[test]
fn a_client_that_has_agreed_is_the_disk_s_whatever_pieces_it_speaks_in() {
    for piece in [1, 5, 100] {
        let mut hall = hall(8);
        let (mut near, mut silent) = (hall.comes(true), hall.comes(true));
        let mut hello = [0; 18];
        near.read_exact(&mut hello).unwrap();
        assert_eq!(hello[..8], *b"NBDMAGIC");
        for bytes in agrees().chunks(piece) {
            assert!(hall.disk.try_receive().is_none(), "it has not agreed");
            near.write_all(bytes).unwrap();
            hall.hears_all();
        }
        let Some(DiskMessage::Client(mut client)) = hall.disk.try_receive() else {
            panic!("no client in pieces of {piece}")
        };
        assert!(!client.is_probe && client.transmission.wants_write(), "size and flags are still to be sent");
        client.transmission.write_to(&mut client.wire, |_, _| ()).unwrap();
        let mut told = [0; 10];
        near.read_exact(&mut told).unwrap();
        assert_eq!(told[..8], (1u64 << 20).to_be_bytes());
        assert_eq!(hall.pending.negotiating.len(), 1, "the silent one stays");
        assert!(!is_left(&mut silent));
    }
}

/// In a turn sixteen items of a client are heard: its flags and fifteen options, then options alone. None of their
/// answers waits for another turn.
#[test]
fn what_is_heard_in_a_turn_is_answered_in_it() {
    let mut hall = hall(8);
    let mut near = hall.comes(true);
    let unknown = [&b"IHAVEOPT"[..], &99u32.to_be_bytes(), &0u32.to_be_bytes()].concat();
    near.write_all(&[&3u32.to_be_bytes()[..], &unknown.repeat(40)].concat()).unwrap();
    let mut said = 0;
    for answered in [15, 31, 40, 40] {
        hall.hears_all();
        let mut piece = [0; 4096];
        while let Some(came) = near.read(&mut piece).ok().filter(|came| *came > 0) {
            said += came;
        }
        // The greeting is of 18 bytes, and the answer that there is no such option of 20.
        assert_eq!(said, 18 + 20 * answered);
    }
    assert_eq!(hall.pending.negotiating.len(), 1);
}

#[test]
fn only_who_is_ready_is_heard() {
    let mut hall = hall(8);
    let mut came = [hall.comes(true), hall.comes(true)];
    for near in &mut came {
        near.write_all(&agrees()).unwrap();
    }
    hall.pending.serve_ready(&[false, true], &[]);
    assert_eq!(hall.pending.negotiating.len(), 1);
    assert!(hall.disk.try_receive().is_some() && hall.disk.try_receive().is_none());
    hall.pending.serve_ready(&[], &[]);
    assert_eq!(hall.pending.negotiating.len(), 1, "who came meanwhile waits for the next turn");
}

#[test]
fn who_hangs_up_or_talks_nonsense_is_forgotten_and_not_counted() {
    let mut hall = hall(8);
    let (gone, mut wild, mut calm) = (hall.comes(true), hall.comes(true), hall.comes(true));
    drop(gone);
    wild.write_all(&[0xff; 4]).unwrap();
    hall.hears_all();
    assert_eq!(hall.pending.negotiating.len(), 1);
    assert!(is_left(&mut wild) && !is_left(&mut calm) && hall.disk.try_receive().is_none());
    let book = hall.book.read_counters();
    assert_eq!((book.gave_way, book.expired, book.turned_away), (0, 0, 0));
}

/// What is answered to `sent`, and the orders that the disk got.
fn ordered(sent: &[u8], ends: bool) -> (String, Vec<DiskOrder>) {
    let Hall { mut pending, disk, book } = hall(1);
    let (mut near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    pending.add_connection(Box::new(far), false);
    let disk = std::thread::spawn(move || {
        let mut orders = Vec::new();
        loop {
            match disk.try_receive() {
                Some(DiskMessage::Order(order, answer)) => {
                    orders.push(order);
                    answer.send(Ok("it is done".to_owned())).unwrap();
                }
                Some(_) => return orders,
                None => std::thread::yield_now(),
            }
        }
    });
    let mut said = Vec::new();
    for bytes in sent.chunks(200) {
        near.write_all(bytes).unwrap();
        pending.serve_ready(&[], &[true]);
    }
    if ends {
        near.shutdown(std::net::Shutdown::Write).unwrap();
    }
    for _ in 0..4 {
        pending.serve_ready(&[], &[true]);
        let mut piece = [0; 8192];
        while let Some(came) = near.read(&mut piece).ok().filter(|came| *came > 0) {
            said.extend(&piece[..came]);
        }
    }
    assert_eq!(pending.ordering.is_empty(), ends || book.read_counters().orders_turned_away > 0, "who ends is gone");
    pending.inbox.send(DiskMessage::Stop).unwrap();
    (String::from_utf8(said).unwrap(), disk.join().unwrap())
}

#[test]
fn orders_are_lines_and_each_is_answered() {
    use DiskOrder::{Cut, On, Status};
    assert_eq!(ordered(b"cut\non\n", false), ("done: it is done\ndone: it is done\n".to_owned(), vec![Cut, On]));
    // The last line may lack its end, but only where nothing more comes.
    assert_eq!(ordered(b"status", true), ("done: it is done\n".to_owned(), vec![Status]));
    assert_eq!(ordered(b"status", false), (String::new(), vec![]));
    assert_eq!(ordered(b"", true), (String::new(), vec![]));
    let (said, orders) = ordered(b"jump\ncut\n", false);
    assert!(said.starts_with("refused: `jump` is no order") && said.ends_with("\ndone: it is done\n"), "{said}");
    assert_eq!(orders, [Cut]);
}

#[test]
fn a_line_of_4096_bytes_is_an_order_and_a_longer_one_ends_the_connection() {
    let line = |length: usize| format!("set key={}", "x".repeat(length - 8)).into_bytes();
    let (said, orders) = ordered(&[line(4096), b"\n".to_vec()].concat(), false);
    assert_eq!((&*said, orders), ("done: it is done\n", vec![DiskOrder::Set("key".to_owned(), "x".repeat(4088))]));
    let (said, orders) = ordered(&line(4097), false);
    assert_eq!((&*said, orders), ("refused: a line of more than 4096 bytes; expected an order\n", vec![]));
}

#[test]
fn an_order_to_a_disk_that_has_ended_is_refused() {
    let Hall { mut pending, disk, .. } = hall(1);
    drop(disk);
    let (mut near, far) = UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    pending.add_connection(Box::new(far), false);
    near.write_all(b"cut\n").unwrap();
    // One turn reads and answers.
    pending.serve_ready(&[], &[true]);
    pending.serve_ready(&[], &[true]);
    let mut said = [0; 22];
    near.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"refused: it has ended\n");
}
