//! Tests of a served disk from a client's side: data, flushes, power cuts, refusals, several connections. The tests
//! wait on the clock, as served disks do; none judges a time.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};

use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::flash::{Flash, FlashSpec};
use seekwise_disk::history::HistoryEvent;
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::driver::DriverSpec;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::{Layer, Stack};
use seekwise_disk::time::Span;
use seekwise_os::bytes::{Bytes, PlatterMedium};
use seekwise_os::chronicle::Chronicle;
use seekwise_os::live::{Caller, Connection, CutPlan, DiskMessage, DiskRequest, LiveDisk, MemoryRoom, ReplyTo};
use seekwise_os::nbd::wire::{self, HEAD, NbdCommand, RequestHead, error};
use seekwise_os::nbd::{Export, Transmission, TransmissionTerms};
use seekwise_os::null::NullDevice;

use crate::served::{Client, DISCONNECT, READ, Server, WRITE, WRITE_ZEROES, drive};

#[test]
fn a_cut_loses_what_was_cached_and_nothing_that_was_flushed_or_forced() {
    let server = Server::of("cut", &drive(), None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 4096), 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(client.write(wire::FUA, 8192, 2, 4096), 0);
    assert_eq!(client.write(0, 16_384, 3, 4096), 0);
    assert_eq!(client.read(16_384, 4096), Ok(3), "a read sees what was accepted");
    let said = server.order("cut");
    assert!(said.contains("4096 acknowledged bytes were not on the medium"), "{said}");
    assert_eq!(client.read(0, 4096), Err(error::IO), "the power is gone");
    assert!(server.order("on").starts_with("power is back"));
    assert_eq!(client.read(0, 4096), Ok(1));
    assert_eq!(client.read(8192, 4096), Ok(2));
    assert_eq!(client.read(16_384, 4096), Ok(0), "acknowledged, and lost");
    let receipt = server.end();
    assert_eq!((receipt.cuts, receipt.writes, receipt.flushes), (1, 3, 1));
}

#[test]
fn a_drive_without_fua_forces_a_write_by_a_flush() {
    let mut drive = drive();
    drive.link.fua = false;
    let server = Server::of("fua", &drive, None);
    let mut client = server.client();
    assert_eq!(client.write(wire::FUA, 0, 7, 65_536), 0);
    server.order("cut");
    server.order("on");
    assert_eq!(client.read(0, 65_536), Ok(7));
    server.end();
}

#[test]
fn a_cut_comes_where_it_was_planned() {
    let server = Server::of("planned", &drive(), Some(CutPlan::Flush(2)));
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 4096), 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(client.write(0, 0, 2, 4096), 0);
    assert_eq!(client.flush(), error::IO);
    server.order("on");
    assert_eq!(client.read(0, 4096), Ok(1));
    assert_eq!(server.end().cuts, 1);
}

#[test]
fn a_flush_of_one_connection_covers_the_writes_of_all() {
    let server = Server::of("several", &drive(), None);
    let (mut one, mut other) = (server.client(), server.client());
    assert_eq!(one.write(0, 4096, 9, 4096), 0);
    assert_eq!(other.flush(), 0);
    server.order("cut");
    server.order("on");
    assert_eq!(one.read(4096, 4096), Ok(9));
    server.end();
}

