//! Shows what an outage costs a store that acknowledges before the flush, and one that flushes first.

use seekwise_example_turmoil::outage::run;
use seekwise_example_turmoil::store::Acknowledge;

fn main() -> turmoil::Result {
    for when in [Acknowledge::BeforeFlush, Acknowledge::AfterFlush] {
        let outcome = run(1, when)?;
        println!("{when:?}: {} writes acknowledged, {} of them lost", outcome.acknowledged.len(), outcome.lost.len());
    }
    Ok(())
}
