//! Finds a smallest set of operators to keep.
//!
//! Candidates are ordered, the most suspect first. The first one that must be kept is the last of the shortest prefix
//! with which the target is met; it is found by growing prefixes and halving. It is kept from then on, and the search
//! goes on among the candidates before it, by halving alone. This takes about k log2(n) trials for k operators of n, fewer
//! if the order is good.
//!
//! Nothing relies on more operators being better: a set counts only if it was tried. At the end each operator is removed
//! once more, and the set is final when the target is missed without any one of them.

use std::collections::BTreeSet;

/// A set of candidates, by their places in the order.
pub(super) type Kept = BTreeSet<usize>;

/// What a trial found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Verdict {
    pub is_met: bool,
    /// The metric, if it could be measured.
    pub value: Option<f64>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub kept: Kept,
    /// For each kept operator, what is measured without it. Empty if the search was cut short.
    pub without: Vec<Verdict>,
}

/// Why a search ended early.
#[derive(Debug)]
pub(super) enum Cut<E> {
    /// There is no more time, or the user wants no more.
    Enough,
    Failed(E),
}

/// Tries a set; the second argument says whether the value shall be that of all inputs.
pub(super) type Trial<'a, E> = dyn FnMut(&Kept, bool) -> Result<Verdict, Cut<E>> + 'a;

/// Is told of a set that is better than all before.
pub(super) type Improved<'a, E> = dyn FnMut(&Kept) -> Result<(), Cut<E>> + 'a;

/// How many times as long the next prefix is that is tried for the first operator.
const GROWTH: usize = 8;

/// Searches among `candidates` candidates. `best` is called with each set that is better than all before. All of them
/// together meet the target: that is the reference itself. `suspects` is the number of candidates at the front that
/// probably suffice. `trial` is told whether its value shall be that of all inputs.
///
/// # Errors
/// Returns the first error of `trial`, or [`Cut::Enough`]; the best set so far was passed to `best`.
pub(super) fn search<E>(
    candidates: usize,
    suspects: usize,
    trial: &mut Trial<'_, E>,
    best: &mut Improved<'_, E>,
) -> Result<Found, Cut<E>> {
    let mut smallest: Kept = (0..candidates).collect();
    let mut required = Kept::new();
    // `required` and the candidates before `end` meet the target.
    let mut end = candidates;
    loop {
        let mut attempt = |length: usize, required: &Kept| {
            let kept: Kept = required.iter().copied().chain(0..length).collect();
            if kept == smallest {
                return Ok(true);
            }
            let is_met = trial(&kept, kept.is_empty())?.is_met;
            if is_met && kept.len() < smallest.len() {
                smallest = kept;
                best(&smallest)?;
            }
            Ok(is_met)
        };
        if attempt(0, &required)? {
            break;
        }
        let (mut missed, mut met) = (0, end);
        // If the order is good, few are before the first one. If it is not, growing costs more than halving.
        let mut length = if required.is_empty() { suspects.max(1) } else { end };
        while length < met {
            if attempt(length, &required)? {
                met = length;
                break;
            }
            missed = length;
            length *= GROWTH;
        }
        while met - missed > 1 {
            let middle = usize::midpoint(missed, met);
            if attempt(middle, &required)? { met = middle } else { missed = middle }
        }
        required.insert(met - 1);
        end = met - 1;
    }
    minimal(required, trial, best)
}

/// Removes what is not needed, until the target is missed without any one.
fn minimal<E>(mut kept: Kept, trial: &mut Trial<'_, E>, best: &mut Improved<'_, E>) -> Result<Found, Cut<E>> {
    'again: loop {
        let mut without = Vec::new();
        for candidate in kept.clone().into_iter().rev() {
            let rest: Kept = kept.iter().copied().filter(|other| *other != candidate).collect();
            let verdict = trial(&rest, true)?;
            if verdict.is_met {
                best(&rest)?;
                kept = rest;
                continue 'again;
            }
            without.push(verdict);
        }
        without.reverse();
        return Ok(Found { kept, without });
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// Searches with a rule that says which sets meet the target. Returns the set and the number of trials.
    fn found(candidates: usize, suspects: usize, rule: impl Fn(&Kept) -> bool) -> (Kept, usize) {
        let mut trials = 0;
        let mut trial = |kept: &Kept, _| {
            trials += 1;
            Ok(Verdict { is_met: rule(kept), value: None })
        };
        let found = search::<Infallible>(candidates, suspects, &mut trial, &mut |_| Ok(()));
        let Ok(found) = found else { panic!("nothing cuts the search") };
        assert_eq!(found.without.len(), found.kept.len());
        (found.kept, trials)
    }

    #[test]
    fn three_operators_of_eight_hundred_are_found_in_at_most_forty_trials_whatever_the_order() {
        for culprits in [[0, 1, 2], [5, 300, 799], [797, 798, 799], [353, 661, 744], [385, 654, 775], [255, 256, 257]] {
            let culprits = Kept::from(culprits);
            for suspects in [0, 3, 20, 100] {
                let (kept, trials) = found(800, suspects, |kept| culprits.is_subset(kept));
                assert_eq!(kept, culprits);
                assert!(trials <= 40, "{trials} trials for {kept:?}");
            }
        }
        let (_, trials) = found(800, 3, |kept| Kept::from([0, 1, 2]).is_subset(kept));
        assert!(trials <= 10, "{trials} trials with the best order");
    }

    #[test]
    fn nothing_is_kept_if_nothing_must_be() {
        assert_eq!(found(20, 7, |_| true), (Kept::new(), 1));
    }

    #[test]
    fn what_was_tried_is_passed_on_while_the_search_runs_and_remains_when_it_is_cut() {
        let mut left = 6;
        let mut sizes = Vec::new();
        let mut trial = |kept: &Kept, _| {
            left -= 1;
            if left == 0 { Err(Cut::Enough) } else { Ok(Verdict { is_met: kept.contains(&5), value: None }) }
        };
        let mut best = |kept: &Kept| {
            sizes.push(kept.len());
            Ok(())
        };
        let cut = search::<Infallible>(100, 0, &mut trial, &mut best);
        assert!(matches!(cut, Err(Cut::Enough)));
        assert_eq!(sizes, [8, 6], "the prefixes of 0 and 1 miss, that of 8 meets, and of those between 4 misses");
    }

    proptest! {
        /// A rule that is not monotone: it also wants an even number of others.
        #[test]
        fn without_any_operator_of_the_set_the_target_is_missed(
            culprits in proptest::collection::btree_set(0..60usize, 0..6),
            suspects in 0..60usize,
            odd in proptest::collection::btree_set(0..60usize, 0..10),
        ) {
            let rule = |kept: &Kept| {
                kept.len() == 60 || (culprits.is_subset(kept) && kept.intersection(&odd).count().is_multiple_of(2))
            };
            let (kept, _) = found(60, suspects, rule);
            prop_assert!(rule(&kept));
            for one in &kept {
                let rest: Kept = kept.iter().copied().filter(|other| other != one).collect();
                prop_assert!(!rule(&rest), "{one} is not needed");
            }
        }
    }
}