#[test]
fn what_makes_no_sense_is_refused_and_the_rest_goes_on() {
    let server = Server::of("refused", &drive(), None);
    let mut client = server.client();
    let end = 512 * Stack::bare(drive().profile()).sectors();
    assert_eq!(client.read(end, 512), Err(error::INVALID));
    assert_eq!(client.write(0, end - 512, 1, 1024), error::NO_SPACE);
    assert_eq!(client.write(0, 7, 1, 512), error::INVALID);
    assert_eq!(client.read(0, 0), Err(error::INVALID));
    client.send(77, 0, 0, 0, &[]);
    assert_eq!(client.error(), error::INVALID);
    assert_eq!(client.write(0, 0, 5, 4096), 0);
    client.send(WRITE_ZEROES, 0, 0, 2048, &[]);
    assert_eq!(client.error(), 0);
    assert_eq!((client.read(0, 2048), client.read(2048, 2048)), (Ok(0), Ok(5)));
    assert!(server.order("dance").contains("expected cut, off, on, reset"));
    client.send(DISCONNECT, 0, 0, 0, &[]);
    assert_eq!(client.stream.read(&mut [0]).unwrap(), 0, "both go");
    // One who talks nonsense is left, the others are not.
    let mut rude = server.client();
    rude.stream.write_all(&[0; HEAD]).unwrap();
    assert_eq!(rude.stream.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.client().read(2048, 2048), Ok(5));
    server.end();
}

#[test]
fn a_switched_off_disk_has_written_everything() {
    let server = Server::of("off", &drive(), None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 4, 16_384), 0);
    assert!(server.order("off").starts_with("switched off"));
    let said = server.order("status");
    assert!(said.contains("power off") && said.contains("; 0 bytes not yet on the medium"), "{said}");
    server.order("on");
    assert_eq!(client.read(0, 16_384), Ok(4));
    server.end();
}

#[test]
fn requests_beyond_the_drive_s_depth_wait_their_turn() {
    let server = Server::of("deep", &drive(), None);
    let mut client = server.client();
    for block in 0..64u64 {
        client.send(WRITE, 0, block * 4096, 4096, &[block as u8; 4096]);
    }
    assert!((0..64).all(|_| client.error() == 0));
    assert!((0..64u64).all(|block| client.read(block * 4096, 4096) == Ok(block as u8)));
    let receipt = server.end();
    assert_eq!((receipt.reads, receipt.writes, receipt.failures), (64, 64, 0));
    assert_eq!(receipt.lateness.count(), 128);
}

fn array(level: RaidLevel, lost: u64) -> Vec<Layer> {
    vec![Layer::Array(ArraySpec {
        members: if level == RaidLevel::Raid6 { 4 } else { 3 },
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 16,
        depth: 32,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::First,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost,
        bitmap: None,
    })]
}

#[test]
fn an_array_keeps_what_was_flushed_and_loses_what_its_drives_held() {
    for level in [RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid5] {
        let server = Server::under("array", &drive(), array(level, 0), None);
        let mut client = server.client();
        assert_eq!(client.write(0, 0, 1, 65_536), 0);
        assert_eq!(client.flush(), 0);
        assert_eq!(client.write(0, 65_536, 2, 8192), 0);
        assert_eq!((client.read(0, 65_536), client.read(65_536, 8192)), (Ok(1), Ok(2)));
        server.order("cut");
        server.order("on");
        assert_eq!(client.read(0, 65_536), Ok(1), "{level:?}");
        assert_eq!(client.read(65_536, 8192), Ok(0), "{level:?}");
        server.end();
    }
}

#[test]
fn an_array_without_a_drive_has_all_its_data_until_one_too_many_is_lost() {
    for (level, lost) in [
        (RaidLevel::Raid1, 1),
        (RaidLevel::Raid5, 1),
        (RaidLevel::Raid5, 2),
        (RaidLevel::Raid5, 4),
        (RaidLevel::Raid6, 1),
    ] {
        // It begins without one, or loses it on the way.
        for at_first in [true, false] {
            let server = Server::under("degraded", &drive(), array(level, if at_first { lost } else { 0 }), None);
            let mut client = server.client();
            assert_eq!(client.write(0, 0, 1, 65_536), 0);
            if !at_first {
                assert!(server.order(&format!("set array.lose={}", lost.trailing_zeros())).contains("from"));
            }
            assert_eq!(client.write(wire::FUA, 65_536, 2, 65_536), 0);
            assert_eq!(client.flush(), 0);
            let case = format!("{level:?} {lost} {at_first}");
            assert_eq!((client.read(0, 65_536), client.read(65_536, 65_536)), (Ok(1), Ok(2)), "{case}");
            let status = server.order("status");
            assert!(
                status.contains("; 0 bytes not yet on the medium, 0 of them acknowledged; without drives"),
                "{case}: {status}"
            );
            assert!(server.order("cut").contains("replace the drive and wait"), "{case}");
            assert!(server.order("off").starts_with("switched off"));
            server.order("on");
            assert_eq!((client.read(0, 65_536), client.read(65_536, 65_536)), (Ok(1), Ok(2)), "{case}");
            server.end();
        }
    }
    let server = Server::under("too-many", &drive(), array(RaidLevel::Raid5, 0), None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 65_536), 0);
    server.order("set array.lose=0");
    server.order("set array.lose=1");
    assert_eq!(client.read(0, 65_536), Err(error::IO), "two of three are lost");
    server.end();
}

