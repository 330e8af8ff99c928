//! Lines of drives on the market by name: whether a line records conventionally, records shingled or is flash, and the nearest
//! built-in drive. Figures are not here. Names and recording methods are from makers' public lists. A row names only the models
//! that its source covers, because a dated list does not cover later models.

use crate::limits;
use crate::spelling::is_same;

/// How a line stores data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordingMethod {
    /// Tracks do not overlap (CMR).
    Conventional,
    /// Tracks overlap (SMR).
    Shingled,
    /// Some models of the line are shingled: the text says which.
    Mixed(&'static str),
    /// A solid-state drive.
    Flash,
}

use RecordingMethod::{Conventional, Flash, Mixed, Shingled};

/// A line, or models of one.
#[derive(Debug)]
pub(super) struct DriveLine {
    /// Maker and line.
    pub title: &'static str,
    /// Names, with commas between them; each matches a whole name or consecutive words of it.
    names: &'static str,
    /// Beginnings of its model numbers, with spaces between them.
    models: &'static str,
    pub recording: RecordingMethod,
    /// The nearest built-in drive.
    pub like: &'static str,
    /// The source of the recording method.
    pub source: &'static str,
}

const WD: &str = "Western Digital's list of 2020-04-22";
const SEAGATE: &str = "Seagate's list of CMR and SMR drives";
const TOSHIBA: &str = "Toshiba's list of 2020-04-28";
const DATASHEET: &str = "its datasheet";

const fn line(
    title: &'static str,
    names: &'static str,
    models: &'static str,
    recording: RecordingMethod,
    like: &'static str,
    source: &'static str,
) -> DriveLine {
    DriveLine { title, names, models, recording, like, source }
}

