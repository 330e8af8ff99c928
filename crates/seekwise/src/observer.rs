//! Who watches long work: how far it is, and whether it is to go on.

/// Watches long work. All methods have a default that does nothing; `()` watches nothing.
pub trait Observer: Sync {
    /// There are `total` steps in all, of which `done` need not be done again; what a step is, its `unit` says (`runs`,
    /// `requests`). Nothing where nobody knows how many there are.
    fn begin(&self, _total: Option<u64>, _done: u64, _unit: &'static str) {}
    /// So many steps are done.
    fn at(&self, _done: u64) {}
    /// What is being done now.
    fn doing(&self, _what: &str) {}
    /// Whether the work is to end. Work of several runs asks after each; what is complete then is kept. A single run, a fit and a
    /// validation do not ask.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Watches nothing.
impl Observer for () {}
