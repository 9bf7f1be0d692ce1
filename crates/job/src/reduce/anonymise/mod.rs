//! Replaces what a model says about where it comes from: names, texts, weights and inputs.

mod names;
mod numbers;

use std::time::Duration;

use opscope_tensor::Tensor;

use self::numbers::{Likeness, replaced};
use super::case::{Case, Slot};
use super::check::Checker;
use super::report::Kept;
use super::shrink::try_change;

/// How long replacing may take if the time of the search is over.
const TIME: Duration = Duration::from_secs(60);

/// The most integers that count as the structure of a model if they stay: shapes, axes, steps.
const MOST_OF_STRUCTURE: usize = 16;

/// Returns a model with other names and numbers that fails in the same way, and what of the original stays in it.
pub fn anonymise(case: Case, original: &Case, checker: &mut Checker<'_>) -> (Case, Vec<Kept>) {
    checker.enter("replacing names and numbers");
    checker.extend(TIME);
    let mut anonymous = case;
    let mut kept = Vec::new();
    let is_renamed = try_change(&mut anonymous, checker, names::rename);
    let mut random = fastrand::Rng::with_seed(0);
    let data = anonymous.data();
    // All at once, and then one by one what is not replaced then.
    let all = Likeness::ALL.into_iter().any(|likeness| {
        let new: Option<Vec<(Slot, Tensor)>> = data
            .iter()
            .filter(|(_, tensor)| !is_constant(tensor))
            .map(|(slot, tensor)| Some((*slot, replaced(tensor, likeness, &mut random)?)))
            .collect();
        new.is_some_and(|new| {
            try_change(&mut anonymous, checker, |case| {
                new.into_iter().for_each(|(slot, tensor)| case.set(slot, tensor))
            })
        })
    });
    if !all {
        for (slot, tensor) in data.iter().filter(|(_, tensor)| !is_constant(tensor)) {
            let is_replaced = Likeness::ALL.into_iter().any(|likeness| {
                replaced(tensor, likeness, &mut random)
                    .is_some_and(|new| try_change(&mut anonymous, checker, |case| case.set(*slot, new)))
            });
            if !is_replaced {
                kept.push(kept_tensor(anonymous.name(*slot), tensor));
            }
        }
    }
    if is_renamed {
        let left = names::left(&anonymous.proto, &original.proto).into_iter();
        kept.extend(left.map(|(name, what)| Kept { name, what, is_structure: false }));
    } else {
        kept.push(Kept {
            name: "names".to_owned(),
            what: "all names: with others the model does not fail in the same way".to_owned(),
            is_structure: false,
        });
    }
    (anonymous, kept)
}

/// Returns whether a tensor says nothing: all of its elements are zero, or all are one.
fn is_constant(tensor: &Tensor) -> bool {
    let numbers =
        || (0..tensor.elements()).map(|at| opscope_tensor::Element::at(tensor.dtype(), tensor.bytes(), at)?.to_f64());
    numbers().all(|number| number == Some(0.0)) || numbers().all(|number| number == Some(1.0))
}

fn kept_tensor(name: &str, tensor: &Tensor) -> Kept {
    let dtype = tensor.dtype();
    let is_structure = !dtype.is_float() && !dtype.is_complex() && tensor.elements() <= MOST_OF_STRUCTURE;
    let why =
        if is_structure { "a part of the structure, as attributes are" } else { "the failure needs these numbers" };
    Kept { name: name.to_owned(), what: format!("{dtype} {:?}, {why}", tensor.shape()), is_structure }
}
