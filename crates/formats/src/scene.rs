//! Reads scenes and builds them for the model (`seekwise_work::files`): programs that run on volumes, at once or one after
//! another. A scene is a job; the stack is specified separately. The format is this project's own.
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
//! Every key is a dotted key of a study and of `--set`: `volume.c.fs`, `program.copy.block_kib`. Values in a scene are
//! the user's and need no source.

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
pub(crate) use keys::keys_by_prefix;
use keys::{DEVICE, PAGECACHE, PARTITIONS, PROGRAM, PROGRAM_NAME_KEYS, SYSTEM, VOLUME, VOLUME_DEVICE};
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
    /// Values of the [`PROGRAM_NAME_KEYS`] of a program or the [`VOLUME_DEVICE`] of a volume.
    names: Vec<KeyNames>,
}

/// The value of a key that holds one name or several.
#[derive(Clone, Debug)]
struct KeyNames {
    key: &'static str,
    names: Vec<String>,
    line: usize,
}

/// Figures of a program's table in a scene.
struct ProgramFigures {
    /// Figures that any program has: [`PROGRAM`].
    of_scene: Vec<Figure>,
    /// Figures of the engine: the program's file, with the scene's overrides.
    of_engine: Vec<Figure>,
}

/// A scene ready to run.
#[derive(Clone, Debug)]
pub struct BuiltScene {
    /// The scene of the model.
    pub spec: SceneSpec,
    /// The devices beside the drive.
    pub beside: Vec<FlashSpec>,
    /// Every figure that the scene was built from.
    pub settings: Vec<Setting>,
}

type Errors = Vec<Diagnostic>;

/// The most devices beside the drive.
const MOST_DEVICES: usize = 8;

impl SceneFile {
    /// True if a text has the head of a program's or a volume's table.
    pub fn looks_like(text: &str) -> bool {
        let heads = ["[program.", "[volume."];
        text.lines().map(str::trim_start).any(|line| heads.iter().any(|head| line.starts_with(head)))
    }

    /// True if a dotted key belongs to a scene.
    pub fn has_key(key: &str) -> bool {
        ROOTS.contains(&key.split('.').next().unwrap_or_default())
    }