#[test]
fn a_replaced_drive_is_rebuilt_and_the_power_may_fail_again() {
    let server = Server::under("rebuilt", &drive(), array(RaidLevel::Raid5, 0), None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 65_536), 0);
    server.order("set array.lose=0");
    assert_eq!(client.write(0, 65_536, 2, 65_536), 0);
    assert!(server.order("set array.replace=0").contains("from"));
    while server.order("status").contains("without drives") {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(client.flush(), 0);
    }
    assert_eq!(client.write(0, 131_072, 3, 8192), 0);
    assert!(server.order("cut").starts_with("power cut"));
    server.order("on");
    assert_eq!((client.read(0, 65_536), client.read(65_536, 65_536)), (Ok(1), Ok(2)));
    assert_eq!(client.read(131_072, 8192), Ok(0), "cached, and lost");
    server.end();
}

#[test]
fn what_all_drives_had_flushed_outlives_a_cut_without_one_of_them() {
    for level in [RaidLevel::Raid1, RaidLevel::Raid5] {
        let stack = Stack { layers: array(level, 0), ..Stack::bare(drive().profile()) };
        let server = Server::begin("flushed", stack.sectors() * 512, move || {
            LiveDisk::new(stack.build(Seed(1)), Bytes::default(), 1.0, None).with_cut_history(&stack)
        });
        let mut client = server.client();
        assert_eq!((client.write(0, 0, 1, 65_536), client.flush()), (0, 0));
        let status = server.order("status");
        assert!(status.contains("; 0 bytes kept for cuts"), "{level:?}: nothing is at risk: {status}");
        assert!(server.order("set array.lose=0").contains("from"));
        let said = server.order("cut");
        assert!(said.starts_with("power cut at"), "{level:?}: {said}");
        server.order("on");
        assert_eq!(client.read(0, 65_536), Ok(1), "{level:?}");
        server.end();
    }
}

#[test]
fn a_drive_that_lies_is_found_out_by_a_cut() {
    for lie in ["honest", "ignores FUA", "acknowledges flushes early"] {
        let mut drive = drive();
        drive.faults.ignores_fua = lie == "ignores FUA";
        drive.faults.early_flush = lie == "acknowledges flushes early";
        let server = Server::of("lies", &drive, None);
        let mut client = server.client();
        assert_eq!(client.write(0, 0, 1, 4096), 0);
        assert_eq!(client.flush(), 0);
        let status = server.order("status");
        server.order("cut");
        server.order("on");
        assert_eq!(client.read(0, 4096), Ok(u8::from(lie != "acknowledges flushes early")), "{lie}: {status}");
        assert_eq!(client.write(wire::FUA, 8192, 2, 4096), 0);
        server.order("cut");
        server.order("on");
        assert_eq!(client.read(8192, 4096), Ok(if lie == "ignores FUA" { 0 } else { 2 }), "{lie}");
        server.end();
    }
}

