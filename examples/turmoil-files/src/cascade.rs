//! A service that collapses: a client asks replicas for pages, and asks the next replica if no answer came within its timer. It
//! does not know that all replicas lie on one drive. There repeated reads wait in one queue with the others, so more of them are
//! late, and are repeated. With latencies drawn when an operation is submitted, none waits for another.
//!
//! The service and its client know the network and files only: nothing in them is about Seekwise.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_files::operation::Settings;
use tokio::sync::{Notify, Semaphore};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use turmoil::Builder;
use turmoil::net::UdpSocket;

use crate::disks::Disks;
use crate::fs;

/// The drive: 7,200 rpm, so a revolution takes 8.33 ms; average seek 8.5 ms.
const DRIVE: &str = "barracuda-7200.7-ncq";

const PORT: u16 = 7000;

/// The file, larger than memory and a large part of the drive: 32 GiB.
const FILE: &str = "/pages";
const PAGES: u64 = 8 << 20;
const PAGE: u64 = 4096;

/// Replicas in the file, one after another. Each attempt asks the next one.
const REPLICAS: u64 = 16;

/// Bytes of a message: request and attempt.
const MESSAGE: usize = 16;

/// Requests that the service has at the disk at once, half of the drive's command queue; others wait in the service's queue.
const WORKERS: usize = 16;

/// Requests a second, by a pilot without a timer: 999 of 1,000 reads then take up to 147 ms, which is longer than all timers. The
/// service keeps up: without repeated requests a read takes 23 ms on average. At 60 a second nothing collapsed.
pub const REQUESTS_A_SECOND: u64 = 100;

/// The length of a run.
const DURATION: Duration = Duration::from_secs(20);

/// A run has collapsed once more requests have no answer than come in two seconds. Without a collapse a hundred a second at
/// 23 ms each are two or three at a time.
pub const COLLAPSED: u64 = 2 * REQUESTS_A_SECOND;

/// Timers after which a request is repeated, in milliseconds: 3 to 12 revolutions of the drive. Set before any run: 3
/// revolutions are twice the time of a random read of an idle drive (seek 8.5 ms, half a revolution 4.2 ms), 12 a wait for
/// seven others.
pub const TIMERS_MS: [u64; 10] = [25, 33, 42, 50, 58, 67, 75, 83, 92, 100];

/// Seeds within which a collapse is found.
pub const SEEDS: u64 = 100;

/// The source of the service's latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Storage {
    /// The modelled drive.
    Drive,
    /// An exponential distribution, drawn when a read is submitted.
    Exponential { mean: Duration },
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requests of the client, each counted once.
    pub requests: u64,
    pub answered: u64,
    /// Messages that the service got.
    pub received: u64,
    /// The time of each read at the disk, in order of its end.
    pub read_times: Vec<Duration>,
}

impl Outcome {
    /// True if the service has collapsed.
    pub fn has_collapsed(&self) -> bool {
        self.requests - self.answered > COLLAPSED
    }

    /// The mean time of a read.
    pub fn mean_read(&self) -> Duration {
        self.read_times.iter().sum::<Duration>() / self.read_times.len().max(1) as u32
    }

    /// A read time that this many of a thousand do not exceed.
    pub fn read_permille(&self, permille: usize) -> Duration {
        let mut times = self.read_times.clone();
        times.sort_unstable();
        times.get(times.len() * permille / 1000).copied().unwrap_or_default()
    }
}

/// Counts of a run under way.
#[derive(Clone, Default)]
struct Counts(Rc<RefCell<Outcome>>);

/// The request and the attempt of a message.
fn decode(message: &[u8; MESSAGE]) -> [u64; 2] {
    let number = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"));
    [number(0), number(8)]
}

/// An exponential time with this mean.
fn draw_exponential(rng: &mut Rng, mean: Duration) -> Duration {
    let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    mean.mul_f64(-(1.0 - uniform).ln())
}

/// What the service reads from.
enum Pages {
    File(fs::File),
    Drawn { mean: Duration, rng: RefCell<Rng> },
}

impl Pages {
    async fn read(&self, page: u64) -> turmoil::Result {
        match self {
            Pages::File(file) => _ = file.read_at(&mut [0; PAGE as usize], page * PAGE).await?,
            Pages::Drawn { mean, rng } => {
                let time = draw_exponential(&mut rng.borrow_mut(), *mean);
                sleep(time).await;
            }
        }
        Ok(())
    }
}

/// Serves pages.
async fn serve(storage: Storage, seed: u64, counts: Counts) -> turmoil::Result {
    let pages = Rc::new(match storage {
        Storage::Drive => Pages::File(fs::File::open(FILE).await?),
        Storage::Exponential { mean } => Pages::Drawn { mean, rng: RefCell::new(Seed(seed).stream("latency")) },
    });
    let socket = Rc::new(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?);
    let queue = Rc::new(Semaphore::new(WORKERS));
    let mut message = [0; MESSAGE];
    loop {
        let (_, client) = socket.recv_from(&mut message).await?;
        counts.0.borrow_mut().received += 1;
        let (pages, socket, queue, counts) = (Rc::clone(&pages), Rc::clone(&socket), Rc::clone(&queue), counts.clone());
        spawn_local(async move {
            let _worker = queue.acquire().await;
            let begun = Instant::now();
            let [request, attempt] = decode(&message);
            // SplitMix64's first step spreads numbers as a hash does.
            let hash = request.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (replica, record) = (((hash >> 48) + attempt) % REPLICAS, hash % (PAGES / REPLICAS));
            let page = replica * (PAGES / REPLICAS) + record;
            pages.read(page).await.expect("a page of the file");
            counts.0.borrow_mut().read_times.push(begun.elapsed());
            socket.send_to(&message, client).await.ok();
        });
    }
}

