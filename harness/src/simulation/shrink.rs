//! Making a plan that fails as small as it can be: parts are left out as long as it still fails.

use super::plan::Plan;
use std::collections::BTreeSet;

/// How often a plan is played at most to make it smaller.
pub const MAX_PLAYS: usize = 400;

/// The plan without whatever it fails without. Halves are tried first, then ever smaller pieces, down to single parts,
/// until none can be left out any more.
pub fn shrunk(plan: &Plan, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let (mut plan, mut plays) = (plan.clone(), 0);
    let mut size = plan.parts.len().div_ceil(2);
    while size > 0 {
        let mut is_smaller = false;
        let mut at = 0;
        while at < plan.parts.len() {
            if plays == MAX_PLAYS {
                return plan;
            }
            plays += 1;
            let less = without(&plan, at, size);
            if fails(&less) {
                (plan, is_smaller) = (less, true);
            } else {
                at += size;
            }
        }
        size = match (size, is_smaller) {
            (1, true) => 1,
            (1, false) => 0,
            (size, _) => size / 2,
        };
    }
    plan
}

fn without(plan: &Plan, at: usize, size: usize) -> Plan {
    let numbers = plan.numbers();
    let end = (at + size).min(numbers.len());
    let kept: BTreeSet<_> = numbers[..at].iter().chain(&numbers[end..]).copied().collect();
    plan.only(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_found_among_many_parts() {
        let plan = (1..).map(|seed| Plan::of_seed(seed, 5)).find(|plan| plan.parts.len() > 30);
        let plan = plan.expect("some plan is large");
        for needed in [vec![], vec![0], vec![3, 17], vec![1, 2, 28]] {
            let needed: BTreeSet<_> = needed.into_iter().collect();
            let fails = |plan: &Plan| needed.is_subset(&plan.numbers().into_iter().collect());
            let shrunk = shrunk(&plan, fails);
            assert_eq!(shrunk.numbers(), needed.into_iter().collect::<Vec<_>>());
        }
    }
}