#[test]
fn a_weak_place_fails_until_it_is_written_and_only_where_the_drive_gives_up() {
    for limit in [None, Some(Span::from_millis(20))] {
        let mut drive = drive();
        drive.weak = vec![WeakBlocks { lba: 64, sectors: 1, retries: 5 }];
        drive.firmware.recovery_limit = limit;
        let server = Server::of("weak", &drive, None);
        let mut client = server.client();
        // Five tries of 8.3 ms.
        let read = client.read(32_768, 4096);
        assert_eq!(read, if limit.is_some() { Err(error::IO) } else { Ok(0) });
        assert_eq!(client.read(0, 4096), Ok(0), "its neighbours can be read");
        assert_eq!(client.write(0, 32_768, 9, 4096), 0);
        assert_eq!(client.flush(), 0);
        assert_eq!(client.read(32_768, 4096), Ok(9));
        assert_eq!(server.end().failures, u64::from(limit.is_some()));
    }
}

#[test]
fn a_command_that_takes_too_long_fails_after_its_retries() {
    let mut drive = drive();
    drive.weak = vec![WeakBlocks { lba: 64, sectors: 1, retries: 1000 }];
    let driver = DriverSpec { timeout: Some(Span::from_millis(100)), retries: 2, ..DriverSpec::default() };
    let server = Server::under("timeout", &drive, vec![Layer::Driver(driver)], None);
    let mut client = server.client();
    assert_eq!(client.read(0, 4096), Ok(0));
    assert_eq!(client.read(32_768, 4096), Err(error::IO), "8.3 s, and a tenth of a second is given three times");
    assert_eq!(client.read(0, 4096), Ok(0), "the drive was reset and goes on");
    assert_eq!(server.end().failures, 1);
}

#[test]
fn a_reset_of_the_link_aborts_what_is_under_way_and_keeps_what_is_cached() {
    let mut drive = drive();
    drive.weak = vec![WeakBlocks { lba: 64, sectors: 1, retries: 1000 }];
    let server = Server::of("reset", &drive, None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 3, 4096), 0);
    client.send(READ, 0, 32_768, 4096, &[]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(server.order("reset").starts_with("the link was reset"));
    assert_eq!(client.error(), error::IO);
    assert_eq!(client.read(0, 4096), Ok(3));
    assert_eq!(client.flush(), 0);
    server.order("cut");
    server.order("on");
    assert_eq!(client.read(0, 4096), Ok(3));
    server.end();
}

#[test]
fn a_client_that_never_reads_and_one_that_dies_hold_nobody_up() {
    let server = Server::of("deaf", &drive(), None);
    let deaf = server.client();
    // More answers than a socket and the server's own bound hold would be 64 MiB; its reader stops asking.
    let mut sends = deaf.stream.try_clone().unwrap();
    sends.set_write_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    let mut asked = 0;
    let mut head = wire::REQUEST.to_be_bytes().to_vec();
    head.extend([0, 0, 0, 0]);
    head.extend([7; 8]);
    head.extend(0u64.to_be_bytes());
    head.extend(4096u32.to_be_bytes());
    while asked < 100_000 && sends.write_all(&head).is_ok() {
        asked += 1;
    }
    assert!(asked < 100_000, "it is made to wait");
    let mut other = server.client();
    assert_eq!((other.write(0, 4096, 6, 4096), other.read(4096, 4096)), (0, Ok(6)));
    // Killed between a request's head and its data.
    let mut dying = server.client();
    dying.stream.write_all(&head[..20]).unwrap();
    drop(dying);
    drop((deaf, sends));
    assert_eq!(other.flush(), 0);
    server.end();
}

#[test]
fn a_client_that_asks_for_more_than_is_held_for_it_gets_all_of_it() {
    let server = Server::at_once("much");
    let mut client = server.client();
    let mut sends = client.stream.try_clone().unwrap();
    // 256 MiB; 64 are held at once.
    const READS: usize = 256;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let numbers = [&wire::REQUEST.to_be_bytes()[..], &[0; 4], &[7; 8], &0u64.to_be_bytes()].concat();
            for _ in 0..READS {
                sends.write_all(&[&numbers[..], &(1u32 << 20).to_be_bytes()].concat()).unwrap();
            }
        });
        let mut data = vec![0; 1 << 20];
        for _ in 0..READS {
            assert_eq!(client.error(), 0);
            client.stream.read_exact(&mut data).unwrap();
        }
    });
    assert_eq!(server.end().reads, READS as u64);
}