/// Asks for pages at random instants, and repeats each request whenever `timer` has passed without an answer.
async fn ask(timer: Duration, seed: u64, counts: Counts) -> turmoil::Result {
    let socket = Rc::new(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?);
    let waiting: Rc<RefCell<HashMap<u64, Rc<Notify>>>> = Rc::default();
    let (listener, answers, answered) = (Rc::clone(&socket), Rc::clone(&waiting), counts.clone());
    spawn_local(async move {
        let mut message = [0; MESSAGE];
        while listener.recv_from(&mut message).await.is_ok() {
            // A repeated request has several answers; the first counts.
            if let Some(request) = answers.borrow_mut().remove(&decode(&message)[0]) {
                answered.0.borrow_mut().answered += 1;
                request.notify_one();
            }
        }
    });
    let (mut rng, begun) = (Seed(seed).stream("requests"), Instant::now());
    let mut due = begun;
    let number = Cell::new(rng.next_u64() >> 16);
    loop {
        due += draw_exponential(&mut rng, Duration::from_secs(1) / REQUESTS_A_SECOND as u32);
        // A collapse does not end by itself: each of so many requests is repeated again and again.
        if due >= begun + DURATION || counts.0.borrow().has_collapsed() {
            return Ok(());
        }
        sleep_until(due).await;
        let request = number.replace(number.get() + 1);
        counts.0.borrow_mut().requests += 1;
        let (done, socket) = (Rc::new(Notify::new()), Rc::clone(&socket));
        waiting.borrow_mut().insert(request, Rc::clone(&done));
        spawn_local(async move {
            for attempt in 0.. {
                let message: Vec<u8> = [request, attempt].into_iter().flat_map(u64::to_le_bytes).collect();
                socket.send_to(&message, ("service", PORT)).await.ok();
                if timeout(timer, done.notified()).await.is_ok() {
                    return;
                }
            }
        });
    }
}

/// Runs the service and its client. Equal seeds give equal outcomes.
pub fn run(storage: Storage, timer: Duration, seed: u64) -> turmoil::Result<Outcome> {
    let mut sim = Builder::new()
        .rng_seed(seed)
        .max_message_latency(Duration::from_millis(1))
        .udp_capacity(1 << 20)
        .simulation_duration(2 * DURATION)
        .build();
    let settings = Settings { memory: 64 << 20, seed, ..Settings::default() };
    let mut disks = Disks::new(DRIVE, seed).with_settings(settings);
    disks.place_files("service", &[(FILE, PAGES * PAGE)]);
    let counts = Counts::default();
    let served = counts.clone();
    disks.host(&mut sim, "service", move || serve(storage, seed, served.clone()));
    sim.client("client", ask(timer, seed, counts.clone()));
    sim.run()?;
    Ok(counts.0.take())
}

/// The drive's read times at this load without repeated requests: mean, and the time that 999 of 1,000 do not exceed.
pub fn calibrate(seeds: u64) -> turmoil::Result<(Duration, Duration)> {
    let mut all = Outcome::default();
    for seed in 0..seeds {
        all.read_times.extend(run(Storage::Drive, 2 * DURATION, seed)?.read_times);
    }
    Ok((all.mean_read(), all.read_permille(999)))
}

/// The first seed of `seeds` with which the service collapses.
pub fn find_collapse(storage: Storage, timer: Duration, seeds: u64) -> turmoil::Result<Option<u64>> {
    for seed in 0..seeds {
        if run(storage, timer, seed)?.has_collapsed() {
            return Ok(Some(seed));
        }
    }
    Ok(None)
}

/// Searches collapses for each of these timers, and tells a line for each.
pub fn report(timers_ms: &[u64], seeds: u64, mut tell: impl FnMut(&str)) -> turmoil::Result {
    let (mean, permille) = calibrate(5)?;
    let ms = |time: Duration| time.as_micros() as f64 / 1000.0;
    tell(&format!("reads take {:.1} ms on average, and 1 of 1,000 more than {:.1} ms", ms(mean), ms(permille)));
    for &timer_ms in timers_ms {
        let timer = Duration::from_millis(timer_ms);
        let search = |storage| {
            let seed = find_collapse(storage, timer, seeds)?;
            let none = || format!("none in {seeds} seeds");
            turmoil::Result::Ok(seed.map_or_else(none, |seed| format!("collapses with seed {seed}")))
        };
        let (drive, drawn) = (search(Storage::Drive)?, search(Storage::Exponential { mean })?);
        tell(&format!("timer {timer_ms} ms: drive {drive}; exponential {drawn}"));
    }
    Ok(())
}