/// All lines. If several fit a name, the first counts, so narrow lines stand before wide ones.
#[rustfmt::skip]
pub(super) static LINES: &[DriveLine] = &[
    line(
        "WD Green and Blue SSDs",
        "wd green ssd, wd blue ssd",
        "wds120g wds240g wds250g wds480g wds500g wds100t wds200t",
        Flash, "", DATASHEET,
    ),
    line(
        "WD Red Pro",
        "red pro",
        "wd2002ffsx wd4003ffbx wd6003ffbx wd8003ffbx wd102kfbx wd121kfbx wd141kfgx",
        Conventional, "wd140edfz", WD,
    ),
    line(
        "WD Red Pro from 16 TB on",
        "",
        "wd161kfgx wd181kfgx wd201kfgx wd221kfgx",
        Conventional, "exos-x18", DATASHEET,
    ),
    line(
        "WD Red Plus",
        "red plus",
        "wd10efrx wd20efrx wd30efrx wd40efrx wd60efrx wd40efzx wd80efax wd80efzx wd80efbx wd101efax wd101efbx \
         wd120efax wd120efbx wd140effx wd140efgx",
        Conventional, "wd140edfz", DATASHEET,
    ),
    line(
        "WD Red of 2 to 6 TB",
        "",
        "wd20efax wd30efax wd40efax wd60efax",
        Shingled, "wd140edfz", WD,
    ),
    line(
        "WD Red SN700",
        "wd red sn700, red sn700",
        "sn700",
        Flash, "", DATASHEET,
    ),
    line(
        "WD Red",
        "wd red, western digital red",
        "",
        Mixed("its models of 2 to 6 TB, WD20EFAX to WD60EFAX, are shingled (SMR); those of 1 TB and from 8 TB \
               on, and WD Red Pro, are not"), "wd140edfz", WD,
    ),
    line(
        "WD Blue of 2 and 6 TB",
        "",
        "wd20ezaz wd60ezaz wd10spzx wd20spzx",
        Shingled, "barracuda-2t-st2000dm006", WD,
    ),
    line(
        "WD Blue",
        "wd blue, western digital blue",
        "",
        Mixed("some models are shingled (SMR): WD20EZAZ and WD60EZAZ, and of 2.5 inches WD10SPZX and WD20SPZX"),
        "barracuda-2t-st2000dm006", WD,
    ),
    line(
        "WD Black of 2.5 inches, 1 TB",
        "",
        "wd10spsx",
        Shingled, "barracuda-2t-st2000dm006", WD,
    ),
    line(
        "WD Black SN",
        "wd black sn",
        "sn750 sn770 sn850",
        Flash, "", DATASHEET,
    ),
    line(
        "WD Black",
        "wd black, western digital black",
        "wd1003fzex wd2003fzex wd4005fzbx wd6003fzbx",
        Conventional, "barracuda-2t-st2000dm006", WD,
    ),
    line(
        "WD Purple",
        "wd purple, western digital purple",
        "wd10purz wd20purz wd40purz wd60purz",
        Conventional, "wd140edfz", WD,
    ),
    line(
        "WD Gold",
        "wd gold, western digital gold",
        "wd1005fbyz wd2005fbyz wd4003fryz wd6003fryz wd8004fryz wd102kryz wd121kryz wd141kryz wd161kryz \
         wd181kryz",
        Conventional, "exos-x18", DATASHEET,
    ),
    line(
        "Ultrastar DC HC600, host-managed",
        "ultrastar archive, hc620, hc650, hc670, ha10",
        "hsh721414 hsh721415 wsh722020",
        Shingled, "exos-x18", DATASHEET,
    ),
    line(
        "Ultrastar DC",
        "hc310, hc320, hc330, hc510, hc520, hc530, hc550, hc560",
        "huh7210 huh7212 wuh7214 wuh7218 wuh7220 hus726t hus728t",
        Conventional, "ultrastar-hc570-22tb", DATASHEET,
    ),
    line(
        "Seagate IronWolf Pro",
        "ironwolf pro",
        "st4000ne st6000ne st8000ne st10000ne st12000ne st14000ne st16000ne st18000ne st20000ne",
        Conventional, "exos-x18", SEAGATE,
    ),
    line(
        "Seagate IronWolf",
        "ironwolf, iron wolf",
        "st1000vn st2000vn st3000vn st4000vn st6000vn st8000vn st10000vn st12000vn st14000vn st16000vn",
        Conventional, "exos-x18", SEAGATE,
    ),
    line(
        "Seagate SkyHawk AI",
        "skyhawk ai",
        "st8000ve st10000ve st12000ve st14000ve st16000ve",
        Conventional, "exos-x18", SEAGATE,
    ),
    line(
        "Seagate SkyHawk",
        "skyhawk",
        "st1000vx st2000vx st3000vx st4000vx st6000vx",
        Mixed("some of its models are shingled (SMR); SkyHawk AI is not"), "wd140edfz", SEAGATE,
    ),
    line(
        "Seagate Archive HDD",
        "archive hdd, seagate archive",
        "st5000as0011 st6000as0002 st8000as0002 st8000as0022 st8000as0003",
        Shingled, "barracuda-2t-st2000dm006", SEAGATE,
    ),
    line(
        "Seagate BarraCuda of 2 to 8 TB",
        "",
        "st2000dm005 st2000dm008 st3000dm007 st4000dm004 st6000dm003 st8000dm004 st500lm030 st1000lm048 \
         st2000lm015 st3000lm024 st4000lm024 st5000lm000",
        Shingled, "barracuda-2t-st2000dm006", SEAGATE,
    ),
    line(
        "Seagate BarraCuda Pro",
        "barracuda pro",
        "st6000dm004 st8000dm0004 st8000dm005 st10000dm0004 st12000dm0007 st14000dm001",
        Conventional, "exos-x18", SEAGATE,
    ),
    line(
        "Seagate BarraCuda Compute",
        "barracuda compute",
        "",
        Mixed("its models of 2 to 8 TB since ST2000DM008 are shingled (SMR); ST1000DM010 and ST2000DM006 are \
               not"), "barracuda-2t-st2000dm006", SEAGATE,
    ),
    line(
        "Seagate FireCuda SSD",
        "firecuda 510, firecuda 520, firecuda 530",
        "",
        Flash, "", DATASHEET,
    ),
    line(
        "Seagate FireCuda",
        "firecuda",
        "st1000lx015 st2000lx001 st1000dx002 st2000dx002",
        Mixed("its models of 2.5 inches are shingled (SMR), and hybrid ones hold flash; those of 3.5 inches \
               record conventionally"), "barracuda-2t-st2000dm006", SEAGATE,
    ),
    line(
        "Seagate Exos 7E and X",
        "exos 7e8, exos 7e10, exos x10, exos x12, exos x14, exos x16, exos x20, exos x22, exos x24",
        "st2000nm st4000nm st6000nm st8000nm st10000nm st12000nm st14000nm st16000nm st20000nm st22000nm \
         st24000nm",
        Conventional, "exos-x18", SEAGATE,
    ),
    line(
        "Toshiba P300 and DT02 of 4 and 6 TB",
        "dt02",
        "hdwd240 hdwd260 dt02aba400 dt02aba600",
        Shingled, "barracuda-2t-st2000dm006", TOSHIBA,
    ),
    line(
        "Toshiba P300 of 2 TB and 256 MB of buffer",
        "",
        "hdwd320",
        Shingled, "barracuda-2t-st2000dm006", "Toshiba's announcement of 2022",
    ),
    line(
        "Toshiba P300",
        "toshiba p300, p300",
        "hdwd105 hdwd110 hdwd120 hdwd130",
        Mixed("its models of 4 and 6 TB, HDWD240 and HDWD260, and HDWD320 of 2 TB are shingled (SMR)"),
        "barracuda-2t-st2000dm006", "Toshiba's list of 2020-04-28, and its announcement of 2022",
    ),
    line(
        "Toshiba L200 and MQ04",
        "toshiba l200, l200, mq04",
        "hdwl110 hdwl120 mq04abf100 mq04abd200",
        Shingled, "travelstar-5k250-160", TOSHIBA,
    ),
    line(
        "Toshiba N300",
        "n300, toshiba n300",
        "hdwg440 hdwg480 hdwg11a hdwg21c hdwg21e",
        Conventional, "wd140edfz", TOSHIBA,
    ),
    line(
        "Toshiba X300",
        "x300, toshiba x300",
        "hdwe140 hdwe150 hdwe160 hdwr180 hdwr11a",
        Conventional, "exos-x18", DATASHEET,
    ),
    line(
        "Toshiba MG",
        "toshiba mg, mg06, mg07, mg08, mg09, mg10",
        "mg04aca mg05aca mg06aca mg07aca mg08aca mg09aca mg10aca",
        Conventional, "exos-x18", DATASHEET,
    ),
    line(
        "Samsung SSD",
        "samsung ssd, samsung evo, 850 evo, 850 pro, 860 evo, 860 pro, 870 evo, 870 qvo, 960 evo, 960 pro, \
         970 evo, 970 pro, 980 pro, 990 pro, pm883, pm9a3",
        "mz7 mzv mzq",
        Flash, "", DATASHEET,
    ),
    line(
        "Crucial SSD",
        "crucial mx500, mx500, bx500, crucial p3, crucial p5",
        "ct250mx ct500mx ct1000mx ct2000mx ct240bx ct480bx ct1000bx",
        Flash, "", DATASHEET,
    ),
    line(
        "Intel and Solidigm SSD",
        "optane, p3700, p4510, p4610, p5510, p5800x, 660p, 670p, intel ssd",
        "ssdpe ssdsc",
        Flash, "", DATASHEET,
    ),
    line(
        "Kingston SSD",
        "a400, kc600, kc3000, nv2, dc500, dc600m",
        "sa400s37 skc600 snv2s",
        Flash, "", DATASHEET,
    ),
    line(
        "SanDisk SSD",
        "sandisk ultra, sandisk ssd, sandisk extreme",
        "sdssd",
        Flash, "", DATASHEET,
    ),
];

