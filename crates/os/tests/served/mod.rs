//! A small served disk, and a client of it that builds each message by hand, so that a test decides each byte that is
//! sent.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use seekwise_disk::rng::Seed;
use seekwise_disk::stack::{Layer, Stack};
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::Span;
use seekwise_os::bytes::Bytes;
use seekwise_os::live::{CutPlan, DiskMessage, Inbox, LiveDisk};
use seekwise_os::nbd::Export;
use seekwise_os::nbd::wire::{self, HEAD, WireReader, option};
use seekwise_os::null::NullDevice;
use seekwise_os::serve::{ListenAddress, ServerSockets, send_order, serve_disk};
use seekwise_run::receipt::Receipt;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const WRITE_ZEROES: u16 = 6;

/// A drive with 64 KiB of write cache that writes out only when it must.
pub fn drive() -> SmallDrive {
    let mut drive = SmallDrive::default().with_buffer(4, 32).with_write_back(4);
    drive.cache.destage_idle = Span::from_secs(3600);
    drive
}

pub struct Server {
    pub folder: PathBuf,
    pub stop: Inbox,
    pub running: JoinHandle<std::io::Result<Receipt>>,
}

impl Server {
    pub fn of(name: &str, drive: &SmallDrive, plan: Option<CutPlan>) -> Server {
        Server::under(name, drive, Vec::new(), plan)
    }

    pub fn under(name: &str, drive: &SmallDrive, layers: Vec<Layer>, plan: Option<CutPlan>) -> Server {
        Server::with(name, drive, layers, plan, Bytes::default())
    }

    pub fn with(name: &str, drive: &SmallDrive, layers: Vec<Layer>, plan: Option<CutPlan>, bytes: Bytes) -> Server {
        let stack = Stack { layers, ..Stack::bare(drive.profile()) };
        Server::begin(name, stack.sectors() * 512, move || {
            let lost = stack.array().map_or(0, |array| array.lost);
            LiveDisk::new(stack.build(Seed(1)), bytes, 1.0, plan).without_drives(lost)
        })
    }

    /// A disk of 1 GiB that answers each request at once.
    pub fn at_once(name: &str) -> Server {
        Server::begin(name, 1 << 30, || LiveDisk::new(Box::new(NullDevice::new()), Bytes::default(), 1.0, None))
    }

    /// Any disk of so many bytes.
    pub fn begin(name: &str, bytes: u64, disk: impl FnOnce() -> LiveDisk + Send + 'static) -> Server {
        let folder = std::env::temp_dir().join(format!("seekwise-serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (smallest, preferred, largest) = (512, 4096, 1 << 20);
        let export =
            Export { description: "small".to_owned(), bytes, smallest, preferred, largest, fast_zeroes: false };
        let address = ListenAddress::Unix(folder.join("disk"));
        let doors = ServerSockets::open(Some(&address), Some(&folder.join("control"))).unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        let running =
            std::thread::spawn(move || serve_disk(disk(), export, doors, |inbox| assert!(told.send(inbox).is_ok())));
        Server { folder, stop: hears.recv().unwrap(), running }
    }

    pub fn client(&self) -> Client {
        Client::negotiate(UnixStream::connect(self.folder.join("disk")).unwrap())
    }

    /// Sends an order; returns the answer in words, whether it was done or refused.
    pub fn order(&self, order: &str) -> String {
        send_order(&self.folder.join("control"), order).unwrap().unwrap_or_else(|refused| refused)
    }

    pub fn end(self) -> Receipt {
        self.stop.send(DiskMessage::Stop).unwrap();
        let receipt = self.running.join().unwrap().unwrap();
        assert!(!self.folder.join("disk").exists(), "the socket goes with the server");
        std::fs::remove_dir_all(&self.folder).unwrap();
        receipt
    }
}

pub struct Client {
    pub stream: UnixStream,
    pub cookie: u64,
}

impl Client {
    pub fn negotiate(mut stream: UnixStream) -> Client {
        let mut hello = [0; 18];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(hello[..8], wire::GREETING.to_be_bytes());
        stream.write_all(&3u32.to_be_bytes()).unwrap();
        stream.write_all(&wire::OPTIONS.to_be_bytes()).unwrap();
        stream.write_all(&option::GO.to_be_bytes()).unwrap();
        stream.write_all(&6u32.to_be_bytes()).unwrap();
        stream.write_all(&[0; 6]).unwrap();
        loop {
            let mut head = [0; 20];
            stream.read_exact(&mut head).unwrap();
            let mut reader = WireReader(&head[12..]);
            let (kind, length) = (reader.read_u32().unwrap(), reader.read_u32().unwrap());
            std::io::copy(&mut (&mut stream).take(u64::from(length)), &mut std::io::sink()).unwrap();
            if kind == wire::answer::ACK {
                return Client { stream, cookie: 0 };
            }
        }
    }

    pub fn send(&mut self, command: u16, flags: u16, offset: u64, length: u32, data: &[u8]) {
        self.cookie += 1;
        let mut out = wire::REQUEST.to_be_bytes().to_vec();
        out.extend(flags.to_be_bytes());
        out.extend(command.to_be_bytes());
        out.extend(self.cookie.to_be_bytes());
        out.extend(offset.to_be_bytes());
        out.extend(length.to_be_bytes());
        assert_eq!(out.len(), HEAD);
        out.extend(data);
        self.stream.write_all(&out).unwrap();
    }

    /// The error of the next reply.
    pub fn error(&mut self) -> u32 {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).unwrap();
        let mut reader = WireReader(&head);
        assert_eq!(reader.read_u32(), Some(wire::SIMPLE_REPLY));
        reader.read_u32().unwrap()
    }

    pub fn write(&mut self, flags: u16, offset: u64, fill: u8, length: u32) -> u32 {
        self.send(WRITE, flags, offset, length, &vec![fill; length as usize]);
        self.error()
    }

    pub fn flush(&mut self) -> u32 {
        self.send(FLUSH, 0, 0, 0, &[]);
        self.error()
    }

    /// Reads a range whose bytes must be equal; returns that byte, or the error.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<u8, u32> {
        self.send(READ, 0, offset, length, &[]);
        match self.error() {
            0 => {
                let mut data = vec![0; length as usize];
                self.stream.read_exact(&mut data).unwrap();
                assert!(data.iter().all(|byte| *byte == data[0]));
                Ok(data[0])
            }
            error => Err(error),
        }
    }
}
