//! Orders to a disk: its power, its settings, its status.

use seekwise_model::block::Control;
use seekwise_model::time::Instant;

use super::stalls::StallWatch;
use super::{LiveDisk, RecorderEvent};
use seekwise_model::history::{HistoryEvent, HistoryMark};
use seekwise_run::receipt::Receipt;
use seekwise_run::sim::why;

/// An order to a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskOrder {
    /// A power failure now.
    Cut,
    /// Power off, in order.
    Off,
    /// Power on.
    On,
    /// Reset of the link: requests under way are aborted, cached data stay.
    Reset,
    /// Change of a layer's setting.
    Set(String, String),
    /// Report of its work so far, in words.
    Status,
    /// All figures of the receipt so far, as `name=value`.
    Receipt,
    /// A mark for the disk's history.
    Mark(HistoryMark),
}

/// The result of an order, in words; an error if it was refused.
pub type OrderReply = Result<String, String>;

impl LiveDisk {
    /// Returns the receipt until now.
    pub(super) fn so_far(&self) -> Receipt {
        let stalls = self.watch.as_ref().map_or_else(|| self.receipt.stalls.clone(), StallWatch::so_far);
        let worked = self.clock.now().since(Instant::ZERO).saturating_sub(self.idle);
        let (attendance, ways) = (self.clients.book.read(), self.measured.read());
        let (seconds, log) = (self.clock.seconds(), self.device.log());
        Receipt { seconds, log, stalls, worked, attendance, ways, ..self.receipt.clone() }
    }

    /// Writes a mark to the history; the answer is empty.
    fn mark(&self, now: Instant, mark: &HistoryMark) -> OrderReply {
        if let Some(chronicle) = &self.chronicle {
            chronicle.write(|history| history.marks.push((now, mark.clone())));
        }
        Ok(String::new())
    }

    /// Records a changed setting.
    fn change(&mut self, now: Instant, key: &str, value: &str) {
        if let Some(chronicle) = &self.chronicle {
            chronicle
                .write(|history| history.events.push(HistoryEvent::Changed(now, key.to_owned(), value.to_owned())));
        }
        self.content.changed(now, key, value);
    }

    /// Carries out an order and reports its result.
    pub(super) fn obey(&mut self, order: &DiskOrder) -> OrderReply {
        let now = self.now();
        self.device.handle_timeout(now);
        self.drain();
        match order {
            DiskOrder::Cut if self.powered => {
                if let Some(why) = self.content.refusal() {
                    return Err(why.to_owned());
                }
                self.cut(now);
                Ok(format!(
                    "power cut at {} s: {} acknowledged bytes were not on the medium yet, {} sectors cannot be read",
                    seconds(now),
                    self.receipt.at_risk_bytes,
                    self.content.bytes().torn()
                ))
            }
            DiskOrder::Off if self.powered => {
                self.off(now);
                Ok(format!("switched off at {} s", seconds(now)))
            }
            DiskOrder::Cut | DiskOrder::Off => Err("it is off already".to_owned()),
            DiskOrder::On if self.powered => Err("it is on already".to_owned()),
            DiskOrder::On => match self.device.control(now, &Control::PowerOn) {
                Ok(()) => {
                    self.powered = true;
                    self.pass(RecorderEvent::Order(now, "on"));
                    Ok(format!("power is back at {} s", seconds(now)))
                }
                Err(error) => Err(format!("it does not come back: {}", why(error, ""))),
            },
            DiskOrder::Reset => match self.device.control(now, &Control::Reset) {
                Ok(()) => {
                    self.pass(RecorderEvent::Order(now, "reset"));
                    self.drain();
                    Ok(format!("the link was reset at {} s: what was under way is aborted", seconds(now)))
                }
                Err(error) => Err(format!("not reset: {}", why(error, ""))),
            },
            DiskOrder::Set(key, value) => match self.device.control(now, &Control::Set { key, value }) {
                Ok(()) => {
                    self.pass(RecorderEvent::Order(now, &format!("{key}={value}")));
                    // First the landings of the change, as in a simulated run.
                    self.take_landings();
                    self.change(now, key, value);
                    self.drain();
                    Ok(format!("{key} = {value} from {} s on", seconds(now)))
                }
                Err(error) => Err(format!("{key} = {value}: {}", why(error, key))),
            },
            DiskOrder::Mark(mark) => self.mark(now, mark),
            DiskOrder::Receipt => {
                let said = |(name, value): (&str, f64)| format!("{name}={value}");
                let receipt = self.so_far();
                let figures = receipt.figures().into_iter().chain(receipt.at_the_doors()).map(said);
                let pace = format!("pace=\"{}\"", receipt.pace().word());
                Ok(figures.chain(self.stands(now)).chain([pace]).collect::<Vec<_>>().join(" "))
            }
            DiskOrder::Status => Ok(self.status(now)),
        }
    }

    /// Formats its power and its drives as `name=value`.
    fn stands(&self, now: Instant) -> [String; 5] {
        let bytes = self.content.bytes();
        let gone: Vec<String> = self.content.gone().iter().map(u32::to_string).collect();
        [
            format!("powered={}", self.powered),
            format!("disk_seconds={}", seconds(now)),
            format!("bytes_above_medium={}", bytes.at_risk()),
            format!("acknowledged_bytes_above_medium={}", bytes.acknowledged_at_risk()),
            format!("drives_missing=[{}]", gone.join(",")),
        ]
    }

    fn status(&self, now: Instant) -> String {
        let Receipt { reads, writes, flushes, failures, .. } = self.receipt;
        let power = if self.powered { "on" } else { "off" };
        let gone = match self.content.gone() {
            gone if gone.is_empty() => String::new(),
            gone => {
                let gone: Vec<String> = gone.iter().map(ToString::to_string).collect();
                let gone = gone.join(", ");
                format!("; without drives {gone} (a replaced drive counts again after its rebuild and a flush)")
            }
        };
        let kept = self.content.kept().map_or(String::new(), |kept| format!("; {kept} bytes kept for cuts"));
        format!(
            "power {power} at {} s: {reads} reads, {writes} writes, {flushes} flushes, {failures} failed; {} \
             bytes not yet on the medium, {} of them acknowledged{gone}{kept}",
            seconds(now),
            self.content.bytes().at_risk(),
            self.content.bytes().acknowledged_at_risk()
        )
    }

    /// Cuts the power: waiting requests end, those in flight come back by themselves, and the image is what the landings say.
    pub(super) fn cut(&mut self, now: Instant) {
        self.plan = None;
        let before = self.content.bytes().acknowledged_at_risk();
        self.powered = false;
        self.pass(RecorderEvent::Order(now, "cut"));
        self.device.control(now, &Control::PowerCut).expect("every device can lose its power");
        self.drain();
        let left = self.content.cut(now);
        self.hold(left);
        self.receipt.cuts += 1;
        self.receipt.at_risk_bytes = before;
        self.drop_waiting();
    }

    pub(super) fn off(&mut self, now: Instant) {
        self.powered = false;
        self.drop_waiting();
        self.pass(RecorderEvent::Order(now, "off"));
        self.device.control(now, &Control::PowerOff).expect("every device can be switched off");
        while let Some(next) = self.device.poll_timeout() {
            self.drain();
            self.device.handle_timeout(next);
            self.ahead = next;
        }
        self.drain();
        // The disk has written out all that it had.
        let settled = self.content.settle(self.stamp + 1);
        self.hold(settled);
    }
}

fn seconds(at: Instant) -> f64 {
    (at.nanos() / 1000) as f64 / 1e6
}