#[test]
fn the_way_is_measured_while_clients_are_answered() {
    let server = Server::of("way", &drive(), None);
    let mut client = server.client();
    // A client of the server's own goes it forty times a second, and counts where somebody was answered meanwhile.
    let told = (0..400).any(|_| {
        (0..5).for_each(|_| assert_eq!(client.read(0, 4096), Ok(0)));
        std::thread::sleep(std::time::Duration::from_millis(10));
        server.order("receipt").contains("nbd_beside_share=")
    });
    assert!(told);
    let receipt = server.end();
    let losses = receipt.transport_costs();
    assert!(losses.len() == 1 && losses[0].modelled > Span::ZERO && losses[0].added > Span::ZERO, "{losses:?}");
    assert_eq!((receipt.failures, receipt.attendance.most), (0, 1), "it is no client and asks the model for nothing");
}

#[test]
fn zeroes_are_seen_and_cut_as_what_was_written() {
    let server = Server::of("zeroes", &drive(), None);
    let mut client = server.client();
    assert_eq!(client.write(wire::FUA, 0, 7, 65_536), 0);
    client.send(WRITE_ZEROES, 0, 4096, 16_384, &[]);
    assert_eq!(client.error(), 0);
    assert_eq!((client.read(0, 4096), client.read(4096, 16_384), client.read(20_480, 4096)), (Ok(7), Ok(0), Ok(7)));
    server.order("cut");
    server.order("on");
    assert_eq!(client.read(4096, 16_384), Ok(7), "acknowledged, and lost: what was there before is there again");
    for flags in [wire::FUA, wire::FUA | wire::NO_HOLE] {
        client.send(WRITE_ZEROES, flags, 4096, 8192, &[]);
        assert_eq!(client.error(), 0);
    }
    client.send(WRITE_ZEROES, wire::FAST_ZERO, 0, 4096, &[]);
    assert_eq!(client.error(), error::UNSUPPORTED, "they take as long as bytes");
    server.order("cut");
    server.order("on");
    assert_eq!((client.read(0, 4096), client.read(4096, 8192), client.read(12_288, 4096)), (Ok(7), Ok(0), Ok(7)));
    server.end();
}

/// The memory of a page alone: 4096 bytes and 320 beside them on their way, and 4096 and 192 where they lie.
#[test]
fn a_disk_without_memory_refuses_what_is_new_and_takes_what_lies_there_again() {
    let room = MemoryRoom { contents: 4096 + 320 + 4096 + 192, ..MemoryRoom::default() };
    let disk = move || LiveDisk::new(Box::new(NullDevice::new()), Bytes::default(), 1.0, None).with_memory_limits(room);
    let server = Server::begin("full", 1 << 30, disk);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 4096), 0);
    assert_eq!(client.write(0, 4096, 2, 4096), error::NO_SPACE);
    assert_eq!(client.write(0, 0, 3, 4096), 0, "its place is taken already");
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(3), Ok(0)));
    let receipt = server.end();
    assert_eq!((receipt.requests, receipt.writes, receipt.reads), (5, 3, 2), "who is refused has asked");
    assert_eq!((receipt.failures, receipt.refused_for_memory), (1, 1));
}