    /// The system of a job that is not a scene, from keys of `pagecache` and `system` and their values, with the settings that
    /// result; Linux by default. `None` if the size of the cache is 0.
    pub fn system_of_job(
        file: &str,
        keys_and_values: &[(&str, &str)],
    ) -> Result<Option<(SystemSpec, Vec<Setting>)>, Errors> {
        let mut scene = SceneFile::empty(file);
        scene.set("system.family", "linux")?;
        for (key, value) in keys_and_values {
            if !["pagecache", "system"].contains(&key.split('.').next().unwrap_or_default()) {
                let error = Diagnostic::at(file, 0, "is not a scene").with_key(*key);
                return Err(vec![error.with_expected("a scene, to set keys of volumes and programs")]);
            }
            scene.set(key, value)?;
        }
        // Settings of the user alone are recorded: a compared side without a cache has no system, so a default would be a
        // difference.
        let mut settings = Vec::new();
        let family = scene.build_system_family(&mut settings)?;
        settings.retain(|setting| keys_and_values.iter().any(|(key, _)| *key == setting.key));
        let Some(cache) = scene.build_page_cache(family)? else { return Ok(None) };
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
                "device" => scene.devices = read_named_tables(&mut reader, "device", DEVICE, line, value),
                "volume" => scene.volumes = read_named_tables(&mut reader, "volume", VOLUME, line, value),
                "program" => {
                    scene.programs = read_named_tables(&mut reader, "program", program::figure_keys(), line, value)
                }
                other => {
                    let error = reader.diagnostic(line, "unknown key").with_key(other);
                    reader.errors.push(error.with_expected(ROOTS.join(", ")).suggest_nearest(other, ROOTS));
                }
            }
        }
        for (what, is_given) in [("volume", !scene.volumes.is_empty()), ("program", !scene.programs.is_empty())] {
            if !is_given && reader.errors.is_empty() {
                let error = reader.diagnostic(0, format!("has no {what}")).with_key(what);
                reader.errors.push(error.with_expected(format!("[{what}.NAME], one or more")));
            }
        }
        match reader.errors.is_empty() {
            true => Ok(scene),
            false => Err(sorted_by_line(reader.errors)),
        }
    }

    /// Sets a dotted key, as `--set` does.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Errors> {
        let (root, below) = key.split_once('.').unwrap_or((key, ""));
        let (table, layer, below, keys): (&mut SceneTable, String, &str, &'static [ProfileKey]) = match root {
            "system" => (&mut self.system, root.to_owned(), below, SYSTEM),
            "pagecache" => (&mut self.pagecache, root.to_owned(), below, PAGECACHE),
            "partitions" => (&mut self.partitions, root.to_owned(), below, PARTITIONS),
            _ => {
                let (name, below) = below.split_once('.').unwrap_or((below, ""));
                let (tables, keys) = match root {
                    "device" => (&mut self.devices, DEVICE),
                    "volume" => (&mut self.volumes, VOLUME),
                    _ => (&mut self.programs, program::figure_keys()),
                };
                let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
                let Some(table) = tables.iter_mut().find(|table| table.name == name) else {
                    let error = Diagnostic::at("--set", 0, format!("the scene has no {root} `{name}`")).with_key(key);
                    let known = names.iter().map(String::as_str);
                    return Err(vec![error.with_expected(names.join(", ")).suggest_nearest(name, known)]);
                };
                (table, join_key(root, name), below, keys)
            }
        };
        if let Some(name_key) = name_keys_of(root).iter().find(|name_key| **name_key == below) {
            let list = value.split([',', ' ']).map(|name| name.trim_matches(['[', ']', '"']));
            let names = list.filter(|name| !name.is_empty()).map(str::to_owned).collect();
            table.names.retain(|known| known.key != *name_key);
            table.names.push(KeyNames { key: name_key, names, line: 0 });
            return Ok(());
        }
        let keys = if root == "program" && PROGRAM.iter().any(|key| key.path == below) { PROGRAM } else { keys };
        match parse_setting(keys, &layer, below, value, &VOCABULARY)? {
            FigureInput::Figure(figure) => {
                table.figures.retain(|known| known.key != figure.key);
                table.figures.push(figure);
            }
            FigureInput::None(key) if root == "program" && !PROGRAM.iter().any(|known| known.path == key) => {
                let error = Diagnostic::at("--set", 0, "a figure of a program cannot be omitted")
                    .with_key(join_key(&layer, key));
                return Err(vec![error.with_expected("a value other than none")]);
            }
            FigureInput::None(key) => table.figures.retain(|known| known.key != key),
        }
        Ok(())
    }

    /// Builds the scene for a drive of this many sectors. A trial lays out all files to check that they fit, which takes
    /// milliseconds; a layout that is in `known_layouts` fits and is not tried again.
    pub fn build(
        &self,
        drive_sectors: u64,
        runtime: Option<Span>,
        known_layouts: &LayoutCache,
    ) -> Result<BuiltScene, Errors> {
        let mut settings = Vec::new();
        let family = self.build_system_family(&mut settings)?;
        let beside = self.devices.iter().map(|table| self.build_device(table, &mut settings));
        let beside = beside.collect::<Result<Vec<FlashSpec>, Errors>>()?;
        let volumes = self.volumes.iter().map(|table| self.build_volume(table, family, &mut settings));
        let volumes = volumes.collect::<Result<Vec<VolumePlan>, Errors>>()?;
        let partitions = Figures::new(PARTITIONS, &self.partitions.figures);
        let alignment = match partitions.word("alignment") {
            "cylinders" => Alignment::Cylinders,
            _ => Alignment::Mebibytes,
        };
        settings.extend(self.partitions.figures.iter().map(|figure| figure_setting("partitions", figure)));
        let order = table_names(&self.volumes).join(", ");
        settings.push(Setting::set_by_user("partitions.order".to_owned(), order, "the order in which they stand"));
        let programs = self.programs.iter().map(|table| self.build_program(table, &mut settings));
        let mut programs = programs.collect::<Result<Vec<ProgramPlan>, Errors>>()?;
        for (plan, table) in programs.iter_mut().zip(&self.programs) {
            plan.after = self.find_prior_programs(table)?;
        }
        self.check_scene_ends(&programs)?;
        let system = SystemSpec { family, largest: u32::MAX, cache: self.build_page_cache(family)? };
        settings.extend(self.pagecache.figures.iter().map(|figure| figure_setting("pagecache", figure)));
        let volume_names = table_names(&self.volumes);
        let name = self.file.clone();
        let limits = beside.iter().map(FlashSpec::limits).collect();
        let spec = SceneSpec { name, system, alignment, beside: limits, volumes, volume_names, programs, runtime };
        let layout = spec.trial_layout(drive_sectors);
        if !known_layouts.contains(&layout) {
            layout.check_fit().map_err(|unfit| vec![self.misfit_error(unfit)])?;
            known_layouts.add(layout);
        }
        Ok(BuiltScene { spec, beside, settings })
    }

    fn diagnostic(&self, line: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.file, line, message)
    }

    /// Reports a missing required key of a table.
    fn check_required(&self, table: &SceneTable, layer: &str, keys: &'static [ProfileKey]) -> Result<(), Errors> {
        let has = |key: &&ProfileKey| table.figures.iter().any(|figure| figure.key == key.path);
        let missing = keys.iter().filter(|key| key.required).find(|key| !has(key));
        missing.map_or(Ok(()), |key| {
            let error = self.diagnostic(table.line, "missing key").with_key(join_key(layer, key.path));
            Err(vec![error.with_expected(key.accepts.to_string())])
        })
    }

    /// The family of the system; adds the system's figures to `settings`.
    fn build_system_family(&self, settings: &mut Vec<Setting>) -> Result<SystemFamily, Errors> {
        self.check_required(&self.system, "system", SYSTEM)?;
        settings.extend(self.system.figures.iter().map(|figure| figure_setting("system", figure)));
        Ok(match Figures::new(SYSTEM, &self.system.figures).word("family") {
            "windows-98" => SystemFamily::Windows98,
            "linux" => SystemFamily::Linux,
            _ => SystemFamily::WindowsNt,
        })
    }

    /// The page cache of the system family, with the scene's overrides; `None` if its size is 0.
    fn build_page_cache(&self, family: SystemFamily) -> Result<Option<PageCacheSpec>, Errors> {
        let figures = Figures::new(PAGECACHE, &self.pagecache.figures);
        let bytes = (figures.number("mib") * (1u64 << 20) as f64).round() as u64;
        let linux_only = ["background_percent", "wake_s", "expire_s"];
        if let (true, Some(key)) =
            (family != SystemFamily::Linux, linux_only.into_iter().find(|key| figures.is_given(key)))
        {
            let error = self.diagnostic(figures.line(key), "has no effect here").with_key(join_key("pagecache", key));
            return Err(vec![error.with_expected("`system.family` = linux as well")]);
        }
        if bytes == 0 {
            return Ok(None);
        }
        let mut cache = match family {
            SystemFamily::Windows98 => PageCacheSpec::windows_98(bytes),
            SystemFamily::WindowsNt => PageCacheSpec::windows_nt(bytes),
            SystemFamily::Linux => PageCacheSpec::linux(bytes),
        };
        let bytes_of = |key: &str| figures.may_whole(key).map(|kib| kib << 10);
        let span_of = |key: &str| figures.may_number(key).map(|s| Span::from_nanos((s * 1e9).round() as u64));
        match &mut cache.ahead {
            ReadAheadRule::Granule { bytes, .. } => *bytes = bytes_of("read_ahead_kib").unwrap_or(*bytes),
            ReadAheadRule::Window(bytes) => *bytes = bytes_of("read_ahead_kib"),
        }
        match &mut cache.back {
            WriteBackRule::Lazy { most, files, .. } => {
                *most = bytes_of("write_kib").unwrap_or(*most);
                *files = figures.may_count("writers").unwrap_or(*files);
            }
            WriteBackRule::Flusher { wake, expire, background, chunk, chunks } => {
                *wake = span_of("wake_s").unwrap_or(*wake);
                *expire = span_of("expire_s").unwrap_or(*expire);
                *background = figures.may_count("background_percent").unwrap_or(*background);
                *chunk = bytes_of("write_kib").unwrap_or(*chunk);
                *chunks = figures.may_count("writers").unwrap_or(*chunks);
            }
        }
        cache.limit = figures.may_count("dirty_percent").unwrap_or(cache.limit);
        cache.call = if figures.is_given("call_us") { figures.micros("call_us") } else { cache.call };
        cache.copy = if figures.is_given("copy_mb_s") { figures.bytes_per_s("copy_mb_s") } else { cache.copy };
        Ok(Some(cache))
    }

    /// A device beside the drive; adds all its figures to `settings`, defaults too.
    fn build_device(&self, table: &SceneTable, settings: &mut Vec<Setting>) -> Result<FlashSpec, Errors> {
        let layer = join_key("device", &table.name);
        self.check_required(table, &layer, DEVICE)?;
        if self.devices.len() > MOST_DEVICES {
            let error =
                self.diagnostic(table.line, format!("{} devices beside the drive", self.devices.len())).with_key(layer);
            return Err(vec![error.with_expected(format!("at most {MOST_DEVICES}"))]);
        }
        let figures = Figures::new(DEVICE, &table.figures);
        for key in DEVICE {
            settings.push(match figures.find(key.path) {
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
            sectors: (figures.number("size_gib") * (1u64 << 30) as f64).round() as u64 / SECTOR,
            largest: figures.count("request_kib") * 1024 / SECTOR as u32,
            read: figures.span("read_ms"),
            write: figures.span("write_ms"),
            read_rate: figures.bytes_per_s("read_mb_s"),
            write_rate: figures.bytes_per_s("write_mb_s"),
        })
    }

    /// The index of the unit that a volume lies on: 0 for the drive, from 1 on for the devices. A named device is added to
    /// `settings`.
    fn find_volume_unit(&self, table: &SceneTable, settings: &mut Vec<Setting>) -> Result<u8, Errors> {
        let Some((name, line)) = table.first_name(VOLUME_DEVICE) else { return Ok(0) };
        let names = table_names(&self.devices);
        let key = format!("volume.{}.{VOLUME_DEVICE}", table.name);
        let Some(index) = names.iter().position(|known| known == name) else {
            let error = self.diagnostic(line, format!("the scene has no device `{name}`")).with_key(key);
            let error = error.with_expected(if names.is_empty() {
                "a table [device.NAME]".to_owned()
            } else {
                names.join(", ")
            });
            return Err(vec![error.suggest_nearest(name, names.iter().map(String::as_str))]);
        };
        settings.push(Setting::set_by_user(key, name.to_owned(), "the scene"));
        Ok(index as u8 + 1)
    }

    fn build_volume(
        &self,
        table: &SceneTable,
        family: SystemFamily,
        settings: &mut Vec<Setting>,
    ) -> Result<VolumePlan, Errors> {
        let layer = join_key("volume", &table.name);
        self.check_required(table, &layer, VOLUME)?;
        settings.extend(table.figures.iter().map(|figure| figure_setting(&layer, figure)));
        let figures = Figures::new(VOLUME, &table.figures);
        let fs = figures.word("fs");
        if let Some((key, file_systems)) = keys::find_key_without_effect(fs, &figures) {
            let error = self.diagnostic(figures.line(key), "has no effect here").with_key(join_key(&layer, key));
            return Err(vec![error.with_expected(format!("`{layer}.fs` = {file_systems} as well"))]);
        }
        let cluster = figures.may_count("cluster");
        let format = match fs {
            "fat32" => {
                let host = if family == SystemFamily::Windows98 { FatDriver::Windows98 } else { FatDriver::Nt };
                VolumeFormat::Fat32(Fat32Spec { cluster, host })
            }
            "ntfs" => VolumeFormat::Ntfs(NtfsSpec { cluster: cluster.unwrap_or(4096) }),
            _ => VolumeFormat::Ext4(Ext4Spec {
                barrier: figures.flag("barrier"),
                commit: Span::from_nanos((figures.number("commit_s") * 1e9).round() as u64),
            }),
        };
        Ok(VolumePlan {
            unit: self.find_volume_unit(table, settings)?,
            bytes: figures.may_number("size_gib").map_or(0, |gib| (gib * (1u64 << 30) as f64).round() as u64),
            format,
            aging: Aging {
                fragments: (figures.number("fragments") * 100.0).round() as u32,
                gap_kib: figures.count("gap_kib"),
            },
            files: program::file_set(&figures),
        })
    }

    /// The program that a table names.
    fn find_program(&self, table: &SceneTable) -> Result<&'static ProgramFile, Errors> {
        let key = format!("program.{}.name", table.name);
        let Some((name, line)) = table.first_name("name") else {
            let error = self.diagnostic(table.line, "missing key").with_key(key);
            return Err(vec![error.with_expected("the name of a program (see `seekwise programs`)")]);
        };
        program::find_program(name).ok_or_else(|| {
            let known = program::programs().iter().map(|program| program.name.as_str());
            let error = self.diagnostic(line, format!("unknown program `{name}`")).with_key(key);
            let error = error.with_expected("the name of a program (see `seekwise programs`)");
            vec![error.suggest_nearest(name, known)]
        })
    }

    fn build_program(&self, table: &SceneTable, settings: &mut Vec<Setting>) -> Result<ProgramPlan, Errors> {
        let file = self.find_program(table)?;
        let engine = ENGINES.iter().find(|engine| engine.name == file.engine).expect("each program has an engine");
        let layer = join_key("program", &table.name);
        let ProgramFigures { of_scene, of_engine } = self.combine_program_figures(table, file, engine)?;
        let on = self.find_program_volume(table, "on", None)?;
        let to = self.find_program_volume(table, "to", Some(on))?;
        let doing: ProgramSpec = (engine.build)(&Figures::new(engine.keys, &of_engine), ProgramVolumes { on, to });
        let fs = Figures::new(VOLUME, &self.volumes[usize::from(on)].figures).word("fs");
        if let (ProgramSpec::Defragment(_), "ext4") = (&doing, fs) {
            let error = self
                .diagnostic(table.line, "ext4 has no call to move parts of a file")
                .with_key(join_key(&layer, "on"));
            return Err(vec![error.with_expected("a volume of fat32 or ntfs")]);
        }
        let figures = Figures::new(PROGRAM, &of_scene);
        let setting = |key: &str, value: String| Setting::set_by_user(join_key(&layer, key), value, "the scene");
        settings.push(setting("name", file.name.clone()));
        for (key, volume) in [("on", on), ("to", to)] {
            settings.push(setting(key, self.volumes[usize::from(volume)].name.clone()));
        }
        settings.extend(table.names_of("after").map(|after| setting("after", after.names.join(", "))));
        settings.extend(of_scene.iter().chain(&of_engine).map(|figure| figure_setting(&layer, figure)));
        let (cold, sync, background) = (figures.flag("cold"), figures.flag("sync"), figures.flag("background"));
        Ok(ProgramPlan { name: table.name.clone(), doing, after: Vec::new(), cold, sync, background })
    }

    /// The figures of a program's table, put over those of the program's file.
    fn combine_program_figures(
        &self,
        table: &SceneTable,
        file: &ProgramFile,
        engine: &ProgramEngine,
    ) -> Result<ProgramFigures, Errors> {
        let is_of_scene = |figure: &&Figure| PROGRAM.iter().any(|key| key.path == figure.key);
        let (of_scene, overrides): (Vec<&Figure>, Vec<&Figure>) = table.figures.iter().partition(is_of_scene);
        let mut of_engine = file.figures.clone();
        for figure in overrides {
            let Some(index) = of_engine.iter().position(|known| known.key == figure.key) else {
                let key = format!("program.{}.{}", table.name, figure.key);
                let error = self.diagnostic(figure.line, format!("`{}` has no such figure", file.name)).with_key(&key);
                let paths = engine.keys.iter().map(|key| key.path);
                return Err(vec![error.with_expected(paths.clone().collect::<Vec<_>>().join(", "))]);
            };
            of_engine[index] = figure.clone();
        }
        Ok(ProgramFigures { of_scene: of_scene.into_iter().cloned().collect(), of_engine })
    }

    /// The index of the volume that a program names under `key`; without a name, `default`, or the scene's only volume.
    fn find_program_volume(&self, table: &SceneTable, key: &'static str, default: Option<u8>) -> Result<u8, Errors> {
        let dotted_key = format!("program.{}.{key}", table.name);
        let names = table_names(&self.volumes);
        match (table.first_name(key), default) {
            (None, Some(volume)) => Ok(volume),
            (None, None) if names.len() == 1 => Ok(0),
            (None, None) => Err(vec![
                self.diagnostic(table.line, "missing key")
                    .with_key(dotted_key)
                    .with_expected(format!("one of {}", names.join(", "))),
            ]),
            (Some((name, line)), _) => {
                names.iter().position(|known| known == name).map(|index| index as u8).ok_or_else(|| {
                    let error = self.diagnostic(line, format!("the scene has no volume `{name}`")).with_key(dotted_key);
                    vec![error.with_expected(names.join(", ")).suggest_nearest(name, names.iter().map(String::as_str))]
                })
            }
        }
    }

    /// The indices of the programs that a program waits for.
    fn find_prior_programs(&self, table: &SceneTable) -> Result<Vec<usize>, Errors> {
        let names = table_names(&self.programs);
        let Some(KeyNames { names: prior, line, .. }) = table.names_of("after") else { return Ok(Vec::new()) };
        let find_index = |prior_name: &String| {
            names.iter().position(|name| name == prior_name).ok_or_else(|| {
                let key = format!("program.{}.after", table.name);
                let error = self.diagnostic(*line, format!("the scene has no program `{prior_name}`")).with_key(key);
                vec![
                    error.with_expected(names.join(", ")).suggest_nearest(prior_name, names.iter().map(String::as_str)),
                ]
            })
        };
        prior.iter().map(find_index).collect()
    }

    /// Reports programs that wait for each other in a circle, and scenes that never end.
    fn check_scene_ends(&self, programs: &[ProgramPlan]) -> Result<(), Errors> {
        let mut finished: BTreeSet<usize> = BTreeSet::new();
        loop {
            let is_ready = |program: &usize| {
                !finished.contains(program) && programs[*program].after.iter().all(|prior| finished.contains(prior))
            };
            match (0..programs.len()).find(is_ready) {
                Some(program) => finished.insert(program),
                None => break,
            };
        }
        if let Some(first) = (0..programs.len()).find(|program| !finished.contains(program)) {
            let mut circle = vec![first];
            // Each remaining program waits for another one; the first that is reached twice closes the circle.
            let circle_start = loop {
                let last = circle[circle.len() - 1];
                let next = *programs[last].after.iter().find(|prior| !finished.contains(prior)).expect("it waits");
                if let Some(start) = circle.iter().position(|seen| *seen == next) {
                    circle.push(next);
                    break start;
                }
                circle.push(next);
            };
            let names: Vec<&str> =
                circle[circle_start..].iter().map(|&program| self.programs[program].name.as_str()).collect();
            let table = &self.programs[circle[circle_start]];
            let line = table.names_of("after").map_or(table.line, |after| after.line);
            let error = self.diagnostic(line, format!("waits for itself: {}", names.join(" after ")));
            let key = format!("program.{}.after", table.name);
            return Err(vec![error.with_key(key).with_expected("programs that can finish before it starts")]);
        }
        if programs.iter().all(|program| program.background) {
            let table = &self.programs[0];
            let error = self.diagnostic(table.line, "all programs are in the background, so the scene never ends");
            return Err(vec![
                error.with_key(format!("program.{}.background", table.name)).with_expected("a program that is not"),
            ]);
        }
        Ok(())
    }

    /// The error of a scene that does not fit its drive, at the line responsible.
    fn misfit_error(&self, scene_error: SceneError) -> Diagnostic {
        match scene_error {
            SceneError::Volume(index, misfit) => self.volume_misfit_error(&self.volumes[index], misfit),
            SceneError::Files(index, refused) => {
                let table = &self.volumes[index];
                let line = Figures::new(VOLUME, &table.figures).line("files").max(table.line);
                let error = self.diagnostic(line, format!("the files do not fit: {refused}"));
                error.with_key(format!("volume.{}.files", table.name)).with_expected(hint_on_full_volume(refused))
            }
            SceneError::Program(index, refused) => {
                let table = &self.programs[index];
                let error = self.diagnostic(table.line, format!("its files do not fit: {refused}"));
                error.with_key(format!("program.{}", table.name)).with_expected(hint_on_full_volume(refused))
            }
        }
    }

    fn volume_misfit_error(&self, table: &SceneTable, misfit: VolumeMisfit) -> Diagnostic {
        let figures = Figures::new(VOLUME, &table.figures);
        let error_at = |key: &str, message: String| {
            let line = if figures.line(key) > 0 { figures.line(key) } else { table.line };
            self.diagnostic(line, message).with_key(format!("volume.{}.{key}", table.name))
        };
        let gib = |sectors: u64| format!("{:.3} GiB", sectors as f64 * SECTOR as f64 / (1u64 << 30) as f64);
        match misfit {
            VolumeMisfit::BeyondDrive { end, drive } => {
                let device = table.first_name(VOLUME_DEVICE).map_or("the drive", |(name, _)| name);
                let message = format!("would end at {}, and {device} has {}", gib(end), gib(drive));
                error_at("size_gib", message).with_expected(format!("volumes that fit on {device} one after another"))
            }
            VolumeMisfit::Cluster { least, most } => {
                let message = "invalid cluster size".to_owned();
                error_at("cluster", message).with_expected(format!("a power of two from {least} to {most} bytes"))
            }
            VolumeMisfit::TooSmall { least } => error_at("size_gib", "too small for the file system".to_owned())
                .with_expected(format!("at least {}", gib(least))),
            VolumeMisfit::TooLarge { most } => {
                let message = "has more clusters than the file system can address".to_owned();
                error_at("cluster", message)
                    .with_expected(format!("at most {most} clusters: use larger clusters or a smaller volume"))
            }
        }
    }
}

