//! What can be run: fio job files, Iometer configurations and the built-in patterns, told apart by name and content.

use seekwise_formats::diagnostic::{Diagnostic, nearest};
use seekwise_formats::{fio, iometer};
use seekwise_model::time::Span;
use seekwise_model::workload::{AccessSpec, IometerPattern, Job, Pace, Pattern, Region, Worker};

/// How long a pattern runs when nothing else is said: long enough for some thousand random requests of one drive.
const PATTERN_RUNTIME: Span = Span::from_secs(60);

/// Ramp-up of a pattern: several times what it takes to fill a queue of 256 and a drive's buffer.
const PATTERN_RAMP: Span = Span::from_secs(5);

/// A built-in pattern.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// Its name on the command line.
    pub name: String,
    /// What it issues.
    pub spec: AccessSpec,
    /// Where it comes from.
    pub origin: &'static str,
}

/// All built-in patterns: Iometer's and its users' access specifications.
pub fn patterns() -> Vec<BuiltIn> {
    iometer::standard::specs()
        .into_iter()
        .map(|standard| BuiltIn { name: slug(&standard.spec.name), origin: standard.origin, spec: standard.spec })
        .collect()
}

/// Lower case, words joined by dashes: `File Server` is `file-server`.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '%' {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// Loads a job by the name of a pattern or of a file, for a drive of `sectors`. `read` fetches files.
pub fn load(
    name: &str,
    sectors: u64,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    let patterns = patterns();
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name == name) {
        return Ok((pattern_job(pattern, sectors), Vec::new()));
    }
    let Some(text) = read(name) else {
        let mut fault = Diagnostic::at(name, 0, "no such file, and no built-in pattern of that name");
        fault.nearest = nearest(name, patterns.iter().map(|pattern| pattern.name.as_str())).map(str::to_owned);
        return Err(vec![fault]);
    };
    parse(name, &text, sectors, read)
}

fn parse(
    name: &str,
    text: &str,
    sectors: u64,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    if looks_like_iometer(name, text) {
        let (config, mut warnings) = iometer::icf::parse(name, text.as_bytes())?;
        let (job, more) = config.job(sectors)?;
        warnings.extend(more);
        return Ok((job, warnings));
    }
    let context = fio::Context {
        environment: &|key| std::env::var(key).ok(),
        include: &|path| read(path).ok_or_else(|| format!("{path}: cannot be read")),
        ..fio::Context::default()
    };
    fio::parse(name, text, &context)?.job(sectors)
}

fn looks_like_iometer(name: &str, text: &str) -> bool {
    let icf = name.to_ascii_lowercase().ends_with(".icf");
    icf || text.starts_with("Version ") || text.trim_start().starts_with("'TEST SETUP")
}

/// One worker of the pattern over the whole drive, one request outstanding.
fn pattern_job(pattern: &BuiltIn, sectors: u64) -> Job {
    let worker = Worker {
        name: pattern.name.clone(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        ramp: PATTERN_RAMP,
        runtime: Some(PATTERN_RUNTIME),
        time_based: true,
        depth: 1,
        pace: Pace::default(),
        pattern: Pattern::Iometer(IometerPattern {
            spec: pattern.spec.clone(),
            area: Region { start: 0, bytes: sectors * 512 },
            worker_seed: 1,
            target_seed: 1,
        }),
    };
    Job { name: pattern.name.clone(), workers: vec![worker] }
}
