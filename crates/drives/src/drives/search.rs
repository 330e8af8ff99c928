//! Searches the built-in drives by maker, line, capacity, model number, interface or part of a name. If none fits, explains why
//! (the line is shingled, is flash, is not built in) and offers alternatives.

use std::sync::LazyLock;

use super::lines::{self, DriveLine};
use super::{load, names};
use crate::diagnostic::Diagnostic;
use crate::limits::{self, terms};

/// The search words of a built-in drive.
struct DriveWords {
    name: &'static str,
    /// All of its words, in lower case.
    words: Vec<String>,
    /// The words of its title that are model numbers.
    models: Vec<String>,
    /// Gigabytes by its maker's count, as its title says.
    gigabytes: Option<f64>,
}

/// Words that every drive would have.
const NOISE: [&str; 7] = ["hdd", "disk", "drive", "hard", "a", "the", "model"];

static CATALOGUE: LazyLock<Vec<DriveWords>> = LazyLock::new(|| {
    let drive_words = |name: &'static str| {
        let drive = load(name).expect("a built-in drive loads");
        let mut words = split_words(&format!("{name} {} {}", drive.title, drive.interface));
        if drive.title.starts_with("Western Digital") {
            words.push("wd".to_owned());
        } else if drive.title.starts_with("WD") {
            words.extend(["wd", "western", "digital"].map(str::to_owned));
        }
        let gigabytes = split_words(&drive.title).iter().find_map(|word| parse_gigabytes(word));
        // `5K250`, `10K` and `73` are parts of lines' names.
        let is_model =
            |word: &String| word.len() > 5 && word.chars().any(|c| c.is_ascii_digit()) && !word.contains('.');
        let models = split_words(&drive.title).into_iter().filter(is_model).collect();
        DriveWords { name, words, models, gigabytes }
    };
    names().map(drive_words).collect()
});

/// The words of a text in lower case; a number and a unit of size after it are one: `18 TB` is `18tb`.
fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '.').map(|word| word.trim_matches('.')) {
        let word = word.to_lowercase();
        let joined = words.last().map(|last| format!("{last}{word}"));
        let sized = joined.filter(|joined| parse_gigabytes(joined).is_some());
        match (sized, words.last_mut()) {
            (Some(sized), Some(last)) if parse_gigabytes(last).is_none() => *last = sized,
            _ if word.is_empty() => {}
            _ => words.push(word),
        }
    }
    words
}

/// Gigabytes of `18tb`, `18000gb`, `160g` or `1.5tb`.
fn parse_gigabytes(word: &str) -> Option<f64> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let scale = match &word[end..] {
        "tb" | "t" => 1000.0,
        "gb" | "g" => 1.0,
        _ => return None,
    };
    word[..end].parse::<f64>().ok().filter(|number| *number > 0.0).map(|number| number * scale)
}

impl DriveWords {
    /// True if a word of the drive is `word`, begins with it or, for a longer one, contains it; capacities must be equal.
    fn has_word(&self, word: &str) -> bool {
        /// Letters of a beginning and of an inner part: shorter ones are in too many words.
        const LEAST_BEGINNING: usize = 3;
        const LEAST_INNER: usize = 4;
        if let Some(wanted) = parse_gigabytes(word) {
            return self.gigabytes == Some(wanted);
        }
        let fits = |own: &String| {
            own == word
                || word.len() >= LEAST_BEGINNING && own.starts_with(word)
                || word.len() >= LEAST_INNER && own.contains(word)
        };
        // `7200.7` is one word that begins with `7200`.
        self.words.iter().any(fits)
    }
}

/// The built-in drives that have all words of `text`, in the catalogue's order; none for an empty text.
///
/// ```
/// use seekwise_drives::drives::matching;
///
/// assert_eq!(matching("ST18000NM000J"), ["exos-x18"]);
/// assert_eq!(matching("barracuda-7200"), ["barracuda-7200.7", "barracuda-7200.7-ncq"]);
/// assert_eq!(matching("14 TB"), ["wd140edfz"]);
/// assert!(matching("ironwolf").is_empty());
/// ```
pub fn matching(text: &str) -> Vec<&'static str> {
    let sought = search_words(text);
    let fits = |known: &&DriveWords| !sought.is_empty() && sought.iter().all(|word| known.has_word(word));
    CATALOGUE.iter().filter(fits).map(|known| known.name).collect()
}

