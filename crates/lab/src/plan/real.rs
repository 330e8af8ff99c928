//! The keys of real files and devices, `real.…`: how a cell's job opens the file, whatever the job says itself.

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::dotted::parse_size;
use seekwise_drives::key_names::{is_real_key, real, strip_real};
use seekwise_drives::stack::Setting;
use seekwise_formats::fio::{AccessHint, FioOpenFlags};
use seekwise_formats::keys::REAL;
use seekwise_run::handle::{RealEngine, RealHandle, RealOptions};

use super::Cell;

/// The values of a cell's keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RealKeys {
    /// Options of the place.
    pub wanted: RealOptions,
    direct: Option<bool>,
    engine: Option<RealEngine>,
    drop: Option<bool>,
}

impl RealKeys {
    /// The keys of a cell; `file` names the study in errors.
    pub(crate) fn from_cell(file: &str, cell: &Cell) -> Result<RealKeys, Vec<Diagnostic>> {
        let mut keys = RealKeys::default();
        for (key, value) in cell.settings.iter().filter(|(key, _)| is_real_key(key)) {
            let known = REAL.iter().find(|known| known.0 == key);
            let Some((_, takes, ..)) = known else {
                let fault = Diagnostic::at(file, 0, "unknown key").with_key(key);
                let names = || REAL.iter().map(|known| known.0);
                return Err(vec![
                    fault.with_expected(names().collect::<Vec<_>>().join(", ")).suggest_nearest(key, names()),
                ]);
            };
            keys.take_key(key, value).ok_or_else(|| {
                vec![Diagnostic::at(file, 0, format!("`{value}` is invalid")).with_key(key).with_expected(*takes)]
            })?;
        }
        Ok(keys)
    }

    /// Takes a key; `None` if the value does not fit it.
    fn take_key(&mut self, key: &str, value: &str) -> Option<()> {
        let flag = |value: &str| match value {
            "true" | "on" | "1" => Some(true),
            "false" | "off" | "0" => Some(false),
            _ => None,
        };
        match key {
            real::DIRECT => self.direct = Some(flag(value)?),
            real::ENGINE => {
                self.engine =
                    Some([RealEngine::Ring, RealEngine::Calls].into_iter().find(|engine| engine.name() == value)?);
            }
            real::CACHE => {
                self.drop = Some(match value {
                    "drop" => true,
                    "keep" => false,
                    _ => return None,
                });
            }
            real::LAYOUT => self.wanted.layout = Some(parse_size(value).filter(|bytes| *bytes > 0)?),
            real::SERIAL => {
                self.wanted.hashed = match value {
                    "hash" => true,
                    "plain" => false,
                    _ => return None,
                };
            }
            // The place knows the settings of its disk.
            real::SCHEDULER | real::WRITE_CACHE | real::QUEUE_DEPTH => {
                self.wanted.settings.push((strip_real(key)?.to_owned(), value.to_owned()));
            }
            real::DESTROY => self.wanted.destroy = Some(value.to_owned()).filter(|name| !name.is_empty()),
            _ => return None,
        }
        Some(())
    }

    /// How each worker opens the file: as the job says, then as the keys say, then as this kernel can (`ring`); with a
    /// warning, if any. Without workers, one handle for all.
    pub(crate) fn worker_handles(
        &self,
        opened: Option<&[FioOpenFlags]>,
        ring: &dyn Fn() -> Result<(), String>,
    ) -> Result<(Vec<RealHandle>, Option<String>), String> {
        let mut handles: Vec<RealHandle> = match opened {
            Some(opened) => opened.iter().map(to_handle).collect(),
            None => vec![RealHandle::default()],
        };
        for handle in &mut handles {
            if let Some(direct) = self.direct {
                (handle.direct, handle.hint) = (direct, if direct { AccessHint::None } else { handle.hint });
            }
            handle.engine = self.engine.unwrap_or(handle.engine);
            handle.invalidate = self.drop.unwrap_or(handle.invalidate);
        }
        let rings = |handles: &[RealHandle]| handles.iter().any(|handle| handle.engine == RealEngine::Ring);
        let Some(why) = Some(()).filter(|()| rings(&handles)).and_then(|()| ring().err()) else {
            return Ok((handles, None));
        };
        if self.engine == Some(RealEngine::Ring) {
            return Err(format!("io_uring is forbidden here ({why}); expected real.engine=psync"));
        }
        handles.iter_mut().for_each(|handle| handle.engine = RealEngine::Calls);
        Ok((
            handles,
            Some(format!("io_uring is forbidden here ({why}): each worker makes one call after another (psync)")),
        ))
    }
}

fn to_handle(opened: &FioOpenFlags) -> RealHandle {
    RealHandle {
        engine: if opened.calls { RealEngine::Calls } else { RealEngine::Ring },
        direct: opened.direct,
        invalidate: opened.invalidate,
        data_only: opened.data_only,
        whole: opened.whole,
        hint: opened.hint,
    }
}

