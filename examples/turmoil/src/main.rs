//! Prints the writes that an outage takes from a store that acknowledges before the flush, and from one that flushes
//! first.

fn main() -> turmoil::Result {
    print!("{}", seekwise_example_turmoil::outage::report(1)?);
    Ok(())
}
