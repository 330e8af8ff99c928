//! Scenes: programs on volumes, at once or one after another. A scene is a job; the stack is specified separately.
//!
//! ```toml
//! [system]
//! family = "windows-nt"
//!
//! [pagecache]                       # default: none, every call goes to the drive
//! mib = 256
//!
//! [device.stick]                    # a flash stick beside the drive
//! size_gib = 2
//!
//! [volume.c]                        # in their order on the drive
//! fs = "fat32"
//! size_gib = 8                      # default: the rest
//!                                   # device = "stick"; default: the drive
//!
//! [program.copy]
//! name = "total-commander"          # `seekwise programs` lists them
//! on = "c"                          # default: the only volume
//! to = "c"                          # default: as `on`
//! after = ["unpack"]                # default: at once
//! block_kib = 1024                  # overrides a figure of the program
//! ```
//!
//! Every key is a dotted key of a study and of `--set`: `volume.c.fs`, `program.copy.block_kib`. Values in a scene need
//! no source, as they are the user's.

mod keys;
mod layout_cache;

use std::collections::BTreeSet;

use seekwise_disk::block::SECTOR;
use seekwise_disk::flash::FlashSpec;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::{Diagnostic, sorted_by_line};
use seekwise_drives::figure::{
    Figure, FigureInput, FigureOrigin, FigureReader, Figures, ProfileKey, join_key, parse_setting,
};
use seekwise_drives::stack::{Setting, VOCABULARY, figure_setting};
use seekwise_work::files::pagecache::{PageCacheSpec, ReadAheadRule, WriteBackRule};
use seekwise_work::files::program::ProgramSpec;
use seekwise_work::files::scene::{ProgramPlan, SceneError, SceneSpec, VolumePlan};
use seekwise_work::files::system::{SystemFamily, SystemSpec};
use seekwise_work::files::volume::{
    Aging, Alignment, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec, VolumeError, VolumeFormat, VolumeMisfit,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::program::{self, ENGINES, ProgramEngine, ProgramFile, ProgramVolumes};
pub use keys::ROOTS;
pub(crate) use keys::sections;
use keys::{DEVICE, DEVICE_OF, PAGECACHE, PARTITIONS, PROGRAM, SYSTEM, VOLUME, WORDS};
pub use layout_cache::LayoutCache;

/// A scene as specified, not yet built.
#[derive(Clone, Debug)]
pub struct SceneFile {
    file: String,
    system: SceneTable,
    pagecache: SceneTable,
    partitions: SceneTable,
    devices: Vec<SceneTable>,
    /// In their order on the drive.
    volumes: Vec<SceneTable>,
    programs: Vec<SceneTable>,
}

/// A table of a scene.
#[derive(Clone, Debug, Default)]
struct SceneTable {
    /// The name of a device, a volume or a program.
    name: String,
    line: usize,
    figures: Vec<Figure>,
    /// The [`WORDS`] of a program or the [`DEVICE_OF`] of a volume, with their values and lines.
    words: Vec<(&'static str, Vec<String>, usize)>,
}

/// A scene ready to run.
#[derive(Clone, Debug)]
pub struct BuiltScene {
    /// The scene of the model.
    pub spec: SceneSpec,
    /// The devices beside the drive.
    pub beside: Vec<FlashSpec>,
    /// Every figure that it was built from.
    pub settings: Vec<Setting>,
}

type Errors = Vec<Diagnostic>;

/// The most devices beside the drive.
const MOST_DEVICES: usize = 8;

impl SceneFile {
    /// Whether a text looks like a scene.
    pub fn looks_like(text: &str) -> bool {
        let heads = ["[program.", "[volume."];
        text.lines().map(str::trim_start).any(|line| heads.iter().any(|head| line.starts_with(head)))
    }

    /// Whether a dotted key belongs to a scene.
    pub fn has_key(key: &str) -> bool {
        ROOTS.contains(&key.split('.').next().unwrap_or_default())
    }

    /// The system of a job that is not a scene, from these keys of `pagecache` and `system`, with its figures; Linux
    /// by default. `None` if the size of the cache is 0.
    pub fn system_of_job(file: &str, asked: &[(&str, &str)]) -> Result<Option<(SystemSpec, Vec<Setting>)>, Errors> {
        let mut scene = SceneFile::empty(file);
        scene.set("system.family", "linux")?;
        for (key, value) in asked {
            if !["pagecache", "system"].contains(&key.split('.').next().unwrap_or_default()) {
                let wrong = Diagnostic::at(file, 0, "is not a scene").with_key(*key);
                return Err(vec![wrong.with_expected("a scene, to set keys of volumes and programs")]);
            }
            scene.set(key, value)?;
        }
        // Record only what the user set: a side without a cache has no system.
        let mut settings = Vec::new();
        let family = scene.system_family(&mut settings)?;
        settings.retain(|setting| asked.iter().any(|(key, _)| *key == setting.key));
        let Some(cache) = scene.page_cache(family)? else { return Ok(None) };
        settings.extend(scene.pagecache.figures.iter().map(|figure| figure_setting("pagecache", figure)));
        Ok(Some((SystemSpec { family, largest: u32::MAX, cache: Some(cache) }, settings)))
    }

    fn empty(file: &str) -> SceneFile {
        SceneFile {
            file: file.to_owned(),
            system: SceneTable::default(),
            pagecache: SceneTable::default(),
            partitions: SceneTable::default(),
            devices: Vec::new(),
            volumes: Vec::new(),
            programs: Vec::new(),
        }
    }

    /// Reads a scene; `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<SceneFile, Errors> {
        let mut reader = FigureReader::new(file, text, &VOCABULARY);
        let table = reader.parse_table();
        let mut scene = SceneFile::empty(file);
        for (name, value) in &table {
            let line = reader.line_at(name.span().start);
            match name.get_ref().as_ref() {
                "system" => scene.system = read_table(&mut reader, "system", SYSTEM, line, value),
                "pagecache" => scene.pagecache = read_table(&mut reader, "pagecache", PAGECACHE, line, value),
                "partitions" => scene.partitions = read_table(&mut reader, "partitions", PARTITIONS, line, value),
                "device" => scene.devices = read_named(&mut reader, "device", DEVICE, line, value),
                "volume" => scene.volumes = read_named(&mut reader, "volume", VOLUME, line, value),
                "program" => scene.programs = read_named(&mut reader, "program", program::keys(), line, value),
                other => {
                    let wrong = reader.diagnostic(line, "unknown key").with_key(other);
                    reader.errors.push(wrong.with_expected(ROOTS.join(", ")).suggest_nearest(other, ROOTS));
                }
            }
        }
        for (what, there) in [("volume", !scene.volumes.is_empty()), ("program", !scene.programs.is_empty())] {
            if !there && reader.errors.is_empty() {
                let wrong = reader.diagnostic(0, format!("has no {what}")).with_key(what);
                reader.errors.push(wrong.with_expected(format!("[{what}.NAME], one or more")));
            }
        }
        match reader.errors.is_empty() {
            true => Ok(scene),
            false => Err(sorted_by_line(reader.errors)),
        }
    }

    /// Sets a dotted key, as `--set` does.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Errors> {
        let (root, below) = key.split_once('.').unwrap_or((key, ""));
        let (part, layer, below, keys): (&mut SceneTable, String, &str, &'static [ProfileKey]) = match root {
            "system" => (&mut self.system, root.to_owned(), below, SYSTEM),
            "pagecache" => (&mut self.pagecache, root.to_owned(), below, PAGECACHE),
            "partitions" => (&mut self.partitions, root.to_owned(), below, PARTITIONS),
            _ => {
                let (name, below) = below.split_once('.').unwrap_or((below, ""));
                let (parts, keys) = match root {
                    "device" => (&mut self.devices, DEVICE),
                    "volume" => (&mut self.volumes, VOLUME),
                    _ => (&mut self.programs, program::keys()),
                };
                let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
                let Some(part) = parts.iter_mut().find(|part| part.name == name) else {
                    let wrong = Diagnostic::at("--set", 0, format!("the scene has no {root} `{name}`")).with_key(key);
                    let known = names.iter().map(String::as_str);
                    return Err(vec![wrong.with_expected(names.join(", ")).suggest_nearest(name, known)]);
                };
                (part, join_key(root, name), below, keys)
            }
        };
        if let Some(word) = words_of(root).iter().find(|word| **word == below) {
            let list = text.split([',', ' ']).map(|word| word.trim_matches(['[', ']', '"']));
            let list = list.filter(|word| !word.is_empty()).map(str::to_owned).collect();
            part.words.retain(|(known, ..)| known != word);
            part.words.push((word, list, 0));
            return Ok(());
        }
        let keys = if root == "program" && PROGRAM.iter().any(|key| key.path == below) { PROGRAM } else { keys };
        match parse_setting(keys, &layer, below, text, &VOCABULARY)? {
            FigureInput::Figure(figure) => {
                part.figures.retain(|known| known.key != figure.key);
                part.figures.push(figure);
            }
            FigureInput::None(key) if root == "program" && !PROGRAM.iter().any(|known| known.path == key) => {
                let wrong = Diagnostic::at("--set", 0, "a figure of a program cannot be omitted")
                    .with_key(join_key(&layer, key));
                return Err(vec![wrong.with_expected("a value other than none")]);
            }
            FigureInput::None(key) => part.figures.retain(|known| known.key != key),
        }
        Ok(())
    }

    /// Builds the scene for a drive of this many sectors. To see whether it fits, all its files are laid out, which takes
    /// milliseconds; a layout that `cache` has seen fit is not tried again.
    pub fn build(&self, sectors: u64, runtime: Option<Span>, cache: &LayoutCache) -> Result<BuiltScene, Errors> {
        let mut settings = Vec::new();
        let family = self.system_family(&mut settings)?;
        let beside = self.devices.iter().map(|part| self.build_device(part, &mut settings));
        let beside = beside.collect::<Result<Vec<FlashSpec>, Errors>>()?;
        let volumes = self.volumes.iter().map(|part| self.build_volume(part, family, &mut settings));
        let volumes = volumes.collect::<Result<Vec<VolumePlan>, Errors>>()?;
        let partitions = Figures::new(PARTITIONS, &self.partitions.figures);
        let alignment = match partitions.word("alignment") {
            "cylinders" => Alignment::Cylinders,
            _ => Alignment::Mebibytes,
        };
        settings.extend(self.partitions.figures.iter().map(|figure| figure_setting("partitions", figure)));
        let order = self.part_names(&self.volumes).join(", ");
        settings.push(Setting::set_by_user("partitions.order".to_owned(), order, "the order in which they stand"));
        let programs = self.programs.iter().map(|part| self.build_program(part, &mut settings));
        let mut programs = programs.collect::<Result<Vec<ProgramPlan>, Errors>>()?;
        for (plan, part) in programs.iter_mut().zip(&self.programs) {
            plan.after = self.prior_programs(part)?;
        }
        self.check_order(&programs)?;
        let system = SystemSpec { family, largest: u32::MAX, cache: self.page_cache(family)? };
        settings.extend(self.pagecache.figures.iter().map(|figure| figure_setting("pagecache", figure)));
        let volume_names = self.part_names(&self.volumes);
        let name = self.file.clone();
        let limits = beside.iter().map(FlashSpec::limits).collect();
        let spec = SceneSpec { name, system, alignment, beside: limits, volumes, volume_names, programs, runtime };
        let layout = spec.trial_layout(sectors);
        if !cache.contains(&layout) {
            layout.check_fit().map_err(|unfit| vec![self.unfit_error(unfit)])?;
            cache.add(layout);
        }
        Ok(BuiltScene { spec, beside, settings })
    }

    fn part_names(&self, parts: &[SceneTable]) -> Vec<String> {
        parts.iter().map(|part| part.name.clone()).collect()
    }

    fn diagnostic(&self, line: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.file, line, message)
    }

    /// Reports a missing required key of a table.
    fn check_required(&self, part: &SceneTable, layer: &str, keys: &'static [ProfileKey]) -> Result<(), Errors> {
        let has = |key: &&ProfileKey| part.figures.iter().any(|figure| figure.key == key.path);
        let missing = keys.iter().filter(|key| key.required).find(|key| !has(key));
        missing.map_or(Ok(()), |key| {
            let wrong = self.diagnostic(part.line, "missing key").with_key(join_key(layer, key.path));
            Err(vec![wrong.with_expected(key.accepts.to_string())])
        })
    }

    fn system_family(&self, settings: &mut Vec<Setting>) -> Result<SystemFamily, Errors> {
        self.check_required(&self.system, "system", SYSTEM)?;
        settings.extend(self.system.figures.iter().map(|figure| figure_setting("system", figure)));
        Ok(match Figures::new(SYSTEM, &self.system.figures).word("family") {
            "windows-98" => SystemFamily::Windows98,
            "linux" => SystemFamily::Linux,
            _ => SystemFamily::WindowsNt,
        })
    }

    /// The page cache of the system, with overrides.
    fn page_cache(&self, family: SystemFamily) -> Result<Option<PageCacheSpec>, Errors> {
        let it = Figures::new(PAGECACHE, &self.pagecache.figures);
        let bytes = (it.number("mib") * (1u64 << 20) as f64).round() as u64;
        let of_linux = ["background_percent", "wake_s", "expire_s"];
        if let (true, Some(key)) = (family != SystemFamily::Linux, of_linux.into_iter().find(|key| it.is_given(key))) {
            let wrong = self.diagnostic(it.line(key), "has no effect here").with_key(join_key("pagecache", key));
            return Err(vec![wrong.with_expected("`system.family` = linux as well")]);
        }
        if bytes == 0 {
            return Ok(None);
        }
        let mut cache = match family {
            SystemFamily::Windows98 => PageCacheSpec::windows_98(bytes),
            SystemFamily::WindowsNt => PageCacheSpec::windows_nt(bytes),
            SystemFamily::Linux => PageCacheSpec::linux(bytes),
        };
        let kib = |key: &str| it.may_whole(key).map(|kib| kib << 10);
        let seconds = |key: &str| it.may_number(key).map(|s| Span::from_nanos((s * 1e9).round() as u64));
        match &mut cache.ahead {
            ReadAheadRule::Granule { bytes: most, .. } | ReadAheadRule::Window(most) => {
                *most = kib("read_ahead_kib").unwrap_or(*most)
            }
        }
        match &mut cache.back {
            WriteBackRule::Lazy { most, files, .. } => {
                *most = kib("write_kib").unwrap_or(*most);
                *files = it.may_count("writers").unwrap_or(*files);
            }
            WriteBackRule::Flusher { wake, expire, background, chunk, chunks } => {
                *wake = seconds("wake_s").unwrap_or(*wake);
                *expire = seconds("expire_s").unwrap_or(*expire);
                *background = it.may_count("background_percent").unwrap_or(*background);
                *chunk = kib("write_kib").unwrap_or(*chunk);
                *chunks = it.may_count("writers").unwrap_or(*chunks);
            }
        }
        cache.limit = it.may_count("dirty_percent").unwrap_or(cache.limit);
        cache.call = if it.is_given("call_us") { it.micros("call_us") } else { cache.call };
        cache.copy = if it.is_given("copy_mb_s") { it.bytes_per_s("copy_mb_s") } else { cache.copy };
        Ok(Some(cache))
    }

    /// A device beside the drive, with all its figures.
    fn build_device(&self, part: &SceneTable, settings: &mut Vec<Setting>) -> Result<FlashSpec, Errors> {
        let layer = join_key("device", &part.name);
        self.check_required(part, &layer, DEVICE)?;
        if self.devices.len() > MOST_DEVICES {
            let wrong =
                self.diagnostic(part.line, format!("{} devices beside the drive", self.devices.len())).with_key(layer);
            return Err(vec![wrong.with_expected(format!("at most {MOST_DEVICES}"))]);
        }
        let it = Figures::new(DEVICE, &part.figures);
        for key in DEVICE {
            settings.push(match it.find(key.path) {
                Some(figure) => figure_setting(&layer, figure),
                None => Setting {
                    key: join_key(&layer, key.path),
                    value: key.otherwise.to_owned(),
                    unit: key.unit.to_owned(),
                    kind: FigureOrigin::Inferred,
                    source: key.meaning.to_owned(),
                },
            });
        }
        Ok(FlashSpec {
            sectors: (it.number("size_gib") * (1u64 << 30) as f64).round() as u64 / SECTOR,
            largest: it.count("request_kib") * 1024 / SECTOR as u32,
            read: it.span("read_ms"),
            write: it.span("write_ms"),
            read_rate: it.bytes_per_s("read_mb_s"),
            write_rate: it.bytes_per_s("write_mb_s"),
        })
    }

    /// The unit that a volume lies on: the drive, or the device that it names.
    fn volume_unit(&self, part: &SceneTable, settings: &mut Vec<Setting>) -> Result<u8, Errors> {
        let Some((name, line)) = part.first_word(DEVICE_OF) else { return Ok(0) };
        let names = self.part_names(&self.devices);
        let key = format!("volume.{}.{DEVICE_OF}", part.name);
        let Some(at) = names.iter().position(|known| known == name) else {
            let wrong = self.diagnostic(line, format!("the scene has no device `{name}`")).with_key(key);
            let wrong = wrong.with_expected(if names.is_empty() {
                "a table [device.NAME]".to_owned()
            } else {
                names.join(", ")
            });
            return Err(vec![wrong.suggest_nearest(name, names.iter().map(String::as_str))]);
        };
        settings.push(Setting::set_by_user(key, name.to_owned(), "the scene"));
        Ok(at as u8 + 1)
    }

    fn build_volume(
        &self,
        part: &SceneTable,
        family: SystemFamily,
        settings: &mut Vec<Setting>,
    ) -> Result<VolumePlan, Errors> {
        let layer = join_key("volume", &part.name);
        self.check_required(part, &layer, VOLUME)?;
        settings.extend(part.figures.iter().map(|figure| figure_setting(&layer, figure)));
        let it = Figures::new(VOLUME, &part.figures);
        let fs = it.word("fs");
        if let Some((key, needs)) = keys::find_meaningless_key(fs, &it) {
            let wrong = self.diagnostic(it.line(key), "has no effect here").with_key(join_key(&layer, key));
            return Err(vec![wrong.with_expected(format!("`{layer}.fs` = {needs} as well"))]);
        }
        let cluster = it.may_count("cluster");
        let format = match fs {
            "fat32" => {
                let host = if family == SystemFamily::Windows98 { FatDriver::Windows98 } else { FatDriver::Nt };
                VolumeFormat::Fat32(Fat32Spec { cluster, host })
            }
            "ntfs" => VolumeFormat::Ntfs(NtfsSpec { cluster: cluster.unwrap_or(4096) }),
            _ => VolumeFormat::Ext4(Ext4Spec {
                barrier: it.flag("barrier"),
                commit: Span::from_nanos((it.number("commit_s") * 1e9).round() as u64),
            }),
        };
        Ok(VolumePlan {
            unit: self.volume_unit(part, settings)?,
            bytes: it.may_number("size_gib").map_or(0, |gib| (gib * (1u64 << 30) as f64).round() as u64),
            format,
            aging: Aging { fragments: (it.number("fragments") * 100.0).round() as u32, gap_kib: it.count("gap_kib") },
            files: program::file_set(&it),
        })
    }

    /// The program that a part names.
    fn find_program(&self, part: &SceneTable) -> Result<&'static ProgramFile, Errors> {
        let key = format!("program.{}.name", part.name);
        let Some((name, line)) = part.first_word("name") else {
            let wrong = self.diagnostic(part.line, "missing key").with_key(key);
            return Err(vec![wrong.with_expected("the name of a program (see `seekwise programs`)")]);
        };
        program::find_program(name).ok_or_else(|| {
            let known = program::programs().iter().map(|program| program.name.as_str());
            let wrong = self.diagnostic(line, format!("unknown program `{name}`")).with_key(key);
            let wrong = wrong.with_expected("the name of a program (see `seekwise programs`)");
            vec![wrong.suggest_nearest(name, known)]
        })
    }

    fn build_program(&self, part: &SceneTable, settings: &mut Vec<Setting>) -> Result<ProgramPlan, Errors> {
        let file = self.find_program(part)?;
        let engine = ENGINES.iter().find(|engine| engine.name == file.engine).expect("each program has an engine");
        let layer = join_key("program", &part.name);
        let (own, figures) = self.program_figures(part, file, engine)?;
        let on = self.volume_of(part, "on", None)?;
        let to = self.volume_of(part, "to", Some(on))?;
        let doing: ProgramSpec = (engine.build)(&Figures::new(engine.keys, &figures), ProgramVolumes { on, to });
        let fs = Figures::new(VOLUME, &self.volumes[usize::from(on)].figures).word("fs");
        if let (ProgramSpec::Defragment(_), "ext4") = (&doing, fs) {
            let wrong =
                self.diagnostic(part.line, "ext4 has no call to move parts of a file").with_key(join_key(&layer, "on"));
            return Err(vec![wrong.with_expected("a volume of fat32 or ntfs")]);
        }
        let it = Figures::new(PROGRAM, &own);
        let asked = |key: &str, value: String| Setting::set_by_user(join_key(&layer, key), value, "the scene");
        settings.push(asked("name", file.name.clone()));
        for (key, volume) in [("on", on), ("to", to)] {
            settings.push(asked(key, self.volumes[usize::from(volume)].name.clone()));
        }
        settings.extend(part.word_list("after").map(|(names, _)| asked("after", names.join(", "))));
        settings.extend(own.iter().chain(&figures).map(|figure| figure_setting(&layer, figure)));
        let (cold, sync, background) = (it.flag("cold"), it.flag("sync"), it.flag("background"));
        Ok(ProgramPlan { name: part.name.clone(), doing, after: Vec::new(), cold, sync, background })
    }

    /// The figures of the program in the scene, and those of its engine.
    fn program_figures(
        &self,
        part: &SceneTable,
        file: &ProgramFile,
        engine: &ProgramEngine,
    ) -> Result<(Vec<Figure>, Vec<Figure>), Errors> {
        let is_own = |figure: &&Figure| PROGRAM.iter().any(|key| key.path == figure.key);
        let (own, set): (Vec<&Figure>, Vec<&Figure>) = part.figures.iter().partition(is_own);
        let mut figures = file.figures.clone();
        for figure in set {
            let Some(place) = figures.iter().position(|known| known.key == figure.key) else {
                let key = format!("program.{}.{}", part.name, figure.key);
                let wrong = self.diagnostic(figure.line, format!("`{}` has no such figure", file.name)).with_key(&key);
                let paths = engine.keys.iter().map(|key| key.path);
                return Err(vec![wrong.with_expected(paths.clone().collect::<Vec<_>>().join(", "))]);
            };
            figures[place] = figure.clone();
        }
        Ok((own.into_iter().cloned().collect(), figures))
    }

    /// The volume that a program names, or the only one, or `otherwise`.
    fn volume_of(&self, part: &SceneTable, key: &'static str, otherwise: Option<u8>) -> Result<u8, Errors> {
        let full = format!("program.{}.{key}", part.name);
        let names = self.part_names(&self.volumes);
        match (part.first_word(key), otherwise) {
            (None, Some(volume)) => Ok(volume),
            (None, None) if names.len() == 1 => Ok(0),
            (None, None) => Err(vec![
                self.diagnostic(part.line, "missing key")
                    .with_key(full)
                    .with_expected(format!("one of {}", names.join(", "))),
            ]),
            (Some((name, line)), _) => {
                names.iter().position(|known| known == name).map(|at| at as u8).ok_or_else(|| {
                    let wrong = self.diagnostic(line, format!("the scene has no volume `{name}`")).with_key(full);
                    vec![wrong.with_expected(names.join(", ")).suggest_nearest(name, names.iter().map(String::as_str))]
                })
            }
        }
    }

    /// The indices of the programs that a program waits for.
    fn prior_programs(&self, part: &SceneTable) -> Result<Vec<usize>, Errors> {
        let names = self.part_names(&self.programs);
        let (words, line) = part.word_list("after").unwrap_or((&[], 0));
        let place = |word: &String| {
            names.iter().position(|name| name == word).ok_or_else(|| {
                let key = format!("program.{}.after", part.name);
                let wrong = self.diagnostic(line, format!("the scene has no program `{word}`")).with_key(key);
                vec![wrong.with_expected(names.join(", ")).suggest_nearest(word, names.iter().map(String::as_str))]
            })
        };
        words.iter().map(place).collect()
    }

    /// Reports programs that wait for each other in a circle, and scenes that never end.
    fn check_order(&self, programs: &[ProgramPlan]) -> Result<(), Errors> {
        let mut over: BTreeSet<usize> = BTreeSet::new();
        loop {
            let ready =
                |at: &usize| !over.contains(at) && programs[*at].after.iter().all(|before| over.contains(before));
            match (0..programs.len()).find(ready) {
                Some(at) => over.insert(at),
                None => break,
            };
        }
        if let Some(first) = (0..programs.len()).find(|at| !over.contains(at)) {
            let mut circle = vec![first];
            // Each remaining program waits for another one; the first that is reached twice closes the circle.
            let closed = loop {
                let last = circle[circle.len() - 1];
                let next = *programs[last].after.iter().find(|before| !over.contains(before)).expect("it waits");
                if let Some(at) = circle.iter().position(|seen| *seen == next) {
                    circle.push(next);
                    break at;
                }
                circle.push(next);
            };
            let names: Vec<&str> = circle[closed..].iter().map(|&at| self.programs[at].name.as_str()).collect();
            let part = &self.programs[circle[closed]];
            let line = part.word_list("after").map_or(part.line, |(_, line)| line);
            let wrong = self.diagnostic(line, format!("waits for itself: {}", names.join(" after ")));
            let key = format!("program.{}.after", part.name);
            return Err(vec![wrong.with_key(key).with_expected("programs that can finish before it starts")]);
        }
        if programs.iter().all(|program| program.background) {
            let part = &self.programs[0];
            let wrong = self.diagnostic(part.line, "all programs are in the background, so the scene never ends");
            return Err(vec![
                wrong.with_key(format!("program.{}.background", part.name)).with_expected("a program that is not"),
            ]);
        }
        Ok(())
    }

    /// Why the scene does not fit its drive, at the line responsible.
    fn unfit_error(&self, unfit: SceneError) -> Diagnostic {
        match unfit {
            SceneError::Volume(at, misfit) => self.misfit_error(&self.volumes[at], misfit),
            SceneError::Files(at, refused) => {
                let part = &self.volumes[at];
                let line = Figures::new(VOLUME, &part.figures).line("files").max(part.line);
                let wrong = self.diagnostic(line, format!("the files do not fit: {refused}"));
                wrong.with_key(format!("volume.{}.files", part.name)).with_expected(room_hint(refused))
            }
            SceneError::Program(at, refused) => {
                let part = &self.programs[at];
                let wrong = self.diagnostic(part.line, format!("its files do not fit: {refused}"));
                wrong.with_key(format!("program.{}", part.name)).with_expected(room_hint(refused))
            }
        }
    }

    fn misfit_error(&self, part: &SceneTable, misfit: VolumeMisfit) -> Diagnostic {
        let it = Figures::new(VOLUME, &part.figures);
        let wrong = |key: &str, message: String| {
            let line = if it.line(key) > 0 { it.line(key) } else { part.line };
            self.diagnostic(line, message).with_key(format!("volume.{}.{key}", part.name))
        };
        let gib = |sectors: u64| format!("{:.3} GiB", sectors as f64 * SECTOR as f64 / (1u64 << 30) as f64);
        match misfit {
            VolumeMisfit::BeyondDrive { end, drive } => {
                let device = part.first_word(DEVICE_OF).map_or("the drive", |(name, _)| name);
                let message = format!("would end at {}, and {device} has {}", gib(end), gib(drive));
                wrong("size_gib", message).with_expected(format!("volumes that fit on {device} one after another"))
            }
            VolumeMisfit::Cluster { least, most } => {
                let message = "invalid cluster size".to_owned();
                wrong("cluster", message).with_expected(format!("a power of two from {least} to {most} bytes"))
            }
            VolumeMisfit::TooSmall { least } => wrong("size_gib", "too small for the file system".to_owned())
                .with_expected(format!("at least {}", gib(least))),
            VolumeMisfit::TooLarge { most } => {
                let message = "has more clusters than the file system can address".to_owned();
                wrong("cluster", message)
                    .with_expected(format!("at most {most} clusters: use larger clusters or a smaller volume"))
            }
        }
    }
}

