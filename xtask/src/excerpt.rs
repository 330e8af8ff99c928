//! Chooses which lines of a failed command's output are shown again at the very end, as logs are often cut to their
//! last lines. For tests these are the end of each failed test's output, then the names of all failed tests; for other
//! commands the last lines.

/// All failed tests of a command together get so many lines, besides their names.
const MAX_LINES_OF_ALL_TESTS: usize = 100;

/// A failed test gets so many lines at least, however many failed.
const MIN_LINES_OF_TEST: usize = 5;

/// A failed test, or the output of another command, gets so many lines at most.
const MAX_LINES_OF_TEST: usize = 40;

/// Lines are cut to so many characters: some tests print whole files in one line.
const MAX_LINE_CHARACTERS: usize = 400;

/// What a command printed.
#[derive(Default)]
pub struct Output {
    /// On standard output.
    pub out: Vec<String>,
    /// On standard error.
    pub err: Vec<String>,
}

/// The lines to show again.
pub fn excerpt(output: &Output) -> Vec<String> {
    let failed = failed_test_blocks(&output.out);
    let mut lines = Vec::new();
    if failed.is_empty() {
        lines.extend(last_lines(&output.out, MAX_LINES_OF_TEST));
        lines.extend(last_lines(&output.err, MAX_LINES_OF_TEST));
    } else {
        let each = (MAX_LINES_OF_ALL_TESTS / failed.len()).clamp(MIN_LINES_OF_TEST, MAX_LINES_OF_TEST);
        for block in &failed {
            lines.push(block[0].clone());
            lines.extend(last_lines(&block[1..], each));
        }
        let errors = output.err.iter().position(|line| line.starts_with("error: "));
        lines.extend(errors.into_iter().flat_map(|at| last_lines(&output.err[at..], MAX_LINES_OF_TEST)));
        lines.push("failed tests:".to_owned());
        lines.extend(failed.iter().map(|block| format!("    {}", test_of_heading(&block[0]).unwrap_or_default())));
    }
    lines.iter().map(|line| line.chars().take(MAX_LINE_CHARACTERS).collect()).collect()
}

/// The output of each failed test, after its heading. Passed tests may have printed too, under `successes:`.
fn failed_test_blocks(lines: &[String]) -> Vec<&[String]> {
    let mut failed = false;
    let starts = lines.iter().enumerate().filter(|(_, line)| {
        failed = line.as_str() == "failures:" || failed && line.as_str() != "successes:";
        failed && test_of_heading(line).is_some()
    });
    let block = |(start, _): (usize, &String)| {
        let ends = |line: &String| test_of_heading(line).is_some() || line == "failures:";
        let length = lines[start + 1..].iter().position(ends).unwrap_or(lines.len() - start - 1);
        &lines[start..=start + length]
    };
    starts.map(block).collect()
}

/// The name of the test if a line is the heading of a test's output.
fn test_of_heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// The last lines of an output, without empty ones at its end.
fn last_lines(lines: &[String], count: usize) -> Vec<String> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    let start = end.saturating_sub(count);
    let cut = (start > 0).then(|| format!("[{start} lines before]"));
    cut.into_iter().chain(lines[start..end].iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// The form in which cargo's test program reports, of two binaries.
    fn failed() -> Output {
        let noise: String = (0..500).map(|line| format!("test quiet_{line} ... ok\n")).collect();
        let long: String = (0..60).map(|line| format!("line {line}\n")).collect();
        let out = format!(
            "{noise}test a::one ... FAILED\n\nfailures:\n\n---- a::one stdout ----\n{long}\nfailures:\n    a::one\n\n\
             test result: FAILED. 1 passed; 1 failed\n\n{noise}failures:\n\n---- two stdout ----\nthread 'two' panicked\n\n\n\
             failures:\n    two\n\ntest result: FAILED\n{noise}"
        );
        let err = "   Compiling x\n     Running y\nerror: 2 targets failed:\n    `-p x --lib`\n    `-p x --test y`\n";
        Output { out: lines(&out), err: lines(err) }
    }

    #[test]
    fn failed_tests_end_the_excerpt() {
        let shown = excerpt(&failed());
        let expected = "---- a::one stdout ----\n[20 lines before]\nline 20\n";
        assert!(shown.join("\n").starts_with(expected), "{shown:#?}");
        let end = "line 59\n---- two stdout ----\nthread 'two' panicked\n\
             error: 2 targets failed:\n    `-p x --lib`\n    `-p x --test y`\nfailed tests:\n    a::one\n    two";
        assert!(shown.join("\n").ends_with(end), "{shown:#?}");
    }

    #[test]
    fn many_failed_tests_leave_room_for_all_names() {
        let out: String = (0..25).map(|test| format!("---- t{test} stdout ----\n{}", "words\n".repeat(50))).collect();
        let passed = "successes:\n\n---- quiet stdout ----\nskipped: no fio\n\nsuccesses:\n    quiet\n\nfailures:\n\n";
        let shown = excerpt(&Output { out: lines(&format!("{passed}{out}")), err: Vec::new() });
        assert!(!shown.iter().any(|line| line.contains("quiet")), "what passed is not shown: {shown:#?}");
        assert!(
            shown.len() <= MAX_LINES_OF_ALL_TESTS + 25 * 4 + 1 && shown.last().unwrap() == "    t24",
            "{}",
            shown.len()
        );
    }

    #[test]
    fn of_other_commands_the_last_lines_are_shown() {
        let err: String = (0..100).map(|line| format!("{line}\n")).collect();
        let shown = excerpt(&Output { out: lines("x\n\n"), err: lines(&err) });
        assert_eq!((shown[0].as_str(), shown[1].as_str(), shown[2].as_str()), ("x", "[60 lines before]", "60"));
        assert_eq!(shown.last().unwrap(), "99");
    }
}