/// How the workers open the file, as settings.
pub(crate) fn handle_settings(handles: &[RealHandle]) -> Vec<Setting> {
    let each = |key: &str, word: fn(&RealHandle) -> &'static str| {
        let mut words: Vec<&str> = handles.iter().map(word).collect();
        if words.iter().all(|word| *word == words[0]) {
            words.truncate(1);
        }
        Setting::set_by_user(key.to_owned(), words.join("; "), "the job as it was understood, and `real` keys")
    };
    vec![
        each(real::ENGINE, |handle| handle.engine.name()),
        each(real::DIRECT, |handle| if handle.direct { "true" } else { "false" }),
        each(real::CACHE, |handle| if handle.invalidate { "drop" } else { "keep" }),
        each("real.flush", |handle| if handle.data_only { "fdatasync" } else { "fsync" }),
        each("real.hint", |handle| match handle.hint {
            AccessHint::None => "none",
            AccessHint::Random => "random",
            AccessHint::Sequential => "sequential",
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a cell with these settings, or the error.
    fn keys(set: &[(&str, &str)]) -> Result<RealKeys, String> {
        let settings = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let cell = Cell { levels: Vec::new(), settings };
        RealKeys::from_cell("s.toml", &cell).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn every_key_is_taken_with_each_of_its_values() {
        let none = RealKeys::default();
        let place = |wanted: RealOptions| RealKeys { wanted, ..RealKeys::default() };
        let direct = |it| Some(RealKeys { direct: Some(it), ..none.clone() });
        let engine = |it| Some(RealKeys { engine: Some(it), ..none.clone() });
        let cache = |it| Some(RealKeys { drop: Some(it), ..none.clone() });
        let layout = |it| Some(place(RealOptions { layout: Some(it), ..RealOptions::default() }));
        let hashed = |hashed| Some(place(RealOptions { hashed, ..RealOptions::default() }));
        let setting = |key: &str, value: &str| {
            let settings = vec![(key.to_owned(), value.to_owned())];
            Some(place(RealOptions { settings, ..RealOptions::default() }))
        };
        let destroy = Some(place(RealOptions { destroy: Some("WD-1".to_owned()), ..RealOptions::default() }));
        for (key, value, expected) in [
            ("job.depth", "8", Some(none.clone())),
            ("real.direct", "true", direct(true)),
            ("real.direct", "on", direct(true)),
            ("real.direct", "0", direct(false)),
            ("real.direct", "yes", None),
            ("real.engine", "io_uring", engine(RealEngine::Ring)),
            ("real.engine", "psync", engine(RealEngine::Calls)),
            ("real.engine", "libaio", None),
            ("real.cache", "drop", cache(true)),
            ("real.cache", "keep", cache(false)),
            ("real.cache", "warm", None),
            ("real.layout", "1g", layout(1 << 30)),
            ("real.layout", "0", None),
            ("real.layout", "large", None),
            ("real.serial", "hash", hashed(true)),
            ("real.serial", "plain", hashed(false)),
            ("real.serial", "none", None),
            ("real.scheduler", "mq-deadline", setting("scheduler", "mq-deadline")),
            ("real.write_cache", "unflushed", setting("write_cache", "unflushed")),
            ("real.queue_depth", "4", setting("queue_depth", "4")),
            ("real.destroy", "WD-1", destroy),
            ("real.destroy", "", Some(none.clone())),
        ] {
            let takes = REAL.iter().find(|known| known.0 == key).map_or("", |known| known.1);
            let refused = || format!("s.toml: `{key}`: `{value}` is invalid; expected {takes}");
            assert_eq!(keys(&[(key, value)]), expected.ok_or_else(refused), "{key}={value}");
        }
        // The last one counts; settings of the disk are kept in order.
        let direct = [("real.direct", "true"), ("real.scheduler", "none"), ("real.direct", "off")];
        let several = keys(&[&direct[..], &[("real.queue_depth", "1")]].concat()).unwrap();
        let settings = ["scheduler=none", "queue_depth=1"].map(|it| it.split_once('=').unwrap());
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let wanted = RealOptions { settings, ..RealOptions::default() };
        assert_eq!(several, RealKeys { wanted, direct: Some(false), ..RealKeys::default() });
        let unknown = keys(&[("real.cach", "drop")]).unwrap_err();
        assert!(unknown.starts_with("s.toml: `real.cach`: unknown key; expected real.direct, "), "{unknown}");
        assert!(unknown.ends_with("did you mean `real.cache`?"), "{unknown}");
    }

    #[test]
    fn settings_of_workers_are_said_once_if_all_are_alike() {
        let said = |handles: &[RealHandle]| -> Vec<String> {
            let settings = handle_settings(handles);
            settings.into_iter().map(|setting| format!("{}={}", setting.key, setting.value)).collect()
        };
        let ring = RealHandle::default();
        let other = RealHandle {
            engine: RealEngine::Calls,
            direct: false,
            invalidate: false,
            data_only: false,
            whole: false,
            hint: AccessHint::Random,
        };
        let once =
            ["real.engine=io_uring", "real.direct=true", "real.cache=drop", "real.flush=fdatasync", "real.hint=none"];
        for handles in [&[ring][..], &[ring; 2], &[ring; 3]] {
            assert_eq!(said(handles), once, "{} workers", handles.len());
        }
        let both = [
            "real.engine=io_uring; psync",
            "real.direct=true; false",
            "real.cache=drop; keep",
            "real.flush=fdatasync; fsync",
            "real.hint=none; random",
        ];
        assert_eq!(said(&[ring, other]), both);
        let third = RealHandle { hint: AccessHint::Sequential, ..ring };
        assert_eq!(said(&[ring, ring, third])[3..], ["real.flush=fdatasync", "real.hint=none; none; sequential"]);
    }
}