/// The hint about what would fit.
fn room_hint(refused: VolumeError) -> &'static str {
    match refused {
        VolumeError::TooLarge { .. } => "smaller files, or a file system for larger ones",
        _ => "fewer or smaller files, or a larger volume",
    }
}

impl SceneTable {
    /// The value of one of the [`WORDS`], and its line.
    fn word_list(&self, key: &str) -> Option<(&[String], usize)> {
        self.words.iter().find(|(known, ..)| *known == key).map(|(_, list, line)| (&list[..], *line))
    }

    /// The first value of one of the [`WORDS`], and its line.
    fn first_word(&self, key: &str) -> Option<(&str, usize)> {
        self.word_list(key).and_then(|(list, line)| list.first().map(|word| (word.as_str(), line)))
    }
}

/// The tables below `device`, `volume` or `program`, in their order in the file.
fn read_named(
    reader: &mut FigureReader<'_>,
    root: &str,
    keys: &'static [ProfileKey],
    line: usize,
    value: &Spanned<DeValue<'_>>,
) -> Vec<SceneTable> {
    let Some(table) = value.get_ref().as_table() else {
        let wrong = reader.diagnostic(line, "is not a table").with_key(root);
        reader.errors.push(wrong.with_expected(format!("[{root}.NAME]")));
        return Vec::new();
    };
    let mut parts: Vec<(usize, SceneTable)> = Vec::new();
    for (name, value) in table {
        let (start, line) = (name.span().start, reader.line_at(name.span().start));
        let part = read_table(reader, &join_key(root, name.get_ref()), keys, line, value);
        parts.push((start, SceneTable { name: name.get_ref().to_string(), ..part }));
    }
    parts.sort_by_key(|(start, _)| *start);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The keys of a table that are names.
fn words_of(root: &str) -> &'static [&'static str] {
    match root {
        "program" => &WORDS,
        "volume" => &[DEVICE_OF],
        _ => &[],
    }
}

