//! Tests of expressions: their trees, and the texts of errors.

use super::*;
use crate::study;

#[track_caller]
fn parse_valid(text: &str) -> Expression {
    parse(text).unwrap_or_else(|fault| panic!("{text}: at {}: {fault}", fault.at))
}

#[track_caller]
fn error_of(text: &str) -> String {
    let fault = parse(text).expect_err(text);
    format!("{}: {fault}", fault.at)
}

#[test]
fn short_names_are_keys_of_a_result() {
    let quantity = |text: &str| match *parse_valid(text).body.node {
        ExpressionNode::Quantity(name) | ExpressionNode::Setting(name) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(quantity("iops"), "all.iops");
    assert_eq!(quantity("response_ms"), "all.response_ms.mean");
    assert_eq!(quantity("response_ms.p99_9"), "all.response_ms.p99_9");
    assert_eq!(quantity("write.response_ms"), "write.response_ms.mean");
    assert_eq!(quantity("read.p99"), "read.response_ms.p99");
    assert_eq!(quantity("p99.9"), "all.response_ms.p99_9");
    assert_eq!(quantity("flush"), "flush.response_ms.mean");
    assert_eq!(quantity("flush.iops"), "flush.iops");
    assert_eq!(quantity("operations.read.count"), "operations.read.count");
    assert_eq!(quantity("operations.read"), "operations.read.response_ms.mean");
    assert_eq!(quantity("operations.read.p99"), "operations.read.response_ms.p99");
    assert_eq!(quantity("phases.1.write.iops"), "phases.1.write.iops");
    assert_eq!(quantity("anatomy_ms.rotation"), "anatomy_ms.rotation");
    assert_eq!(quantity("setting.drive.cache.segments"), "drive.cache.segments");
    assert_eq!(quantity("cuts.torn_cuts"), "cuts.torn_cuts");
    assert_eq!(quantity("cuts.flushed_lost"), "cuts.flushed_lost.writes");
    assert_eq!(quantity("shutdowns.fua_lost.cuts_with_loss"), "shutdowns.fua_lost.cuts_with_loss");
    assert_eq!(quantity("cuts.files.stale"), "cuts.files.stale.count");
    assert_eq!(quantity("shutdowns.operations.in_part.cuts_with_loss"), "shutdowns.operations.in_part.cuts_with_loss");
}

#[test]
fn products_bind_before_sums_and_those_before_comparisons() {
    let ExpressionNode::Within(value, _, _, wanted) = *parse_valid("iops - 2 * iops / 4 in 1.15..1.35").body.node
    else {
        panic!()
    };
    assert_eq!((value.text.as_str(), wanted.as_str()), ("iops - 2 * iops / 4", "1.15..1.35"));
    let ExpressionNode::Arithmetic(_, Operator::Minus, right) = *value.node else { panic!() };
    assert!(matches!(*right.node, ExpressionNode::Arithmetic(_, Operator::Over, _)));
    let ExpressionNode::Or(left, _) = *parse_valid("iops > 1 and iops < 3 or not iops == 7").body.node else {
        panic!()
    };
    assert!(matches!(*left.node, ExpressionNode::And(..)));
}

#[test]
fn each_part_of_a_chain_has_its_text() {
    let ExpressionNode::Compare(first, rest) = *parse_valid("1 <= iops [depth = 8] < 3e2").body.node else { panic!() };
    let texts: Vec<_> = rest.iter().map(|(order, part)| (order.sign(), part.text.as_str())).collect();
    assert_eq!((first.text.as_str(), texts), ("1", vec![("<=", "iops [depth = 8]"), ("<", "3e2")]));
}

#[test]
fn for_each_and_over_take_lists() {
    let expression =
        parse_valid("argmax(bytes_per_s over segments in (4, 8)) in (8, server) for each depth, job in (\"a b\")");
    assert_eq!(expression.each[1].levels, Some(vec!["a b".to_owned()]));
    let ExpressionNode::Among(value, list, words) = *expression.body.node else { panic!() };
    assert_eq!((list.len(), words.as_str()), (2, "(8, server)"));
    let ExpressionNode::Over(Reduction::ArgMax, _, axes) = *value.node else { panic!() };
    assert_eq!(axes[0].levels, Some(vec!["4".to_owned(), "8".to_owned()]));
    let ExpressionNode::Over(_, _, axes) = *parse_valid("slope(iops over log2(depth))").body.node else { panic!() };
    assert!(axes[0].log2);
}

#[test]
fn errors_have_a_position_and_the_nearest_word() {
    for (text, expected) in [
        (
            "iops / iosp > 1",
            "7: unknown figure `iosp`; expected a key of `seekwise run --json`, or `setting.` and a \
          dotted key; did you mean `iops`?",
        ),
        ("argmaxx(iops over depth)", "0: unknown function `argmaxx`; did you mean `argmax`?"),
        (
            "setting.drive.cache.segmnts",
            "0: unknown setting `drive.cache.segmnts`; did you mean \
          `setting.drive.cache.segments`?",
        ),
        ("iops[depth]", "10: unexpected `]`; expected `=`"),
        ("iops in 3", "9: unexpected end of the expression; expected `..` or `±`, as in 1..2 or 6 ± 3 %"),
        ("iops iops", "5: unexpected `iops`; expected an operator, a comparison, `for each` or the end"),
        ("mean(iops)", "9: unexpected `)`; expected `over` and a factor, as in mean(iops over depth)"),
        ("max(iops)", "0: `max` of 1; expected at least two values, or `over` and a factor"),
        ("iops > $", "7: unexpected `$`"),
        ("'abc", "0: the text that starts with ' is not closed"),
    ] {
        assert_eq!(error_of(text), expected);
    }
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(error_of(&deep).contains("more than 400 words"));
    let deep = format!("{}1{}", "(".repeat(99), ")".repeat(99));
    assert!(error_of(&deep).contains("nested more than 40 deep"));
}

/// Brackets, signs, calls and cells one after another are no deeper than one of them.
#[test]
fn a_long_expression_is_not_a_deep_one() {
    for (term, between) in [("(1)", " + "), ("-1", " * "), ("abs(iops)", " - "), ("iops[depth=8]", " / ")] {
        parse_valid(&[term; 44].join(between));
    }
    let all: Vec<String> = (0..60).map(|n| format!("iops > {n}")).collect();
    parse_valid(&all.join(" and "));
}

/// The errors of a study of two factors with one claim that checks `check`.
fn claim_errors(check: &str) -> Vec<String> {
    let text = format!(
        "title = 't'\nquestion = 'q'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n[[factor]]\n\
         name = 'job'\nkey = 'job'\nlevels = ['web', 'oltp']\n[[claim]]\nid = 'T1'\nclass = 'I'\nfinding = 'f'\n\
         condition = 'c'\nmechanism = 'm'\ncheck = [\n  '{check}',\n]\n"
    );
    match study::parse("s.toml", &text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn names_are_checked_against_the_study() {
    assert_eq!(claim_errors("(iops[depth=8] / iops[depth=1])[job=web] > 1"), [""; 0]);
    assert_eq!(claim_errors("rising(iops over depth) for each job"), [""; 0]);
    assert_eq!(claim_errors("share(iops > 1 over depth, job) >= 0.8"), [""; 0]);
    for (check, expected) in [
        ("iops[dept=8, job=web] > 1", "s.toml:18: claim T1: no factor `dept`; did you mean `depth`?"),
        ("iops[depth=9, job=web] > 1", "s.toml:18: claim T1: factor `depth` has no level `9`; expected 1, 8"),
        (
            "iops[depth=8] > 1",
            "s.toml:18: claim T1: `all.iops` leaves factor `job` open; expected [job=\"web\"], \
          `over job` or `for each job`",
        ),
        (
            "iops[depth=8, job=web]",
            "s.toml:18: claim T1: `iops[depth=8, job=web]` is not a condition; expected a \
          comparison, `in`, `rising` or `falling`",
        ),
        ("slope(iops over job) > 1 for each depth", "s.toml:18: claim T1: the levels of `job` are not numbers"),
        (
            "share(iops over job) > 1 for each depth",
            "s.toml:18: claim T1: `iops` is not a condition; expected a \
          condition",
        ),
        (
            "rising(iops over depth, job)",
            "s.toml:18: claim T1: `rising(iops over depth, job)` takes one factor at \
          a time",
        ),
    ] {
        assert!(claim_errors(check).contains(&expected.to_owned()), "{check}: {:#?}", claim_errors(check));
    }
    let unknown = claim_errors("iosp > 1");
    assert!(unknown[0].starts_with("s.toml:18: in `iosp > 1`: unknown figure `iosp`"), "{unknown:?}");
}
