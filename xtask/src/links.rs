//! Links and headings of Markdown: where a document points, and where one can point in it. What is code is no link.

/// The links of a text, each with its line from 1: pictures too.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let of_line = |(line, words): (usize, String)| {
        let targets =
            words.match_indices("](").map(|(at, _)| words[at + 2..].split([')', ' ']).next().unwrap_or_default());
        targets.map(|target| (line, target.to_owned())).collect::<Vec<_>>()
    };
    prose(text).into_iter().flat_map(of_line).collect()
}

/// The anchors of a text's headings, as GitHub and mdBook make them: small letters, digits, hyphens; one that comes again
/// is numbered.
pub fn anchors(text: &str) -> Vec<String> {
    let (mut bases, mut found) = (Vec::new(), Vec::new());
    for line in without_blocks(text).filter_map(|(_, line)| line.strip_prefix('#')) {
        let Some((_, heading)) = line.trim_start_matches('#').split_once(' ') else { continue };
        let mut base = heading.trim().to_lowercase();
        base.retain(|c| c.is_alphanumeric() || " -_".contains(c));
        let base = base.replace(' ', "-");
        let times = bases.iter().filter(|other| **other == base).count();
        found.push(if times == 0 { base.clone() } else { format!("{base}-{times}") });
        bases.push(base);
    }
    found
}

/// The lines outside of blocks of code, with their numbers.
fn without_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut block = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        block ^= fence;
        (!block && !fence).then_some((at + 1, line))
    })
}

/// The same lines without `code`.
fn prose(text: &str) -> Vec<(usize, String)> {
    without_blocks(text).map(|(at, line)| (at, line.split('`').step_by(2).collect::<Vec<_>>().join("`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "a [b](c.md#d) ![e](f.svg)\n```\n[g](h)\n```\n`[i](j)` [`k`](l \"m\")\n";
        let link = |line, target: &str| (line, target.to_owned());
        assert_eq!(links(text), [link(1, "c.md#d"), link(1, "f.svg"), link(5, "l")]);
    }

    #[test]
    fn headings_become_anchors() {
        let text = "# A `b`: c, 7 %\n```\n# no\n```\n## Same\n### Same\n#tag\n";
        assert_eq!(anchors(text), ["a-b-c-7-", "same", "same-1"]);
    }
}
