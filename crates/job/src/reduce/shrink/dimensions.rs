//! Smaller dimensions. Which tensors have a dimension in common is guessed by its size; each guess is checked.

use opscope_tensor::{Axis, DType, Element, Slice, Tensor};

use super::try_change;
use crate::reduce::case::{Case, Slot};
use crate::reduce::check::Checker;

/// An axis of a tensor.
type Place = (Slot, usize);

/// The most axes of one size of which all sets are tried.
const FEW: usize = 5;

/// The most elements of a tensor of integers that may state sizes.
const MOST_SIZES: usize = 64;

/// Makes dimensions smaller until none can become smaller.
pub fn shrink(case: &mut Case, checker: &mut Checker<'_>) {
    const ROUNDS: usize = 4;
    for _ in 0..ROUNDS {
        let mut is_smaller = false;
        let mut done = Vec::new();
        while let Some(size) = sizes(case).into_iter().find(|size| !done.contains(size)) {
            done.push(size);
            for group in groups(case, size) {
                if checker.is_over() {
                    return;
                }
                is_smaller |= shrink_group(case, checker, &group, size);
            }
        }
        if !is_smaller {
            return;
        }
    }
}

/// Returns the sizes of all dimensions above 1, the largest first.
fn sizes(case: &Case) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        case.data().iter().flat_map(|(_, tensor)| tensor.shape().to_vec()).filter(|&size| size > 1).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes.dedup();
    sizes
}

/// Returns the sets of axes of this size that may be one dimension, the largest first.
fn groups(case: &Case, size: usize) -> Vec<Vec<Place>> {
    let data = case.data();
    let axes: Vec<(Place, usize)> = data
        .iter()
        .flat_map(|(slot, tensor)| {
            let rank = tensor.shape().len();
            let axes = tensor.shape().iter().enumerate().filter(|(_, dim)| **dim == size);
            axes.map(move |(axis, _)| ((*slot, axis), rank - axis))
        })
        .collect();
    let all: Vec<Place> = axes.iter().map(|(place, _)| *place).collect();
    let mut groups = vec![all.clone()];
    if all.len() <= FEW {
        let mut sets: Vec<usize> = (1..1 << all.len()).collect();
        sets.sort_by_key(|set: &usize| std::cmp::Reverse(set.count_ones()));
        let chosen = |set: usize| all.iter().enumerate().filter(move |(at, _)| set >> at & 1 == 1);
        groups.extend(sets.into_iter().map(|set| chosen(set).map(|(_, place)| *place).collect()));
    } else {
        let positions = 0..axes.iter().map(|((_, axis), _)| axis + 1).max().unwrap_or(0);
        let of = |is_in: &dyn Fn(&(Place, usize)) -> bool| -> Vec<Place> {
            axes.iter().filter(|axis| is_in(axis)).map(|(place, _)| *place).collect()
        };
        for position in positions.clone() {
            groups.push(of(&|((_, axis), _)| *axis == position));
            groups.push(of(&|(_, behind)| *behind == position + 1));
        }
        groups.extend(all.iter().map(|place| vec![*place]));
    }
    groups.retain(|group| !group.is_empty());
    let mut seen = Vec::new();
    groups.retain(|group| {
        let is_new = !seen.contains(group);
        seen.push(group.clone());
        is_new
    });
    groups
}

/// Takes parts of the tensors along these axes, as small as possible. Returns whether they became smaller.
fn shrink_group(case: &mut Case, checker: &mut Checker<'_>, group: &[Place], size: usize) -> bool {
    let fits = |case: &Case| {
        group.iter().all(|(slot, axis)| case.tensor(*slot).is_some_and(|it| it.shape().get(*axis) == Some(&size)))
    };
    if !fits(case) {
        return false;
    }
    if try_part(case, checker, group, size, 0, 1) {
        return true;
    }
    let mut current = size;
    loop {
        let half = current / 2;
        let parts =
            [(0, half), (current - half, half), (0, current - current / 4), (current / 4, current - current / 4)];
        let smaller = parts.into_iter().filter(|(_, count)| *count > 0 && *count < current);
        let found = smaller.into_iter().find(|&(from, count)| try_part(case, checker, group, current, from, count));
        match found {
            Some((_, count)) => current = count,
            None => return current < size,
        }
    }
}

/// Takes `count` of `size` entries along these axes. Where integers state that size, they state the new one, if that is
/// what it takes.
fn try_part(
    case: &mut Case,
    checker: &mut Checker<'_>,
    group: &[Place],
    size: usize,
    from: usize,
    count: usize,
) -> bool {
    let change = |case: &mut Case| {
        for &(slot, axis) in group {
            if let Some(part) = case.tensor(slot).and_then(|tensor| part_of(&tensor, axis, from, count)) {
                case.set(slot, part);
            }
        }
    };
    let stated: Vec<(Slot, Tensor)> =
        case.data().iter().filter_map(|(slot, tensor)| Some((*slot, restated(tensor, size, count)?))).collect();
    if !stated.is_empty() {
        let with_sizes = |case: &mut Case| {
            stated.into_iter().for_each(|(slot, tensor)| case.set(slot, tensor));
            change(case);
        };
        if try_change(case, checker, with_sizes) {
            return true;
        }
    }
    try_change(case, checker, change)
}

fn part_of(tensor: &Tensor, axis: usize, from: usize, count: usize) -> Option<Tensor> {
    let whole = Axis::Range { start: None, stop: None, step: 1 };
    let mut axes = vec![whole; axis];
    axes.push(Axis::Range { start: Some(from as i64), stop: Some((from + count) as i64), step: 1 });
    Slice::new(axes).ok()?.resolve(tensor.shape()).ok()?.copy(&tensor.view()).ok()
}

/// Returns a tensor of integers in which one number is replaced by another. Returns `None` if it does not have it, or
/// is no short list of integers.
fn restated(tensor: &Tensor, old: usize, new: usize) -> Option<Tensor> {
    if tensor.dtype() != DType::I64 || tensor.elements() > MOST_SIZES || tensor.shape().len() > 1 {
        return None;
    }
    let numbers = (0..tensor.elements()).map(|at| match Element::at(DType::I64, tensor.bytes(), at) {
        Some(Element::Int(number)) => number,
        _ => 0,
    });
    let numbers: Vec<i64> = numbers.collect();
    if !numbers.contains(&(old as i64)) {
        return None;
    }
    let replaced = numbers.iter().map(|&number| if number == old as i64 { new as i64 } else { number });
    Tensor::from_i64(tensor.shape().to_vec(), &replaced.collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_tensor_has_the_entries_of_one_axis() {
        let tensor = Tensor::from_f32(vec![2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let part = part_of(&tensor, 1, 1, 2).unwrap();
        assert_eq!(part, Tensor::from_f32(vec![2, 2], &[1.0, 2.0, 4.0, 5.0]).unwrap());
        assert_eq!(part_of(&tensor, 0, 1, 1).unwrap(), Tensor::from_f32(vec![1, 3], &[3.0, 4.0, 5.0]).unwrap());
    }

    #[test]
    fn a_list_of_sizes_states_the_new_size() {
        let sizes = Tensor::from_i64(vec![3], &[8, -1, 64]).unwrap();
        assert_eq!(restated(&sizes, 64, 1), Tensor::from_i64(vec![3], &[8, -1, 1]).ok());
        assert_eq!(restated(&sizes, 7, 1), None);
        assert_eq!(restated(&Tensor::from_f32(vec![1], &[8.0]).unwrap(), 8, 1), None);
    }
}
