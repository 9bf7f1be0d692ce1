use std::collections::HashMap;

use opscope_tensor::{Tensor, TensorView};

use super::*;

/// Tensors by reference, and those of the side at which the run is stopped.
struct Here<'a> {
    tensors: HashMap<TensorRef, TensorView<'a>>,
    subjects: Vec<TensorView<'a>>,
}

impl Tensors for Here<'_> {
    fn view(&self, tensor: &TensorRef) -> Option<TensorView<'_>> {
        self.tensors.get(tensor).cloned()
    }

    fn subjects(&self) -> &[TensorView<'_>] {
        &self.subjects
    }
}

fn holds(condition: &str, values: &[f32]) -> Option<bool> {
    let tensor = Tensor::from_f32(vec![values.len()], values).unwrap();
    let tensors = HashMap::from([(TensorRef::Output(0), tensor.view())]);
    Condition::parse(condition).unwrap().evaluate(&Here { tensors, subjects: vec![tensor.view()] }).unwrap()
}

#[test]
fn conditions_hold_for_what_they_say() {
    let values = [1.0, -4.0, 0.0, f32::NAN, f32::INFINITY, 3.0];
    for (condition, expected) in [
        ("nan", true),
        ("not nan", false),
        ("nan == 1 and inf == 1 and zeros == 1 && count == 6", true),
        ("absmax > 4 || absmax >= 4", true),
        ("min == -4 and max == 3", true),
        ("mean == 0 and l2 * l2 > 25.99 and l2*l2 < 26.01", true),
        ("std > 2.54 and std < 2.56", true),
        ("shape == [6] and rank == 1 and shape[0] == 6 and shape[-1] != 5", true),
        ("dtype == f32", true),
        ("dtype != float32 or dtype == i64", false),
        ("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 7 - 2 - 1 == 4 and 8 / 2 / 2 == 2", true),
        ("not 1 == 2 and !(1 > 2)", true),
        ("1 or 0 and 0", true),
        ("absmax(output[0][:2]) == 4 and nan(output[0][::3])", true),
        ("-min == absmax", true),
    ] {
        assert_eq!(holds(condition, &values), Some(expected), "{condition}");
    }
}
