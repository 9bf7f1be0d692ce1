//! Replaces what a model says about where it comes from: names, texts, weights and inputs.

mod inner;
mod names;
mod numbers;

use opscope_tensor::{Element, Tensor};

use self::numbers::{Likeness, replaced};
use super::case::{Case, Slot};
use super::check::Checker;
use super::report::Kept;
use super::shrink::try_change;

/// The most integers that count as the structure of a model if they stay: shapes, axes, steps.
const MOST_OF_STRUCTURE: usize = 16;

/// Returns a model with other names and numbers that fails in the same way, and what of the original stays in it.
pub fn anonymise(case: Case, original: &Case, checker: &mut Checker<'_>) -> (Case, Vec<Kept>) {
    checker.enter("replacing names and numbers");
    checker.extend();
    let mut anonymous = case;
    let mut kept = Vec::new();
    let is_renamed = try_change(&mut anonymous, checker, names::rename);
    let mut random = fastrand::Rng::with_seed(0);
    let data = anonymous.data();
    let data: Vec<(Slot, Tensor)> = data.into_iter().filter(|(_, tensor)| !says_nothing(tensor)).collect();
    // All at once, and then one by one what is not replaced then.
    if !replace(&mut anonymous, &data, checker, &mut random) {
        for one in &data {
            if !replace(&mut anonymous, std::slice::from_ref(one), checker, &mut random) {
                kept.push(kept_tensor(anonymous.name(one.0), &one.1));
            }
        }
    }
    kept.extend(inner::replace_inner(&mut anonymous, checker, &mut random));
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

/// How often random numbers are drawn for each likeness.
const DRAWS: usize = 4;

/// Replaces tensors by random numbers. Returns whether the model still fails then.
fn replace(case: &mut Case, data: &[(Slot, Tensor)], checker: &mut Checker<'_>, random: &mut fastrand::Rng) -> bool {
    let draws = Likeness::ALL.into_iter().flat_map(|likeness| [likeness; DRAWS]);
    for likeness in draws {
        let new = data.iter().map(|(slot, tensor)| Some((*slot, replaced(tensor, likeness, random)?)));
        let Some(new) = new.collect::<Option<Vec<_>>>() else { return false };
        if new.is_empty()
            || try_change(case, checker, |case| new.into_iter().for_each(|(slot, tensor)| case.set(slot, tensor)))
        {
            return true;
        }
    }
    false
}

/// Returns whether a tensor says nothing: its elements are zero, NaN or infinite, or all are one.
fn says_nothing(tensor: &Tensor) -> bool {
    let numbers = || (0..tensor.elements()).map(|at| Element::at(tensor.dtype(), tensor.bytes(), at)?.to_f64());
    let is_special = |number: Option<f64>| number.is_some_and(|number| number == 0.0 || !number.is_finite());
    numbers().all(is_special) || numbers().all(|number| number == Some(1.0))
}

fn kept_tensor(name: &str, tensor: &Tensor) -> Kept {
    let dtype = tensor.dtype();
    let is_structure = !dtype.is_float() && !dtype.is_complex() && tensor.elements() <= MOST_OF_STRUCTURE;
    let why =
        if is_structure { "a part of the structure, as attributes are" } else { "the failure needs these numbers" };
    Kept { name: name.to_owned(), what: format!("{dtype} {:?}, {why}", tensor.shape()), is_structure }
}
