use std::collections::HashMap;

use opscope_tensor::{DType, Element};

use crate::{Dim, Graph, OnnxError, Operator, TensorInfo, ValueId};

/// The values of small integer tensors: shapes, axes and indices that operators compute from shapes.
pub(super) struct Contents {
    numbers: HashMap<ValueId, Vec<i64>>,
}

/// Longer tensors are not shapes.
const MOST: usize = 64;

impl Contents {
    /// Reads the constants of the file. One that cannot be read stays unknown.
    pub(super) fn of(graph: &Graph) -> Self {
        let mut numbers = HashMap::new();
        let wanted = |id: ValueId| {
            let value = graph.value(id);
            let size = |dim: &Dim| match dim {
                Dim::Fixed(size) => *size,
                Dim::Symbol(_) => 0,
            };
            let elements = value.shape.as_ref().map(|dims| dims.iter().map(size).product::<usize>());
            value.dtype.is_none_or(|dtype| matches!(dtype, DType::I64 | DType::I32))
                && elements.is_none_or(|n| n <= MOST)
        };
        let _ = graph.constants::<OnnxError>(wanted, |value, tensor| {
            if matches!(tensor.dtype(), DType::I64 | DType::I32) && tensor.elements() <= MOST {
                let element = |index| Element::at(tensor.dtype(), tensor.bytes(), index)?.to_f64();
                let all = (0..tensor.elements()).map(|index| element(index).map(|number| number as i64));
                numbers.extend(all.collect::<Option<Vec<_>>>().map(|all| (value, all)));
            }
            Ok(())
        });
        Self { numbers }
    }

    pub(super) fn get(&self, value: ValueId) -> Option<&[i64]> {
        self.numbers.get(&value).map(Vec::as_slice)
    }

    /// Adds the output of an operator, if it follows from shapes and constants.
    pub(super) fn add(&mut self, operator: &Operator, inputs: &[Option<TensorInfo>]) {
        let Some(output) = operator.outputs.first().copied().flatten() else { return };
        if operator.domain.is_empty()
            && let Some(numbers) = self.computed(operator, inputs)
            && numbers.len() <= MOST
        {
            self.numbers.insert(output, numbers);
        }
    }

    fn computed(&self, operator: &Operator, types: &[Option<TensorInfo>]) -> Option<Vec<i64>> {
        let input = |slot: usize| self.get(operator.inputs.get(slot).copied()??);
        match operator.op_type.as_str() {
            "Shape" => {
                let shape = &types.first()?.as_ref()?.shape;
                let rank = shape.len() as i64;
                let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
                let (start, end) = (operator.int("start").unwrap_or(0), operator.int("end").unwrap_or(rank));
                Some(shape.get(place(start)..place(end))?.iter().map(|&size| size as i64).collect())
            }
            "Identity" | "Squeeze" | "Unsqueeze" | "Reshape" => Some(input(0)?.to_vec()),
            "Cast" => match DType::from_onnx(i32::try_from(operator.int("to")?).ok()?)? {
                DType::I64 | DType::I32 => Some(input(0)?.to_vec()),
                _ => None,
            },
            "Concat" => {
                let parts = (0..operator.inputs.len()).map(input).collect::<Option<Vec<_>>>()?;
                Some(parts.concat())
            }
            "Gather" => {
                let (numbers, is_vector) = (input(0)?, types.first()?.as_ref()?.shape.len() == 1);
                let at = |&index: &i64| {
                    let index = if index < 0 { index + numbers.len() as i64 } else { index };
                    numbers.get(usize::try_from(index).ok()?).copied()
                };
                input(1)?.iter().map(at).collect::<Option<_>>().filter(|_| is_vector)
            }
            "Slice" => {
                let numbers = input(0)?;
                let &[start] = input(1)? else { return None };
                let &[end] = input(2)? else { return None };
                let is_plain = operator.inputs.len() < 5 || input(4)? == [1];
                let place = |at: i64| {
                    let length = numbers.len() as i64;
                    (if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length) as usize
                };
                Some(numbers.get(place(start)..place(end)).unwrap_or(&[]).to_vec()).filter(|_| is_plain)
            }
            "ReduceProd" => Some(vec![input(0)?.iter().try_fold(1i64, |all, &number| all.checked_mul(number))?]),
            "Add" => pairs(input(0)?, input(1)?, i64::checked_add),
            "Sub" => pairs(input(0)?, input(1)?, i64::checked_sub),
            "Mul" => pairs(input(0)?, input(1)?, i64::checked_mul),
            "Div" => pairs(input(0)?, input(1)?, i64::checked_div),
            "Min" => pairs(input(0)?, input(1)?, |a, b| Some(a.min(b))),
            "Max" => pairs(input(0)?, input(1)?, |a, b| Some(a.max(b))),
            _ => None,
        }
    }
}

/// Combines two vectors of the same length, or a vector with a single number.
fn pairs(a: &[i64], b: &[i64], combine: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
        return None;
    }
    let length = if a.len() == 1 { b.len() } else { a.len() };
    let of = |numbers: &[i64], index: usize| if numbers.len() == 1 { numbers[0] } else { numbers[index] };
    (0..length).map(|index| combine(of(a, index), of(b, index))).collect()
}
