//! Shows what an outage costs a store that acknowledges before the flush, and one that flushes first.

fn main() -> turmoil::Result {
    print!("{}", seekwise_example_turmoil::outage::report(1)?);
    Ok(())
}
