use opscope_tensor::DType;

use super::operator_inputs::{OperatorInputs, Outputs, axis, broadcast, one};
use crate::TensorInfo;

/// Returns the types of the outputs of an operator that moves, selects or reduces elements.
pub(super) fn outputs<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>) -> Outputs {
    let operator = given.operator;
    let op_type = operator.op_type.as_str();
    // This operator may have no tensor input that matters.
    if op_type == "ConstantOfShape" {
        let shape = given.contents(0)?.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
        let dtype = match operator.attributes.get("value") {
            Some(crate::Attribute::Tensor(info)) => info.dtype,
            _ => Some(DType::F32),
        };
        return one(TensorInfo { dtype, shape });
    }
    let x = given.input(0)?;
    let rank = x.shape.len();
    let same_type = |shape: Vec<usize>| one(TensorInfo { dtype: x.dtype, shape });
    match op_type {
        "Shape" => {
            let place =
                |at: i64| (if at < 0 { at.saturating_add(rank as i64) } else { at }).clamp(0, rank as i64) as usize;
            let start = place(operator.int("start").unwrap_or(0));
            let end = operator.int("end").map_or(rank, place);
            one(given.shaped(DType::I64, vec![end.saturating_sub(start)]))
        }
        "Size" => one(given.shaped(DType::I64, Vec::new())),
        "Transpose" => {
            let order = match operator.ints("perm") {
                Some(order) => order.iter().map(|&at| axis(at, rank)).collect::<Option<Vec<_>>>()?,
                None => (0..rank).rev().collect(),
            };
            same_type(order.into_iter().map(|at| x.shape[at]).collect())
                .filter(|_| operator.ints("perm").is_none_or(|perm| perm.len() == rank))
        }
        "Flatten" => {
            let at = match operator.int("axis").unwrap_or(1) {
                at if at == rank as i64 => rank,
                at => axis(at, rank)?,
            };
            same_type(vec![elements(&x.shape[..at])?, elements(&x.shape[at..])?])
        }
        "Reshape" => same_type(reshaped(&x.shape, given.contents(1)?, operator.int("allowzero") == Some(1))?),
        "Squeeze" => {
            let axes = axes(given, rank)?;
            let kept = |at: &usize| match &axes {
                Some(axes) if !axes.is_empty() => !axes.contains(at),
                _ => x.shape[*at] != 1,
            };
            same_type((0..rank).filter(kept).map(|at| x.shape[at]).collect())
        }
        "Unsqueeze" => {
            let given_axes = operator.ints("axes").or_else(|| given.contents(1))?;
            let whole = rank + given_axes.len();
            let axes = given_axes.iter().map(|&at| axis(at, whole)).collect::<Option<Vec<_>>>()?;
            let mut sizes = x.shape.iter().copied();
            same_type(
                (0..whole).map(|at| if axes.contains(&at) { Some(1) } else { sizes.next() }).collect::<Option<_>>()?,
            )
        }
        "Concat" => {
            let at = axis(operator.int("axis")?, rank)?;
            let sizes = given.inputs.iter().map(|input| input.as_ref()?.shape.get(at).copied());
            let mut shape = x.shape.clone();
            shape[at] = sizes.collect::<Option<Vec<_>>>()?.into_iter().try_fold(0usize, usize::checked_add)?;
            same_type(shape)
        }
        "Split" => {
            let at = axis(operator.int("axis").unwrap_or(0), rank)?;
            let parts = operator.outputs.len().max(1);
            let sizes = match operator.ints("split").or_else(|| given.contents(1)) {
                Some(sizes) => sizes.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>()?,
                None if given.operator.inputs.get(1).is_some_and(Option::is_some) => return None,
                None => {
                    let part = x.shape[at].div_ceil(parts);
                    (0..parts).map(|index| part.min(x.shape[at].saturating_sub(part * index))).collect()
                }
            };
            let part = |size: usize| {
                let mut shape = x.shape.clone();
                shape[at] = size;
                Some(TensorInfo { dtype: x.dtype, shape })
            };
            Some(sizes.into_iter().map(part).collect())
        }
        "Slice" => same_type(sliced(given, &x.shape)?),
        "Gather" => {
            let at = axis(operator.int("axis").unwrap_or(0), rank)?;
            let indices = &given.input(1)?.shape;
            same_type([&x.shape[..at], indices, &x.shape[at + 1..]].concat())
        }
        "GatherElements" => same_type(given.input(1)?.shape.clone()),
        "GatherND" => {
            let batch = usize::try_from(operator.int("batch_dims").unwrap_or(0)).ok()?;
            let (&last, kept) = given.input(1)?.shape.split_last()?;
            same_type([kept, x.shape.get(batch.checked_add(last)?..)?].concat())
        }
        "Expand" => {
            let shape =
                given.contents(1)?.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>()?;
            same_type(broadcast(&x.shape, &shape)?)
        }
        "Tile" => {
            let times = given.contents(1)?;
            let tiled = |(&size, &times): (&usize, &i64)| size.checked_mul(usize::try_from(times).ok()?);
            same_type(x.shape.iter().zip(times).map(tiled).collect::<Option<_>>()?).filter(|_| times.len() == rank)
        }
        "Pad" => {
            let pads = operator.ints("pads").or_else(|| given.contents(1))?;
            let axes = match given.contents(3) {
                Some(axes) => axes.iter().map(|&at| axis(at, rank)).collect::<Option<Vec<_>>>()?,
                None if operator.inputs.get(3).is_some_and(Option::is_some) => return None,
                None => (0..rank).collect(),
            };
            if pads.len() != 2 * axes.len() {
                return None;
            }
            let mut shape = x.shape.clone();
            for (index, &at) in axes.iter().enumerate() {
                let (before, behind) = (pads[index], pads[index + axes.len()]);
                let size = i64::try_from(shape[at]).ok()?.checked_add(before)?.checked_add(behind)?;
                shape[at] = usize::try_from(size).ok()?;
            }
            same_type(shape)
        }
        "DepthToSpace" | "SpaceToDepth" => {
            let block = usize::try_from(operator.int("blocksize")?).ok().filter(|block| *block > 0)?;
            let &[batch, channels, height, width] = &x.shape[..] else { return None };
            let area = block.checked_mul(block)?;
            same_type(match op_type {
                "DepthToSpace" => {
                    vec![batch, channels / area, height.checked_mul(block)?, width.checked_mul(block)?]
                }
                _ => vec![batch, channels.checked_mul(area)?, height / block, width / block],
            })
        }
        "ArgMax" | "ArgMin" => {
            let at = axis(operator.int("axis").unwrap_or(0), rank)?;
            let shape = reduced(&x.shape, &[at], operator.int("keepdims").unwrap_or(1) != 0);
            one(given.shaped(DType::I64, shape))
        }
        reduce if reduce.starts_with("Reduce") => {
            let axes = match axes(given, rank)? {
                Some(axes) if !axes.is_empty() => axes,
                _ if operator.int("noop_with_empty_axes") == Some(1) => return same_type(x.shape.clone()),
                _ => (0..rank).collect(),
            };
            same_type(reduced(&x.shape, &axes, operator.int("keepdims").unwrap_or(1) != 0))
        }
        _ => None,
    }
}

