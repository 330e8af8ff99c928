//! The functions that a page calls. The page asks for room (`make_room`), writes the question there as UTF-8, calls `ask`, and reads the
//! reply from `reply_start` on, `ask`'s result long. Progress goes to the imported function `progress`: steps done, and all of them (0
//! if that is unknown).

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use seekwise::Observer;

use crate::question::reply;

thread_local! {
    /// The question that is being written, then its reply.
    static EXCHANGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "page")]
#[allow(unsafe_code, reason = "the page declares it")]
unsafe extern "C" {
    safe fn progress(done: f64, all: f64);
}

/// Tells the page how far the work is.
#[derive(Default)]
struct PageObserver {
    all: AtomicU64,
}

impl Observer for PageObserver {
    fn begin_work(&self, total: Option<u64>, done: u64, _: &'static str) {
        self.all.store(total.unwrap_or(0), Ordering::Relaxed);
        self.report_done(done);
    }
    fn report_done(&self, done: u64) {
        progress(done as f64, self.all.load(Ordering::Relaxed) as f64);
    }
}

/// Room for a question of so many bytes; returns its address.
#[allow(unsafe_code, reason = "the name is this module's own")]
#[unsafe(no_mangle)]
pub extern "C" fn make_room(bytes: usize) -> usize {
    EXCHANGE.with_borrow_mut(|question| {
        *question = vec![0; bytes];
        question.as_mut_ptr() as usize
    })
}

/// Answers the question that was written; returns the length of the reply.
#[allow(unsafe_code, reason = "the name is this module's own")]
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let question = EXCHANGE.take();
    let text = reply(&String::from_utf8_lossy(&question), &PageObserver::default());
    EXCHANGE.replace(text.into_bytes());
    EXCHANGE.with_borrow(Vec::len)
}

/// The address of the reply.
#[allow(unsafe_code, reason = "the name is this module's own")]
#[unsafe(no_mangle)]
pub extern "C" fn reply_start() -> usize {
    EXCHANGE.with_borrow(|reply| reply.as_ptr() as usize)
}
