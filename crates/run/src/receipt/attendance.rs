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
            (self.turned_away, format!("because {limit} were connected already (--max-clients)")),
            (self.gave_way, format!("that had sent no request, to make room for newer ones (--max-clients {limit})")),
            (self.expired, "that had not finished the handshake in time".to_owned()),
            (self.hung_up, "that held memory others waited for and moved almost nothing".to_owned()),
            (
                self.orders_turned_away,
                "on the control socket: an order too long, or too many idle connections".to_owned(),
            ),
        ];
        let told: Vec<String> =
            told.iter().filter(|it| it.0 > 0).map(|(count, why)| format!("{count} {why}")).collect();
        let short = match self.without_descriptor {
            0 => String::new(),
            times => format!(" {times} times the system had no file descriptor for a new connection."),
        };
        if told.is_empty() && short.is_empty() {
            return None;
        }
        let away = if told.is_empty() { "none".to_owned() } else { told.join("; ") };
        Some(format!("{} connections; rejected or closed: {away}.{short}", self.came))
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
        assert!(said.starts_with(
            "7 connections; rejected or closed: 3 that had not finished the handshake in time; 1 that held"
        ));
        book.without_descriptor = 2;
        assert!(book.words().unwrap().ends_with("2 times the system had no file descriptor for a new connection."));
    }
}