/// Returns the axes in the attribute or the second input; `Some(None)` if there is neither.
#[expect(clippy::option_option, reason = "unknown axes are not the same as no axes")]
fn axes<'c>(
    given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>,
    rank: usize,
) -> Option<Option<Vec<usize>>> {
    let axes = match given.operator.ints("axes") {
        Some(axes) => axes,
        None if given.operator.inputs.get(1).is_some_and(Option::is_some) => given.contents(1)?,
        None => return Some(None),
    };
    axes.iter().map(|&at| axis(at, rank)).collect::<Option<_>>().map(Some)
}

fn reduced(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let size = |(at, &size): (usize, &usize)| match axes.contains(&at) {
        true => keep.then_some(1),
        false => Some(size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size))
}

fn reshaped(shape: &[usize], wanted: &[i64], allow_zero: bool) -> Option<Vec<usize>> {
    let size = |(at, &size): (usize, &i64)| match size {
        -1 => Some(1),
        0 if !allow_zero => shape.get(at).copied(),
        size => usize::try_from(size).ok(),
    };
    let mut sizes = wanted.iter().enumerate().map(size).collect::<Option<Vec<_>>>()?;
    let (whole, rest) = (elements(shape)?, elements(&sizes)?);
    match wanted.iter().position(|&size| size == -1) {
        Some(at) => sizes[at] = whole.checked_div(rest)?,
        None if whole != rest => return None,
        None => {}
    }
    Some(sizes)
}

fn sliced<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>, shape: &[usize]) -> Option<Vec<usize>> {
    let operator = given.operator;
    let listed = |name: &str, slot: usize| operator.ints(name).or_else(|| given.contents(slot));
    let (starts, ends) = (listed("starts", 1)?, listed("ends", 2)?);
    let is_given = |slot: usize| operator.inputs.get(slot).is_some_and(Option::is_some);
    let axes = match listed("axes", 3) {
        Some(axes) => axes.to_vec(),
        None if is_given(3) => return None,
        None => (0..starts.len() as i64).collect(),
    };
    let steps = match given.contents(4) {
        Some(steps) => steps.to_vec(),
        None if is_given(4) => return None,
        None => vec![1; starts.len()],
    };
    let mut sliced = shape.to_vec();
    for (index, &at) in axes.iter().enumerate() {
        let at = axis(at, shape.len())?;
        let (size, step) = (i64::try_from(shape[at]).ok()?, *steps.get(index)?);
        let place = |place: i64| if place < 0 { place.saturating_add(size) } else { place };
        let (start, end) = (place(*starts.get(index)?), place(*ends.get(index)?));
        let length = match step {
            1.. => end.clamp(0, size) - start.clamp(0, size),
            0 => return None,
            _ => start.clamp(-1, size - 1) - end.clamp(-1, size - 1),
        };
        sliced[at] = usize::try_from(length.max(0)).ok()?.div_ceil(usize::try_from(step.unsigned_abs()).ok()?);
    }
    Some(sliced)
}