/// The built-in drive with the model number `name`, if exactly one has it. A model number has letters and digits and is no size.
pub(super) fn find_by_model_number(name: &str) -> Option<&'static str> {
    let has = |is: fn(&char) -> bool| name.chars().any(|c| is(&c));
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_word
        || !has(char::is_ascii_digit)
        || !has(char::is_ascii_alphabetic)
        || parse_gigabytes(&name.to_lowercase()).is_some()
    {
        return None;
    }
    let name = name.to_lowercase();
    let mut found = CATALOGUE.iter().filter(|known| known.models.contains(&name));
    found.next().filter(|_| found.next().is_none()).map(|known| known.name)
}

fn search_words(text: &str) -> Vec<String> {
    let mut words = split_words(text);
    words.retain(|word| !NOISE.contains(&word.as_str()));
    words
}

/// The meaning of a drive's name: built-in drives that fit it, or a line of which none is built in.
enum DriveHint {
    BuiltIn(Vec<&'static str>),
    OfLine(&'static DriveLine),
}

fn hint_for_name(name: &str) -> Option<DriveHint> {
    let drives = matching(name);
    if drives.is_empty() { lines::find_line(name).map(DriveHint::OfLine) } else { Some(DriveHint::BuiltIn(drives)) }
}

/// Completes an error about an unknown drive: adds the drives that `name` may mean, or the reason why none is built in.
pub fn suggest_drives(fault: Diagnostic, name: &str) -> Diagnostic {
    if name.contains(['/', '\\']) || name.ends_with(".toml") {
        return fault;
    }
    if limits::explain_limit(name).is_some() || terms::find(name).is_some() {
        return fault.explain_limit(name);
    }
    match hint_for_name(name) {
        Some(DriveHint::BuiltIn(drives)) if drives.len() == 1 => {
            return Diagnostic { nearest: Some(drives[0].to_owned()), ..fault };
        }
        Some(DriveHint::BuiltIn(drives)) => {
            return Diagnostic { nearest: None, expected: terms::one_of(&drives), ..fault };
        }
        Some(DriveHint::OfLine(line)) => {
            return Diagnostic { message: line.description(), nearest: None, expected: line.alternatives(), ..fault };
        }
        None if fault.nearest.is_some() => return fault,
        None => {}
    }
    let similar = most_similar_names(name);
    let gigabytes = search_words(name).iter().find_map(|word| parse_gigabytes(word));
    let by_size = gigabytes.map(|size| format!("{}, {}", describe_nearest_capacities(size), init_drive_command(size)));
    let expected = terms::one_of(&similar).map(|similar| format!("{similar}, the nearest by name")).or(by_size);
    Diagnostic { expected: expected.or(fault.expected), ..fault }
}

/// Completes an error about an unknown key, if `word` is the name of a drive.
pub(crate) fn explain_drive_name(fault: Diagnostic, word: &str) -> Diagnostic {
    match hint_for_name(word) {
        None => fault,
        Some(DriveHint::BuiltIn(drives)) => {
            let commands: Vec<String> = drives.iter().map(|name| format!("`--on {name}`")).collect();
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            let message = "is a drive, and no key".to_owned();
            Diagnostic { message, expected: terms::one_of(&commands), nearest: None, ..fault }
        }
        Some(DriveHint::OfLine(line)) => {
            let message = format!("is a drive, and no key: {}", line.description());
            Diagnostic { message, expected: line.alternatives(), nearest: None, ..fault }
        }
    }
}

/// The drives that share the most alphabetic words of over three letters with a name, if any.
fn most_similar_names(name: &str) -> Vec<&'static str> {
    let sought = search_words(name);
    let is_name = |word: &&String| word.len() > 3 && word.chars().all(char::is_alphabetic);
    let count = |known: &DriveWords| sought.iter().filter(is_name).filter(|word| known.has_word(word)).count();
    let most = CATALOGUE.iter().map(count).max().unwrap_or(0);
    CATALOGUE.iter().filter(|known| most > 0 && count(known) == most).map(|known| known.name).collect()
}

/// Names and sizes of the next smaller and the next larger drive.
fn describe_nearest_capacities(gigabytes: f64) -> String {
    let describe = |known: &DriveWords| {
        let size = known.gigabytes.unwrap_or(0.0);
        let size = if size >= 1000.0 { format!("{} TB", size / 1000.0) } else { format!("{size} GB") };
        format!("{} ({size})", known.name)
    };
    let size = |known: &&DriveWords| known.gigabytes.unwrap_or(0.0);
    let below = CATALOGUE.iter().filter(|known| size(known) < gigabytes).max_by(|a, b| size(a).total_cmp(&size(b)));
    let above = CATALOGUE.iter().filter(|known| size(known) > gigabytes).min_by(|a, b| size(a).total_cmp(&size(b)));
    let both: Vec<String> = below.into_iter().chain(above).map(describe).collect();
    format!("the nearest in capacity, {}", both.join(" or "))
}

/// The command that makes a drive of this capacity.
fn init_drive_command(gigabytes: f64) -> String {
    format!("or a drive of your own: `seekwise init drive --capacity {gigabytes}g -o my-drive.toml`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_found_by_what_people_know_of_them() {
        for (text, found) in [
            ("18tb", &["exos-x18"][..]),
            ("18 TB", &["exos-x18"]),
            ("18000gb", &["exos-x18"]),
            ("st18000nm000j", &["exos-x18"]),
            ("exos", &["exos-x18"]),
            ("Seagate Exos", &["exos-x18"]),
            ("seagate exos 18tb hard drive", &["exos-x18"]),
            ("wd 14tb", &["wd140edfz"]),
            ("helium", &["wd140edfz"]),
            ("22 TB", &["ultrastar-hc570-22tb"]),
            ("ultrastar", &["ultrastar-hc570-22tb"]),
            ("hc570", &["ultrastar-hc570-22tb"]),
            ("maxtor", &["atlas-10k-v-300", "atlas-15k-ii-73"]),
            ("st2000dm006", &["barracuda-2t-st2000dm006"]),
            ("western digital", &["caviar-wd400jb", "raptor-wd740gd", "wd140edfz", "ultrastar-hc570-22tb"]),
            ("WD", &["caviar-wd400jb", "raptor-wd740gd", "wd140edfz", "ultrastar-hc570-22tb"]),
            ("barracuda-7200", &["barracuda-7200.7", "barracuda-7200.7-ncq"]),
            ("3160023", &["barracuda-7200.7"]),
            ("160 gb seagate", &["barracuda-7200.7", "barracuda-7200.7-ncq"]),
            ("scsi", &["cheetah-15k.4", "cheetah-10k.7", "atlas-10k-v-300", "atlas-15k-ii-73"]),
            ("ironwolf", &[]),
            ("8tb", &[]),
            ("", &[]),
            ("drive", &[]),
        ] {
            assert_eq!(matching(text), found, "{text}");
        }
    }

    #[test]
    fn every_drive_is_found_by_its_name_and_by_its_title() {
        for name in names() {
            let title = load(name).unwrap().title;
            assert!(matching(name).contains(&name) && matching(&title).contains(&name), "{name}: {title}");
        }
    }

    #[test]
    fn what_is_not_built_in_leads_somewhere() {
        for (name, part) in [
            ("ironwolf", "ironwolf: no Seagate IronWolf is built in (it records conventionally"),
            ("wd red", "WD20EFAX to WD60EFAX, are shingled (SMR)"),
            ("WD40EFAX", "WD Red of 2 to 6 TB is shingled"),
            ("WD40EFAX-68JH4N1", "is shingled"),
            ("ST8000DM004-2CX188", "is shingled"),
            ("ST8000AS0002", "Seagate Archive HDD is shingled"),
            ("ST8000VN004", "expected exos-x18 (the nearest built-in drive)"),
            ("WD Ultrastar DC HC550", "expected ultrastar-hc570-22tb (the nearest built-in drive)"),
            ("samsung 870 evo", "is flash; solid-state drives are not modelled"),
            ("exos-x17", "expected exos-x18, the nearest by name"),
            ("seagate barracuda 3tb", "expected one of barracuda-7200.7, barracuda-7200.7-ncq, barracuda-2t"),
            ("8tb", "barracuda-2t-st2000dm006 (2 TB) or wd140edfz (14 TB)"),
            (
                "20 TB",
                "exos-x18 (18 TB) or ultrastar-hc570-22tb (22 TB), or a drive of your own: `seekwise init drive --capacity 20000g",
            ),
            ("barracuda-7200", "expected one of barracuda-7200.7, barracuda-7200.7-ncq"),
            ("st18000nm", "did you mean `exos-x18`?"),
            ("smr", "shingled tracks and zoned drives are not modelled"),
            ("ssd", "solid-state drives are not modelled"),
            ("exos-x81", "did you mean `exos-x18`?"),
            ("zzz", "expected a name that `seekwise drives` lists"),
        ] {
            let fault = super::super::read(name).unwrap_err().remove(0).to_string();
            assert!(fault.contains(part), "{name}: {fault}");
        }
    }
}