fn table_names(tables: &[SceneTable]) -> Vec<String> {
    tables.iter().map(|table| table.name.clone()).collect()
}

/// The hint of an error about files that do not fit a volume.
fn hint_on_full_volume(volume_error: VolumeError) -> &'static str {
    match volume_error {
        VolumeError::TooLarge { .. } => "smaller files, or a file system for larger ones",
        _ => "fewer or smaller files, or a larger volume",
    }
}

impl SceneTable {
    fn names_of(&self, key: &str) -> Option<&KeyNames> {
        self.names.iter().find(|known| known.key == key)
    }

    /// The first name of a key, and its line.
    fn first_name(&self, key: &str) -> Option<(&str, usize)> {
        self.names_of(key).and_then(|known| known.names.first().map(|name| (name.as_str(), known.line)))
    }
}

/// The tables below `device`, `volume` or `program`, in their order in the file.
fn read_named_tables(
    reader: &mut FigureReader<'_>,
    root: &str,
    keys: &'static [ProfileKey],
    line: usize,
    value: &Spanned<DeValue<'_>>,
) -> Vec<SceneTable> {
    let Some(table) = value.get_ref().as_table() else {
        let error = reader.diagnostic(line, "is not a table").with_key(root);
        reader.errors.push(error.with_expected(format!("[{root}.NAME]")));
        return Vec::new();
    };
    let mut offsets_and_tables: Vec<(usize, SceneTable)> = Vec::new();
    for (name, value) in table {
        let (offset, line) = (name.span().start, reader.line_at(name.span().start));
        let scene_table = read_table(reader, &join_key(root, name.get_ref()), keys, line, value);
        offsets_and_tables.push((offset, SceneTable { name: name.get_ref().to_string(), ..scene_table }));
    }
    offsets_and_tables.sort_by_key(|(offset, _)| *offset);
    offsets_and_tables.into_iter().map(|(_, table)| table).collect()
}

