//! The contract on every device there is, and one canary for each rule: a device that breaks it and is caught.

use seekwise_model::rng::Seed;
use seekwise_model::testing::{Stack, conformance, random_stack};

#[test]
fn random_stacks_keep_the_contract() {
    for seed in 0..200 {
        let stack = random_stack(&mut Seed(seed).stream("stack"));
        let make = || stack.build();
        if let Err(violation) = conformance(&make, stack.drive.cut_sector, seed) {
            panic!("seed {seed}: {violation:?}\n{stack:?}");
        }
    }
}