/// Reads a table.
fn read_table(
    reader: &mut FigureReader<'_>,
    layer: &str,
    keys: &'static [ProfileKey],
    line: usize,
    value: &Spanned<DeValue<'_>>,
) -> SceneTable {
    let mut part = SceneTable { line, ..SceneTable::default() };
    let Some(table) = value.get_ref().as_table() else {
        let wrong = reader.diagnostic(line, "is not a table").with_key(layer);
        reader.errors.push(wrong.with_expected(format!("[{layer}]")));
        return part;
    };
    let (mut table, mut own) = (table.clone(), DeTable::new());
    let words = words_of(layer.split('.').next().unwrap_or_default());
    part.words = words.iter().filter_map(|word| read_word(reader, layer, word, &mut table)).collect();
    if layer.starts_with("program.") {
        for key in PROGRAM {
            own.extend(table.remove_entry(key.path));
        }
    }
    let before = reader.errors.len();
    reader.read_figures(&table, "", keys, true, &mut part.figures);
    reader.read_figures(&own, "", PROGRAM, true, &mut part.figures);
    for error in &mut reader.errors[before..] {
        let word = error.key.clone().unwrap_or_default();
        error.key = error.key.take().map(|key| join_key(layer, &key));
        if error.message == "unknown key" && !words.is_empty() {
            let own = if layer.starts_with("program.") { PROGRAM } else { &[] };
            let all = keys.iter().chain(own).map(|key| key.path).chain(words.iter().copied());
            error.nearest = Diagnostic::at("", 0, "").suggest_nearest(&word, all).nearest;
        }
        if error.message == "unknown key" {
            error.nearest = error.nearest.take().map(|near| join_key(layer, &near));
            if error.nearest.is_none() {
                error.expected = Some(offered_keys(layer, keys, words, &part));
            }
        }
    }
    part
}