/// The content has room for one page, and the read takes an hour: the write waits its turn behind it.
#[test]
fn what_waits_for_data_or_needs_none_takes_no_room_from_a_write() {
    let room = MemoryRoom { contents: 4096 + 320 + 4096 + 192, ..MemoryRoom::default() };
    let (hour, rate) = (Span::from_secs(3600), 1 << 30);
    let spec =
        FlashSpec { sectors: 1 << 21, largest: 2048, read: hour, write: hour, read_rate: rate, write_rate: rate };
    let disk = move || LiveDisk::new(Box::new(Flash::new(spec)), Bytes::default(), 1.0, None).with_memory_limits(room);
    let server = Server::begin("room", 1 << 30, disk);
    let head = |command| RequestHead { command, flags: 0, cookie: 0, offset: 0, length: 4096 };
    let (read, trim) = (ask(&server, head(NbdCommand::Read), 0, &[]), ask(&server, head(NbdCommand::Trim), 0, &[]));
    let write = ask(&server, head(NbdCommand::Write), 0, &[1; 4096]);
    // The power is switched off in order: only what is under way is done.
    let receipt = server.end();
    assert_eq!((receipt.refused_for_memory, receipt.reads, receipt.writes), (0, 1, 1));
    assert_eq!([read, trim, write].map(|answer| answer.recv().unwrap().is_ok()), [true, false, false]);
}

#[test]
fn who_asks_meanwhile_does_not_wait_for_all_of_a_long_request() {
    // 4 GiB at 1 GiB a second, 32 MiB of which are handed down before others have their turn.
    let (pause, rate) = (Span::from_micros(100), 1 << 30);
    let spec =
        FlashSpec { sectors: 1 << 23, largest: 2048, read: pause, write: pause, read_rate: rate, write_rate: rate };
    let disk = move || LiveDisk::new(Box::new(Flash::new(spec)), Bytes::default(), 1.0, None);
    let server = Server::begin("long", 1 << 32, disk);
    let (mut one, mut other) = (server.client(), server.client());
    one.send(WRITE_ZEROES, 0, 0, u32::MAX - 511, &[]);
    assert!((0..5).all(|_| other.read(0, 512) == Ok(0)));
    one.stream.set_nonblocking(true).unwrap();
    let waits = one.stream.read(&mut [0; 16]).unwrap_err();
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock, "its zeroes take seconds");
    server.end();
}

#[test]
fn what_the_image_cannot_take_is_promised_to_nobody() {
    let path = std::env::temp_dir().join(format!("seekwise-refuses-{}", std::process::id()));
    std::fs::write(&path, [0; 4096]).unwrap();
    // A file that can only be read stands for a file system that is full.
    let image = Bytes::on_platters(PlatterMedium::File(std::fs::File::open(&path).unwrap()));
    let server = Server::with("refuses", &drive(), Vec::new(), None, image);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 4096), 0, "it is cached");
    assert_ne!(client.flush(), 0);
    let error = server.running.join().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("the image: "), "{error}");
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_dir_all(&server.folder).unwrap();
}

/// Asks the disk itself, as the file of a disk does.
fn ask(server: &Server, head: RequestHead, skip: u64, data: &[u8]) -> Receiver<Result<Vec<u8>, u32>> {
    let (tells, hears) = channel();
    let reply_to = ReplyTo::Caller(Caller::new(move |outcome| drop(tells.send(outcome))));
    server.stop.send(DiskMessage::Request(DiskRequest { head, data: data.to_vec(), skip, reply_to })).unwrap();
    hears
}

#[test]
fn a_write_of_parts_of_sectors_keeps_the_rest_and_lasts_as_long_as_any() {
    let server = Server::of("parts", &drive(), None);
    let mut client = server.client();
    assert_eq!(client.write(wire::FUA, 0, 7, 4096), 0);
    let head = |command| RequestHead { command, flags: 0, cookie: 0, offset: 0, length: 1024 };
    let write = |skip, data: &[u8]| ask(&server, head(NbdCommand::Write), skip, data);
    let read = || ask(&server, head(NbdCommand::Read), 0, &[]).recv().unwrap().unwrap();
    let before = vec![7; 1024];
    let mut after = before.clone();
    after[510..513].copy_from_slice(b"odd");
    after[1..3].copy_from_slice(b"to");
    // At once, in one sector: neither is lost.
    let [odd, to] = [write(510, b"odd"), write(1, b"to")];
    assert!(odd.recv().unwrap().is_ok() && to.recv().unwrap().is_ok());
    assert_eq!(read(), after);
    server.order("cut");
    server.order("on");
    assert_eq!(read(), before, "acknowledged, and not flushed");
    assert!(write(510, b"odd").recv().unwrap().is_ok() && write(1, b"to").recv().unwrap().is_ok());
    assert_eq!(client.flush(), 0);
    server.order("cut");
    server.order("on");
    assert_eq!(read(), after, "flushed");
    server.end();
}