/// The keys of a table that hold names.
fn name_keys_of(root: &str) -> &'static [&'static str] {
    match root {
        "program" => &PROGRAM_NAME_KEYS,
        "volume" => &[VOLUME_DEVICE],
        _ => &[],
    }
}

/// Reads the table `layer` of a scene: names, and figures of `keys`.
fn read_table(
    reader: &mut FigureReader<'_>,
    layer: &str,
    keys: &'static [ProfileKey],
    line: usize,
    value: &Spanned<DeValue<'_>>,
) -> SceneTable {
    let mut scene_table = SceneTable { line, ..SceneTable::default() };
    let Some(table) = value.get_ref().as_table() else {
        let error = reader.diagnostic(line, "is not a table").with_key(layer);
        reader.errors.push(error.with_expected(format!("[{layer}]")));
        return scene_table;
    };
    let (mut engine_table, mut program_table) = (table.clone(), DeTable::new());
    let name_keys = name_keys_of(layer.split('.').next().unwrap_or_default());
    scene_table.names = name_keys.iter().filter_map(|key| take_names(reader, layer, key, &mut engine_table)).collect();
    if layer.starts_with("program.") {
        for key in PROGRAM {
            program_table.extend(engine_table.remove_entry(key.path));
        }
    }
    let errors_before = reader.errors.len();
    reader.read_figures(&engine_table, "", keys, true, &mut scene_table.figures);
    reader.read_figures(&program_table, "", PROGRAM, true, &mut scene_table.figures);
    for error in &mut reader.errors[errors_before..] {
        let unknown_key = error.key.clone().unwrap_or_default();
        error.key = error.key.take().map(|key| join_key(layer, &key));
        if error.message == "unknown key" && !name_keys.is_empty() {
            let program_keys = if layer.starts_with("program.") { PROGRAM } else { &[] };
            let all = keys.iter().chain(program_keys).map(|key| key.path).chain(name_keys.iter().copied());
            error.nearest = Diagnostic::at("", 0, "").suggest_nearest(&unknown_key, all).nearest;
        }
        if error.message == "unknown key" {
            error.nearest = error.nearest.take().map(|near| join_key(layer, &near));
            if error.nearest.is_none() {
                error.expected = Some(expected_keys(layer, keys, name_keys, &scene_table));
            }
        }
    }
    scene_table
}

