//! Every option of fio's table is honoured, warned of or refused as the table says, and names with colons are split.

use super::*;

/// A valid text of a type.
fn sample_value(kind: OptionType) -> String {
    match kind {
        OptionType::Flag | OptionType::Switch => "1".to_owned(),
        OptionType::Int(low, _) | OptionType::Ints(low, _) => low.to_string(),
        OptionType::Size | OptionType::SizeRange => "4k".to_owned(),
        OptionType::Ranges => "4k-8k".to_owned(),
        OptionType::Time(_) | OptionType::TimeRange(_) | OptionType::Seed => "10".to_owned(),
        OptionType::Word(words) => words[0].to_owned(),
        OptionType::Decimals(_) => "0.5".to_owned(),
        OptionType::Text | OptionType::Any => "4k/100".to_owned(),
    }
}

/// A valid text of an option.
fn sample_option_value(known: &options::OptionSpec) -> String {
    match known.name {
        "ioengine" => "libaio".to_owned(),
        "sync_file_range" => "write:8".to_owned(),
        _ => sample_value(known.kind),
    }
}

#[test]
fn every_honoured_option_is_taken_and_every_other_one_says_so() {
    for known in options::OPTIONS {
        let value = sample_option_value(known);
        let place = ("a.fio".to_owned(), 1);
        let option = ExpandedOption { name: known.name.to_owned(), value: Some(value), unset: vec![], place };
        let mut settings = FioSettings::default();
        match (known.fate, settings.apply_option(&option)) {
            (OptionFate::Honoured, taken) => assert!(taken.is_ok(), "{}: {taken:?}", known.name),
            (OptionFate::Label, taken) => {
                assert!(taken.is_ok_and(|notes| notes.is_empty()), "{}", known.name)
            }
            (OptionFate::Harmless(_), taken) => {
                assert!(taken.is_ok_and(|notes| notes.len() == 1), "{}", known.name)
            }
            (OptionFate::Refused(..), Ok(_)) => {
                assert!(["0", "none", "1"].iter().any(|zero| option.value.as_deref() == Some(zero)), "{}", known.name)
            }
            (OptionFate::Refused(..), Err(_)) => {}
        }
    }
}

#[test]
fn no_option_stands_twice_in_the_table() {
    let mut names: Vec<_> = options::names().collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn a_colon_can_be_part_of_a_name() {
    assert_eq!(split_colon_names("/dev/a:/dev/b").unwrap(), ["/dev/a", "/dev/b"]);
    assert_eq!(split_colon_names("c\\:disk").unwrap(), ["c:disk"]);
    assert_eq!(split_colon_names("\\\\.\\PhysicalDrive0").unwrap(), ["\\\\.\\PhysicalDrive0"]);
    assert!(split_colon_names(":").is_err());
}
