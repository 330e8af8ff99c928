//! Answers a question with the library: which of two drives serves a database faster, and what causes the difference?
//!
//! `cargo run -p seekwise --example two_drives`

use seekwise::Setup;
use seekwise::compare::{Comparison, judgement_of};

fn main() -> Result<(), seekwise::Error> {
    let (old, new) = ("barracuda-7200.7", "cheetah-15k.4");
    let setup = Setup::new("oltp-4k", old).with("job.depth", 8).with_runtime("10 s");
    let compared = Comparison::new(setup, "drive", [old, new]).run(&())?;
    let answer = compared.comparison()?;
    for finding in &answer.findings {
        let judgement = judgement_of(finding);
        let ratio = judgement.ratio;
        println!("{} against {}: {}", answer.side_name(finding.to), answer.side_name(finding.from), judgement.verdict);
        println!("  {:.2} times the requests a second [{:.2}, {:.2}]", ratio.estimate, ratio.low, ratio.high);
        if let Some(cause) = &finding.cause {
            println!("  {}", cause.text());
        }
    }
    Ok(())
}