/// Finds the line of a drive by one of its names or by a model number.
pub(super) fn find_line(name: &str) -> Option<&'static DriveLine> {
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let has_name = |line_name: &str| {
        let parts: Vec<&str> = line_name.split(' ').collect();
        is_same(&parts.concat(), name) || words.windows(parts.len()).any(|window| window == parts)
    };
    let is_model = |model: &str| words.iter().any(|word| word.starts_with(model));
    let by_model = LINES.iter().find(|line| line.models().any(is_model));
    by_model.or_else(|| LINES.iter().find(|line| line.names().any(has_name)))
}

impl DriveLine {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(", ").filter(|name| !name.is_empty())
    }

    fn models(&self) -> impl Iterator<Item = &'static str> {
        self.models.split_whitespace()
    }

    /// A message about the line, as the end of a sentence.
    pub fn description(&self) -> String {
        let DriveLine { title, recording, source, .. } = self;
        let limit = |word: &str| limits::explain_limit(word).unwrap_or_default();
        match recording {
            Conventional => {
                format!("no {title} is built in (it records conventionally, CMR, as the built-in drives do; {source})")
            }
            Shingled => format!("{title} is shingled (SMR; {source}); {}", limit("smr")),
            Mixed(which) => {
                format!("{title}: {which} ({source}); none is built in, and shingled tracks are not modelled")
            }
            Flash => format!("{title} is flash; {}", limit("ssd")),
        }
    }

    /// Alternatives to the line; none for flash.
    pub(crate) fn alternatives(&self) -> Option<String> {
        let own = "a drive of your own by its datasheet's figures (`seekwise init drive --help`)";
        (self.recording != Flash).then(|| format!("{} (the nearest built-in drive), or {own}", self.like))
    }
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn lines_name_drives_that_are_built_in_and_are_found_by_their_own_names() {
        for line in LINES {
            assert!(names().any(|name| name == line.like) || line.recording == Flash, "{}", line.title);
            for name in line.names() {
                let found = find_line(name).unwrap_or_else(|| panic!("{name}"));
                assert!(std::ptr::eq(found, line), "{name} is {}", found.title);
            }
            for model in line.models() {
                let found = find_line(model).unwrap_or_else(|| panic!("{model}"));
                assert!(std::ptr::eq(found, line), "{model} is {}", found.title);
            }
        }
        for (model, title) in [
            ("WD221KFGX", "WD Red Pro from 16 TB on"),
            ("HDWD320UZSVA", "Toshiba P300 of 2 TB and 256 MB of buffer"),
            ("ST16000VE002", "Seagate SkyHawk AI"),
            ("SkyHawk AI", "Seagate SkyHawk AI"),
            ("WD Red SN700", "WD Red SN700"),
            ("WD Black SN850", "WD Black SN"),
        ] {
            assert_eq!(find_line(model).map(|line| line.title), Some(title), "{model}");
        }
        // A dated list does not cover later models.
        for line in LINES.iter().filter(|line| line.source == WD) {
            let later = ["wd161kfgx", "wd181kfgx", "wd201kfgx", "wd221kfgx", "wd8001fzbx", "wd101fzbx", "wd84purz"];
            assert!(!line.models().any(|model| later.contains(&model)), "{}", line.title);
        }
        assert!(names().all(|name| find_line(name).is_none()), "a built-in drive is no line that is not built in");
    }
}
