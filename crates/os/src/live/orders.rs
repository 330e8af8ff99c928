//! Orders to a disk at work: to cut or restore its power, to change its settings, to report its status.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Control, SECTOR};
use seekwise_disk::record::SyncCounts;
use seekwise_disk::time::Instant;
use seekwise_drives::change::{parse_setting, refusal_words};

use super::stalls::StallWatch;
use super::{LiveDisk, RecorderEvent};
use seekwise_disk::history::{HistoryEvent, HistoryMark};
use seekwise_run::receipt::Receipt;

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
    pub(super) fn receipt_so_far(&self) -> Receipt {
        let stalls = self.stall_watch.as_ref().map_or_else(|| self.receipt.stalls.clone(), StallWatch::stalls_so_far);
        let worked = self.clock.now().since(Instant::ZERO).saturating_sub(self.idle);
        let (attendance, transports) = (self.clients.attendance.read_counters(), self.latencies.read_latencies());
        let (seconds, log) = (self.clock.elapsed_seconds(), self.device.drive_log());
        Receipt { seconds, log, stalls, worked, attendance, transports, ..self.receipt.clone() }
    }

    /// Writes a mark to the history; the answer is empty.
    fn record_mark(&self, now: Instant, mark: &HistoryMark) -> OrderReply {
        if let Some(chronicle) = &self.chronicle {
            chronicle.update_history(|history| history.marks.push((now, mark.clone())));
        }
        Ok(String::new())
    }

    /// Records a changed setting.
    fn record_setting(&mut self, now: Instant, setting: LayerSetting) {
        if let Some(chronicle) = &self.chronicle {
            chronicle.update_history(|history| history.events.push(HistoryEvent::Changed(now, setting)));
        }
        self.content.record_setting(now, setting);
    }

    /// Changes a layer's setting.
    fn change_setting(&mut self, now: Instant, key: &str, value: &str) -> OrderReply {
        let has_level = |level: &str| self.levels.iter().any(|name| name == level);
        let describe_refusal = |error| format!("{key} = {value}: {}", refusal_words(error, key));
        let setting = parse_setting(key, value, &has_level).map_err(describe_refusal)?;
        self.device.control(now, &Control::Set(setting)).map_err(describe_refusal)?;
        self.record_event(RecorderEvent::Order(now, &format!("{key}={value}")));
        // The landings of the change come first, as in a simulated run.
        self.take_landings();
        self.record_setting(now, setting);
        self.drain_device();
        Ok(format!("{key} = {value} from {} s on", to_seconds(now)))
    }

    /// Carries out an order and reports its result.
    pub(super) fn carry_out(&mut self, order: &DiskOrder) -> OrderReply {
        let now = self.model_now();
        self.device.handle_timeout(now);
        self.drain_device();
        match order {
            DiskOrder::Cut if self.powered => {
                if let Some(refusal) = self.content.cut_refusal() {
                    return Err(refusal.to_owned());
                }
                self.cut_power(now);
                Ok(format!(
                    "power cut at {} s: {} acknowledged bytes were not on the medium yet, {} sectors cannot be read",
                    to_seconds(now),
                    self.receipt.at_risk_bytes,
                    self.content.bytes().unreadable_sectors()
                ))
            }
            DiskOrder::Off if self.powered => {
                self.power_off(now);
                Ok(format!("switched off at {} s", to_seconds(now)))
            }
            DiskOrder::Cut | DiskOrder::Off => Err("it is off already".to_owned()),
            DiskOrder::On if self.powered => Err("it is on already".to_owned()),
            DiskOrder::On => match self.device.control(now, &Control::PowerOn) {
                Ok(()) => {
                    self.powered = true;
                    self.record_event(RecorderEvent::Order(now, "on"));
                    Ok(format!("power is back at {} s", to_seconds(now)))
                }
                Err(error) => Err(format!("it does not come back: {}", refusal_words(error, ""))),
            },
            DiskOrder::Reset => match self.device.control(now, &Control::Reset) {
                Ok(()) => {
                    self.record_event(RecorderEvent::Order(now, "reset"));
                    self.drain_device();
                    Ok(format!("the link was reset at {} s: what was under way is aborted", to_seconds(now)))
                }
                Err(error) => Err(format!("not reset: {}", refusal_words(error, ""))),
            },
            DiskOrder::Set(key, value) => self.change_setting(now, key, value),
            DiskOrder::Mark(mark) => self.record_mark(now, mark),
            DiskOrder::Receipt => {
                let to_words = |(name, value): (&str, f64)| format!("{name}={value}");
                let receipt = self.receipt_so_far();
                let figures =
                    receipt.named_figures().into_iter().chain(receipt.client_and_memory_figures()).map(to_words);
                let pace = format!("pace=\"{}\"", receipt.pace_verdict().json_word());
                Ok(figures.chain(self.state_figures(now)).chain([pace]).collect::<Vec<_>>().join(" "))
            }
            DiskOrder::Status => Ok(self.describe_status(now)),
        }
    }

    /// Formats its power and its drives as `name=value`.
    fn state_figures(&self, now: Instant) -> [String; 5] {
        let bytes = self.content.bytes();
        let missing: Vec<String> = self.content.missing_drives().iter().map(u32::to_string).collect();
        [
            format!("powered={}", self.powered),
            format!("disk_seconds={}", to_seconds(now)),
            format!("bytes_above_medium={}", bytes.bytes_at_risk()),
            format!("acknowledged_bytes_above_medium={}", bytes.acknowledged_bytes_at_risk()),
            format!("drives_missing=[{}]", missing.join(",")),
        ]
    }

    fn describe_status(&self, now: Instant) -> String {
        let Receipt { reads, writes, flushes, failures, .. } = self.receipt;
        let power = if self.powered { "on" } else { "off" };
        let missing = match self.content.missing_drives() {
            missing if missing.is_empty() => String::new(),
            missing => {
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                let missing = missing.join(", ");
                format!("; without drives {missing} (a replaced drive counts again after its rebuild and a flush)")
            }
        };
        let syncs = describe_syncs(&self.device.drive_log().syncs);
        let kept = self.content.history_bytes().map_or(String::new(), |kept| format!("; {kept} bytes kept for cuts"));
        format!(
            "power {power} at {} s: {reads} reads, {writes} writes, {flushes} flushes, {failures} failed; {} \
             bytes not yet on the medium, {} of them acknowledged{missing}{syncs}{kept}",
            to_seconds(now),
            self.content.bytes().bytes_at_risk(),
            self.content.bytes().acknowledged_bytes_at_risk()
        )
    }

    /// Cuts the power. Waiting requests fail, those in flight are completed by the device, and the image becomes what
    /// the landings say.
    pub(super) fn cut_power(&mut self, now: Instant) {
        self.planned_cut = None;
        let acknowledged_at_risk = self.content.bytes().acknowledged_bytes_at_risk();
        self.powered = false;
        self.record_event(RecorderEvent::Order(now, "cut"));
        self.device.control(now, &Control::PowerCut).expect("every device can lose its power");
        self.drain_device();
        let applied = self.content.apply_cut(now);
        self.fail_on_error(applied);
        self.receipt.cuts += 1;
        self.receipt.at_risk_bytes = acknowledged_at_risk;
        self.fail_waiting();
    }

    /// Switches the power off in order: waiting requests fail, and the device writes out what it holds.
    pub(super) fn power_off(&mut self, now: Instant) {
        self.powered = false;
        self.fail_waiting();
        self.record_event(RecorderEvent::Order(now, "off"));
        self.device.control(now, &Control::PowerOff).expect("every device can be switched off");
        while let Some(next) = self.device.poll_timeout() {
            self.drain_device();
            self.device.handle_timeout(next);
            self.ran_ahead_to = next;
        }
        self.drain_device();
        // All writes that were answered are on the medium now.
        let applied = self.content.apply_flush(self.stamp + 1);
        self.fail_on_error(applied);
    }
}

/// Rebuilds and checks of an array in words; empty without any.
fn describe_syncs(syncs: &SyncCounts) -> String {
    let parts = [("rebuilt", syncs.rebuilt_sectors), ("checked", syncs.checked_sectors)];
    let parts = parts.iter().filter(|(_, sectors)| *sectors > 0);
    let bytes = parts.map(|(what, sectors)| format!("; {} bytes of each drive {what}", sectors * SECTOR));
    let done: String = bytes.collect();
    if done.is_empty() { done } else { format!("{done} ({} to the end)", syncs.ended) }
}

fn to_seconds(at: Instant) -> f64 {
    (at.nanos() / 1000) as f64 / 1e6
}
