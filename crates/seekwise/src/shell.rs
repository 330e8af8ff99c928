//! Quoting for a shell: the commands that are printed for the user can be pasted as they are.

/// A word of a command, in single quotes if a shell would take its characters for something else.
pub fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_is_one_for_a_shell() {
        assert_eq!(quote_for_shell("out/a-1.fio"), "out/a-1.fio");
        assert_eq!(quote_for_shell("my out"), "'my out'");
        assert_eq!(quote_for_shell("it's"), "'it'\\''s'");
        assert_eq!(quote_for_shell(""), "''");
    }
}
