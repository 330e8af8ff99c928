//! Clients of a served disk: counts of those that came, and of those that were rejected or closed, by reason.

/// Default limit of clients at once. A copying program has four connections, a kernel a few, a load generator one for
/// each job.
pub const CLIENTS: usize = 256;

/// Counts of clients, that is of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attendance {
    /// The most that may be connected at once.
    pub limit: usize,
    /// Accepted.
    pub came: u64,
    /// The most that were connected at once.
    pub most: u64,
    /// Rejected because the limit was reached.
    pub turned_away: u64,
    /// Closed before their first request to make room for newer ones, because the limit was reached.
    pub gave_way: u64,
    /// Closed because their handshake was not finished in time.
    pub expired: u64,
    /// Closed because they moved almost nothing while others waited for the memory that they held.
    pub hung_up: u64,
    /// How often the system had no file descriptor for a new one.
    pub without_descriptor: u64,
    /// Connections to the control socket that were closed: an order too long, or too many that sent nothing.
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
    /// All counts by name.
    pub fn named_counts(&self) -> [(&'static str, f64); 9] {
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

    /// A sentence about rejected and closed clients; `None` if there were none.
    pub fn rejection_sentence(&self) -> Option<String> {
        let limit = self.limit;
        let reasons = [
            (self.turned_away, format!("because {limit} were connected already (--max-clients)")),
            (self.gave_way, format!("that had sent no request, to make room for newer ones (--max-clients {limit})")),
            (self.expired, "that had not finished the handshake in time".to_owned()),
            (self.hung_up, "that held memory others waited for and moved almost nothing".to_owned()),
            (
                self.orders_turned_away,
                "on the control socket: an order too long, or too many idle connections".to_owned(),
            ),
        ];
        let reasons: Vec<String> =
            reasons.iter().filter(|it| it.0 > 0).map(|(count, why)| format!("{count} {why}")).collect();
        let short = match self.without_descriptor {
            0 => String::new(),
            times => format!(" {times} times the system had no file descriptor for a new connection."),
        };
        if reasons.is_empty() && short.is_empty() {
            return None;
        }
        let away = if reasons.is_empty() { "none".to_owned() } else { reasons.join("; ") };
        Some(format!("{} connections; rejected or closed: {away}.{short}", self.came))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_sent_away_is_told_and_nothing_else() {
        let mut attendance = Attendance { came: 7, ..Attendance::default() };
        assert_eq!(attendance.rejection_sentence(), None);
        (attendance.expired, attendance.hung_up) = (3, 1);
        let said = attendance.rejection_sentence().unwrap();
        assert!(said.starts_with(
            "7 connections; rejected or closed: 3 that had not finished the handshake in time; 1 that held"
        ));
        attendance.without_descriptor = 2;
        assert!(
            attendance
                .rejection_sentence()
                .unwrap()
                .ends_with("2 times the system had no file descriptor for a new connection.")
        );
    }
}
