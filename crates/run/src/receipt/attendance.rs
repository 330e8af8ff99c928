//! Who came to a disk that is served, and who was sent away and why.

/// Clients at once where nothing else is asked for: a copying program has four connections, a kernel a few, a load generator one a job.
pub const CLIENTS: usize = 256;

/// Counts, of clients unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attendance {
    /// At once, at most.
    pub limit: usize,
    /// Connections of clients that were taken.
    pub came: u64,
    /// The most that were served at once.
    pub most: u64,
    /// Sent away, for the limit was reached.
    pub turned_away: u64,
    /// Sent away before they had asked for anything, for newer ones came and the limit was reached.
    pub gave_way: u64,
    /// Sent away, for they had not agreed upon an export in time.
    pub expired: u64,
    /// Sent away, for they read and sent next to nothing while others waited for the room that they had.
    pub hung_up: u64,
    /// How often the system had no descriptor for a new one.
    pub without_descriptor: u64,
    /// Connections for orders that were sent away: a line without end, or too many that were silent.
    pub orders_turned_away: u64,
}

impl Default for Attendance {
    fn default() -> Attendance {
        Attendance {
            limit: CLIENTS,
            came: 0,
            most: 0,
            turned_away: 0,
            gave_way: 0,
            expired: 0,
            hung_up: 0,
            without_descriptor: 0,
            orders_turned_away: 0,
        }
    }
}

impl Attendance {
    /// All by name.
    pub fn figures(&self) -> [(&'static str, f64); 9] {
        [
            ("clients_limit", self.limit as f64),
            ("clients_came", self.came as f64),
            ("clients_most", self.most as f64),
            ("clients_turned_away", self.turned_away as f64),
            ("clients_gave_way", self.gave_way as f64),
            ("handshakes_expired", self.expired as f64),
            ("clients_hung_up_on", self.hung_up as f64),
            ("without_descriptor", self.without_descriptor as f64),
            ("orders_turned_away", self.orders_turned_away as f64),
        ]
    }

    /// Who was sent away, in words; nothing where nobody was.
    pub fn words(&self) -> Option<String> {
        let limit = self.limit;
        let told = [
            (self.turned_away, format!("for {limit} were there already (--max-clients)")),
            (
                self.gave_way,
                format!("had asked for nothing and gave way to newer ones ({limit} at once, --max-clients)"),
            ),
            (self.expired, "had not agreed upon an export in time".to_owned()),
            (self.hung_up, "moved next to nothing while others waited for the room that they had".to_owned()),
            (self.orders_turned_away, "sent orders: a line without end, or too many that were silent".to_owned()),
        ];
        let told: Vec<String> =
            told.iter().filter(|it| it.0 > 0).map(|(count, why)| format!("{count} {why}")).collect();
        let short = match self.without_descriptor {
            0 => String::new(),
            times => format!(" The system had no descriptor for a new one {times} times."),
        };
        if told.is_empty() && short.is_empty() {
            return None;
        }
        let away = if told.is_empty() { "none".to_owned() } else { told.join("; ") };
        Some(format!("{} connections came; sent away: {away}.{short}", self.came))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_sent_away_is_told_and_nothing_else() {
        let mut book = Attendance { came: 7, ..Attendance::default() };
        assert_eq!(book.words(), None);
        (book.expired, book.hung_up) = (3, 1);
        let said = book.words().unwrap();
        assert!(said.starts_with("7 connections came; sent away: 3 had not agreed upon an export in time; 1 moved"));
        book.without_descriptor = 2;
        assert!(book.words().unwrap().ends_with("new one 2 times."));
    }
}
