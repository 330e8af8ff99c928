//! A key-value store on two hosts: clients talk to a primary, which forwards writes to a follower. Each host has a log
//! on its own disk, with one record in a sector, and reads it when it starts.
//!
//! A request is a line (`put KEY VALUE`, `get KEY`), and so is its answer (`ok`; the value, or `-`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::sleep;
use turmoil::net::{TcpListener, TcpStream};

use crate::disk::{Disk, SECTOR};

const PORT: u16 = 7000;

/// The time between two attempts to reach a host.
const RETRY: Duration = Duration::from_millis(20);

/// The moment at which a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// When it is in the disk's buffer: fast, but not durable.
    BeforeFlush,
    /// When a flush has brought it to the medium.
    AfterFlush,
}

struct Replica {
    disk: Disk,
    acknowledge: Acknowledge,
    follower: Option<&'static str>,
    /// The sector of the next record. A task holds the lock while it writes one.
    end: Mutex<u64>,
    values: RefCell<BTreeMap<String, String>>,
}

/// Serves a replica on `disk`; the primary names its `follower`.
pub async fn serve(disk: Disk, acknowledge: Acknowledge, follower: Option<&'static str>) -> turmoil::Result {
    let replica = Rc::new(recover(disk, acknowledge, follower).await?);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let replica = Rc::clone(&replica);
        // A connection ends when one side goes away.
        tokio::task::spawn_local(async move { serve_client(&replica, stream).await.ok() });
    }
}

/// Reads the log up to the first sector that holds no record.
async fn recover(disk: Disk, acknowledge: Acknowledge, follower: Option<&'static str>) -> io::Result<Replica> {
    let (mut end, mut values) = (0, BTreeMap::new());
    while let Some((key, value)) = decode_record(&disk.read(end).await?) {
        values.insert(key, value);
        end += 1;
    }
    Ok(Replica { disk, acknowledge, follower, end: Mutex::new(end), values: RefCell::new(values) })
}

/// Answers the requests of one client, until it goes away.
async fn serve_client(replica: &Replica, stream: TcpStream) -> io::Result<()> {
    let mut client = Connection { stream: BufReader::new(stream) };
    let mut follower = match replica.follower {
        Some(name) => Some(Connection::connect(name).await?),
        None => None,
    };
    loop {
        let line = client.receive().await?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["put", key, value] => {
                replica.append(key, value).await?;
                match &mut follower {
                    Some(follower) => follower.request(&line).await?,
                    None => "ok".to_owned(),
                }
            }
            ["get", key] => replica.values.borrow().get(key).cloned().unwrap_or_else(|| "-".to_owned()),
            _ => return Err(io::Error::other(format!("no such question: {line}"))),
        };
        client.send(&answer).await?;
    }
}

impl Replica {
    /// Appends a record to the log, and flushes it if the replica acknowledges after the flush.
    async fn append(&self, key: &str, value: &str) -> io::Result<()> {
        let mut end = self.end.lock().await;
        self.disk.write(*end, encode_record(key, value)).await?;
        if self.acknowledge == Acknowledge::AfterFlush {
            self.disk.flush().await?;
        }
        *end += 1;
        self.values.borrow_mut().insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}

/// A connection to a replica.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to the replica on a host, as soon as it has read its log.
    pub async fn connect(host: &str) -> io::Result<Connection> {
        loop {
            match TcpStream::connect((host, PORT)).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => sleep(RETRY).await,
                result => return Ok(Connection { stream: BufReader::new(result?) }),
            }
        }
    }

    /// Sends a request, and waits for the answer.
    pub async fn request(&mut self, line: &str) -> io::Result<String> {
        self.send(line).await?;
        self.receive().await
    }

    async fn send(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(format!("{line}\n").as_bytes()).await
    }

    async fn receive(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

fn encode_record(key: &str, value: &str) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let text = format!("{key} {value}\n");
    sector[..text.len()].copy_from_slice(text.as_bytes());
    sector
}

fn decode_record(sector: &[u8; SECTOR]) -> Option<(String, String)> {
    let text = std::str::from_utf8(sector).ok()?;
    let (key, value) = text.split_once('\n')?.0.split_once(' ')?;
    Some((key.to_owned(), value.to_owned()))
}