/// The answer is one chunk of extents: bytes, and flags that are 3 of a hole, which reads as zeroes.
#[test]
fn a_block_status_tells_data_from_holes() {
    const BLOCK_STATUS: u16 = 7;
    let server = Server::at_once("extents");
    let (stream, far) = UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let (smallest, preferred, largest) = (512, 4096, 1 << 20);
    let export =
        Export { description: String::new(), bytes: 1 << 30, smallest, preferred, largest, fast_zeroes: false };
    let line = Transmission::new(export, TransmissionTerms { structured: true, status: true });
    let connection = Connection { wire: Box::new(far), transmission: line, is_probe: false };
    server.stop.send(DiskMessage::Client(Box::new(connection))).unwrap();
    let mut client = Client { stream, cookie: 0 };
    assert_eq!((client.write(0, 8192, 1, 4096), client.write(0, 16_384, 2, 8192)), (0, 0));
    for (flags, offset, length, extents) in [
        (0, 0, 32_768, &[(8192, 3), (4096, 0), (4096, 3), (8192, 0), (8192, 3)][..]),
        (wire::REQ_ONE, 0, 32_768, &[(8192, 3)]),
        (wire::REQ_ONE, 20_480, 8192, &[(4096, 0)]),
        (0, 8704, 4096, &[(3584, 0), (512, 3)]),
        (0, 1 << 29, 1 << 29, &[(1 << 29, 3)]),
    ] {
        client.send(BLOCK_STATUS, flags, offset, length, &[]);
        let mut reply = vec![0; 20];
        client.stream.read_exact(&mut reply).unwrap();
        let rest = u32::from_be_bytes(reply[16..].try_into().unwrap());
        reply.resize(20 + rest as usize, 0);
        client.stream.read_exact(&mut reply[20..]).unwrap();
        assert_eq!(reply, wire::status_chunk(client.cookie, 1, extents), "{flags}: {length} bytes at {offset}");
    }
    server.end();
}

#[test]
fn a_chronicle_has_each_request_with_its_data_its_landing_and_its_end() {
    let chronicle = Chronicle::default();
    let written = chronicle.clone();
    let disk = move || LiveDisk::new(Box::new(NullDevice::new()), Bytes::default(), 1.0, None).with_chronicle(written);
    let server = Server::begin("chronicle", 1 << 30, disk);
    let mut client = server.client();
    assert_eq!((client.write(0, 4096, 7, 1024), client.flush(), client.read(4096, 512)), (0, 0, Ok(7)));
    server.end();
    let history = chronicle.take_history();
    let told = history.events.iter().map(|event| match event {
        HistoryEvent::Taken(_, request) => format!("{:?} taken", request.op),
        HistoryEvent::Landed(landing) => format!("{} sectors landed at {}", landing.sectors, landing.lba),
        HistoryEvent::Over(request, _) => format!("{:?} over", request.op),
        HistoryEvent::Changed(..) => "a setting changed".to_owned(),
    });
    let write = ["Write taken", "2 sectors landed at 8", "Write over"];
    let others = ["Flush taken", "Flush over", "Read taken", "Read over"];
    assert_eq!(told.collect::<Vec<_>>(), [&write[..], &others].concat());
    let stamp = history.accepted_writes().next().unwrap().1.stamp;
    assert_eq!(history.data_bytes(stamp, 8, 8, 2)[..], [7u8; 1024]);
    assert!(chronicle.take_history().events.is_empty(), "it begins anew");
}
