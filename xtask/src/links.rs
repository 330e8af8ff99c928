//! Finds links and headings in Markdown. Code contains no links.

/// The links of a text, pictures included, each with the number of its line, counted from 1.
pub fn find_links(text: &str) -> Vec<(usize, String)> {
    let links_of_line = |(line, words): (usize, String)| {
        let targets =
            words.match_indices("](").map(|(at, _)| words[at + 2..].split([')', ' ']).next().unwrap_or_default());
        targets.map(|target| (line, target.to_owned())).collect::<Vec<_>>()
    };
    lines_without_code(text).into_iter().flat_map(links_of_line).collect()
}

/// The anchors of a text's headings, as GitHub and mdBook make them: small letters, digits, hyphens. A repeated anchor
/// gets a number.
pub fn heading_anchors(text: &str) -> Vec<String> {
    let (mut bases, mut anchors) = (Vec::new(), Vec::new());
    for line in lines_outside_code(text).filter_map(|(_, line)| line.strip_prefix('#')) {
        let Some((_, heading)) = line.trim_start_matches('#').split_once(' ') else { continue };
        let mut base = heading.trim().to_lowercase();
        base.retain(|c| c.is_alphanumeric() || " -_".contains(c));
        let base = base.replace(' ', "-");
        let repetitions = bases.iter().filter(|other| **other == base).count();
        anchors.push(if repetitions == 0 { base.clone() } else { format!("{base}-{repetitions}") });
        bases.push(base);
    }
    anchors
}

/// The lines outside of blocks of code, with their numbers, counted from 1.
fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut block = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        block ^= fence;
        (!block && !fence).then_some((at + 1, line))
    })
}

/// The lines outside of blocks of code, with their numbers and without their `code`.
fn lines_without_code(text: &str) -> Vec<(usize, String)> {
    lines_outside_code(text).map(|(at, line)| (at, line.split('`').step_by(2).collect::<Vec<_>>().join("`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "a [b](c.md#d) ![e](f.svg)\n```\n[g](h)\n```\n`[i](j)` [`k`](l \"m\")\n";
        let link = |line, target: &str| (line, target.to_owned());
        assert_eq!(find_links(text), [link(1, "c.md#d"), link(1, "f.svg"), link(5, "l")]);
    }

    #[test]
    fn headings_become_anchors() {
        let text = "# A `b`: c, 7 %\n```\n# no\n```\n## Same\n### Same\n#tag\n";
        assert_eq!(heading_anchors(text), ["a-b-c-7-", "same", "same-1"]);
    }
}
