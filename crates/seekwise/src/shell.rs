//! Words of a command, as a shell takes them.

/// A word of a command as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_is_one_for_a_shell() {
        assert_eq!(quoted("out/a-1.fio"), "out/a-1.fio");
        assert_eq!(quoted("my out"), "'my out'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