/// The keys that a part may have, for unknown keys without a suggestion; for a program, the command that lists them.
fn offered_keys(layer: &str, keys: &[ProfileKey], words: &[&str], part: &SceneTable) -> String {
    if let Some(own) = layer.strip_prefix("program.") {
        let named = part.words.iter().find(|(word, ..)| *word == "name").and_then(|(_, names, _)| names.first());
        return format!("a figure of that program: `seekwise programs {}`", named.map_or(own, String::as_str));
    }
    words.iter().copied().chain(keys.iter().map(|key| key.path)).collect::<Vec<_>>().join(", ")
}

/// Reads one of the [`WORDS`]: a string or a list of strings.
fn read_word(
    reader: &mut FigureReader<'_>,
    layer: &str,
    word: &'static str,
    table: &mut DeTable<'_>,
) -> Option<(&'static str, Vec<String>, usize)> {
    let (name, value) = table.remove_entry(word)?;
    let line = reader.line_at(name.span().start);
    let list = match value.get_ref() {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(list) if word == "after" => {
            list.iter().map(|text| text.get_ref().as_str().map(str::to_owned)).collect()
        }
        _ => None,
    };
    if list.is_none() {
        let wrong =
            reader.diagnostic(line, format!("has type {}", value.get_ref().type_str())).with_key(join_key(layer, word));
        reader.errors.push(wrong.with_expected(if word == "after" { "a list of programs" } else { "a string" }));
    }
    list.map(|list| (word, list, line))
}

#[cfg(test)]
#[path = "scene/tests.rs"]
mod tests;