/// The keys that a table may have, for the error about an unknown key; for a program, the command that lists them.
fn expected_keys(layer: &str, keys: &[ProfileKey], name_keys: &[&str], table: &SceneTable) -> String {
    if let Some(name_in_scene) = layer.strip_prefix("program.") {
        let program = table.first_name("name").map_or(name_in_scene, |(program, _)| program);
        return format!("a figure of that program: `seekwise programs {program}`");
    }
    name_keys.iter().copied().chain(keys.iter().map(|key| key.path)).collect::<Vec<_>>().join(", ")
}

/// Removes the key `name_key` from the table and reads its value: a string, or for `after` a list of strings.
fn take_names(
    reader: &mut FigureReader<'_>,
    layer: &str,
    name_key: &'static str,
    table: &mut DeTable<'_>,
) -> Option<KeyNames> {
    let (name, value) = table.remove_entry(name_key)?;
    let line = reader.line_at(name.span().start);
    let names = match value.get_ref() {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(list) if name_key == "after" => {
            list.iter().map(|text| text.get_ref().as_str().map(str::to_owned)).collect()
        }
        _ => None,
    };
    if names.is_none() {
        let error = reader
            .diagnostic(line, format!("has type {}", value.get_ref().type_str()))
            .with_key(join_key(layer, name_key));
        reader.errors.push(error.with_expected(if name_key == "after" { "a list of programs" } else { "a string" }));
    }
    names.map(|names| KeyNames { key: name_key, names, line })
}

#[cfg(test)]
#[path = "scene/tests.rs"]
mod tests;
