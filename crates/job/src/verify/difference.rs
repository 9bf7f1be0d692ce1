use std::collections::BTreeSet;
use std::fmt;

use opscope_onnx::{Graph, Operator, OperatorId, ValueId};
use opscope_tensor::{DType, Difference, DifferenceAccumulator, Tensor, Tolerance};
use serde::{Deserialize, Serialize};

use super::scale::Bounded;
use super::trial::Trial;

/// How far an output is from the exact plan's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputDifference {
    /// The output's name.
    pub output: String,
    /// The largest difference of two elements; `None` if the two cannot be compared element by element.
    pub largest: Option<f64>,
    /// The same as a share of the exact plan's largest element.
    pub of_largest: Option<f64>,
    /// The largest magnitude that an element can have, if the elements come out of bounded functions such as a Sigmoid.
    /// The difference is judged by it if it is known, and otherwise by the exact plan's largest element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The largest difference between the inputs of the bounded functions, as a share of the largest element there.
    /// `None` if the plans do not show these inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<f64>,
    /// What else differs: the type, the shape, the positions of NaN and infinity, or the input of a bounded function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl OutputDifference {
    /// Returns the largest difference as a share of the number that it is judged by.
    pub(super) fn share(&self) -> f64 {
        match self.scale {
            Some(scale) => self.largest.map(|largest| largest / scale),
            None => self.of_largest,
        }
        .unwrap_or(0.0)
    }
}

impl fmt::Display for OutputDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = &self.output;
        match (&self.because, self.of_largest, self.scale) {
            (Some(because), ..) => write!(f, "{output} ({because})"),
            (None, _, Some(scale)) => {
                write!(f, "{output} by {} of the {scale:.2} that it can be", shown_share(self.share()))
            }
            (None, Some(share), None) => write!(f, "{output} by {} of its largest element", shown_share(share)),
            (None, None, None) => f.write_str(output),
        }
    }
}

/// Returns a share with two digits after the point, or in scientific notation if it is below 0.01.
fn shown_share(share: f64) -> String {
    if share == 0.0 || share >= 0.01 { format!("{share:.2}") } else { format!("{share:.1e}") }
}

/// Compares the outputs of two plans, with tolerances for the types that a graph computes in.
pub(super) struct OutputComparison<'a> {
    graph: &'a Graph,
    /// The coarsest floating-point type in the graph.
    coarsest: Option<DType>,
    /// Whether numbers are rounded to 8 bits. A difference in the last digit can then become a whole step.
    quantised: bool,
    /// The bounded functions that each output comes from.
    bounded: Vec<Option<Bounded>>,
}

/// A share of an output's largest element: some steps of an 8-bit quantisation.
const SOME_STEPS: f64 = 0.05;

/// How far apart float32 outputs of a bounded function may be, as a share of its scale. Engines approximate these
/// functions, and the error is about the same where they are near 0. docs/verify.md says how this was measured.
const OF_SCALE: f64 = 5e-6;

/// How far apart the inputs of a bounded function may be, as a share of the largest element there. This shows
/// differences that the function hides where its values hardly change. Between right plans, a hundredth of this was
/// measured.
const OF_TAKEN: f64 = 1e-3;

/// The same if the graph computes in a coarser type than float32.
const OF_TAKEN_COARSE: f64 = 0.02;

impl<'a> OutputComparison<'a> {
    pub fn of(graph: &'a Graph) -> Self {
        let types = || graph.values.iter().filter_map(|value| value.dtype);
        let is_quantised = |op_type: &str| op_type.starts_with("QLinear") || op_type.contains("QuantizeLinear");
        let coarsest = [DType::Bf16, DType::F16].into_iter().find(|coarse| types().any(|dtype| dtype == *coarse));
        let quantised = graph.operators.iter().any(|operator| is_quantised(&operator.op_type));
        let bounded = graph.outputs.iter().map(|output| Bounded::of(graph, *output)).collect();
        Self { graph, coarsest, quantised, bounded }
    }

    /// Returns the values that are inputs of the bounded functions.
    pub fn taken(&self) -> BTreeSet<ValueId> {
        let functions = self.bounded.iter().flatten().flat_map(|bounded| &bounded.functions);
        functions.filter_map(|function| taken(self.graph.operator(*function))).collect()
    }

    /// Returns how far each output is from the expected one.
    ///
    /// # Errors
    /// Returns only the outputs that differ, if there are any.
    pub fn compare(&self, found: &Trial, expected: &Trial) -> Result<Vec<OutputDifference>, Vec<OutputDifference>> {
        let (mut equal, mut differing) = (Vec::new(), Vec::new());
        for (slot, outputs) in found.outputs.iter().zip(&expected.outputs).enumerate() {
            let (Some(output), Some(expected_output)) = outputs else { continue };
            let bounded = self.bounded[slot].as_ref().filter(|_| is_float(expected_output.dtype()));
            let name = &self.graph.value(self.graph.outputs[slot]).name;
            let (mut difference, mut is_equal) = self.one(name, output, expected_output, bounded);
            for function in bounded.iter().flat_map(|bounded| &bounded.functions) {
                let Some(share) = self.taken_apart(*function, found, expected) else { continue };
                difference.taken = Some(difference.taken.unwrap_or(0.0).max(share));
                if is_equal && share > self.most_of_taken() {
                    let function = &self.graph.operator(*function).name;
                    let share = shown_share(share);
                    difference.because =
                        Some(format!("what {function} takes differs by {share} of its largest element"));
                    is_equal = false;
                }
            }
            if is_equal { &mut equal } else { &mut differing }.push(difference);
        }
        if differing.is_empty() { Ok(equal) } else { Err(differing) }
    }

    /// Compares one output. Returns its difference, and whether it counts as equal.
    fn one(
        &self,
        name: &str,
        found: &Tensor,
        expected: &Tensor,
        bounded: Option<&Bounded>,
    ) -> (OutputDifference, bool) {
        let scale = bounded.map(|bounded| bounded.scale);
        let mut output = OutputDifference {
            output: name.to_owned(),
            largest: None,
            of_largest: None,
            scale,
            taken: None,
            because: None,
        };
        let (left, right) = (found.dtype(), expected.dtype());
        if (left, found.shape()) != (right, expected.shape()) {
            output.because = Some(format!("{left} {:?} instead of {right} {:?}", found.shape(), expected.shape()));
            return (output, false);
        }
        let tolerance = self.tolerance(right, scale);
        let Some(difference) = difference(found, expected, tolerance.relative) else { return (output, true) };
        output.largest = Some(difference.max_absolute);
        output.of_largest = Some(of_largest(&difference));
        let elsewhere = difference.mismatches();
        // A number between two integers may be rounded to either.
        let few =
            self.quantised && (difference.count - difference.equal) as f64 <= SOME_STEPS * difference.count as f64;
        let is_equal = difference.is_within(&tolerance) || (tolerance == Tolerance::EXACT && few);
        if !is_equal && elsewhere > 0 {
            output.because = Some(match elsewhere {
                1 => "1 element is NaN or infinite in one of the two only".to_owned(),
                more => format!("{more} elements are NaN or infinite in one of the two only"),
            });
        }
        (output, is_equal)
    }

    /// Returns the tolerance for an output of this type, whose elements can be as large as `scale` if that is known.
    fn tolerance(&self, dtype: DType, scale: Option<f64>) -> Tolerance {
        let of_type = Tolerance::of(self.coarsest.filter(|_| is_float(dtype)).unwrap_or(dtype));
        if !is_float(dtype) {
            return of_type;
        }
        let steps = if self.quantised { SOME_STEPS } else { 0.0 };
        let of_scale = match self.coarsest {
            None if dtype == DType::F32 => OF_SCALE,
            _ => of_type.of_max,
        };
        Tolerance {
            absolute: of_type.absolute + of_scale.max(steps) * scale.unwrap_or(0.0),
            relative: of_type.relative,
            of_max: if scale.is_some() { of_type.of_max } else { of_type.of_max.max(steps) },
        }
    }

    /// Returns how far apart the inputs of bounded functions may be.
    fn most_of_taken(&self) -> f64 {
        match (self.quantised, self.coarsest) {
            (true, _) => SOME_STEPS,
            (false, Some(_)) => OF_TAKEN_COARSE,
            (false, None) => OF_TAKEN,
        }
    }

    /// Returns how far apart the inputs of a function are in two plans, as a share of the largest element. An optimised
    /// plan may have the elements in another order. Returns `None` unless both plans show the input as floating-point
    /// numbers.
    fn taken_apart(&self, function: OperatorId, found: &Trial, expected: &Trial) -> Option<f64> {
        let value = taken(self.graph.operator(function))?;
        let (found, expected) = (found.values.get(&value)?, expected.values.get(&value)?);
        if found.elements() != expected.elements() || !is_float(found.dtype()) || !is_float(expected.dtype()) {
            return None;
        }
        let share = |found: &Tensor, expected: &Tensor| {
            let difference = difference(found, expected, 0.0)?;
            Some(if difference.mismatches() > 0 { f64::INFINITY } else { of_largest(&difference) })
        };
        let in_order = share(found, expected)?;
        if in_order <= self.most_of_taken() {
            return Some(in_order);
        }
        share(&sorted(found)?, &sorted(expected)?)
    }
}

/// Returns the value that a bounded function takes as its input.
fn taken(function: &Operator) -> Option<ValueId> {
    function.inputs.first().copied().flatten()
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
}

fn difference(found: &Tensor, expected: &Tensor, relative: f64) -> Option<Difference> {
    let (left, right) = (found.dtype(), expected.dtype());
    let mut difference = DifferenceAccumulator::new(left, right, found.elements(), relative).ok()?;
    difference.update(found.bytes(), expected.bytes());
    Some(difference.finish())
}

/// Returns the largest difference as a share of the expected tensor's largest element.
fn of_largest(difference: &Difference) -> f64 {
    match difference.max_reference {
        0.0 => difference.max_absolute,
        largest => difference.max_absolute / largest,
    }
}

/// Returns the elements as float32, in ascending order.
fn sorted(tensor: &Tensor) -> Option<Tensor> {
    let tensor = tensor.cast(DType::F32)?;
    let mut elements: Vec<f32> = tensor.bytes().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    elements.sort_by(f32::total_cmp);
    Tensor::from_f32(vec![elements.len()], &elements).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use opscope_model::testing::GraphBuilder;

    use super::*;

    /// Returns how far apart the inputs of a Sigmoid are in two trials.
    fn apart(found: &Tensor, expected: &Tensor) -> Option<f64> {
        let graph =
            GraphBuilder::new("one").input("x", &[4]).operator("s", "Sigmoid", &["x"], &["y"]).output("y").build();
        let x = graph.value_named("x").unwrap().id;
        let trial = |tensor: &Tensor| Trial {
            outputs: Vec::new(),
            values: [(x, tensor.clone())].into(),
            planning: Duration::ZERO,
            time: Duration::ZERO,
        };
        OutputComparison::of(&graph).taken_apart(graph.operators[0].id, &trial(found), &trial(expected))
    }

    #[test]
    fn a_difference_is_a_share_of_the_scale_if_that_is_known_and_else_of_the_largest_element() {
        let of = |largest, of_largest, scale| OutputDifference {
            output: "y".to_owned(),
            largest,
            of_largest,
            scale,
            taken: None,
            because: None,
        };
        assert_eq!(of(Some(0.02), Some(0.5), Some(4.0)).share(), 0.005);
        assert_eq!(of(Some(0.02), Some(0.5), None).share(), 0.5);
        assert_eq!(of(None, None, Some(4.0)).share(), 0.0);
    }

    #[test]
    fn of_a_quantised_graph_a_twentieth_of_the_integers_may_be_others() {
        let graph = |op_type: &str| {
            GraphBuilder::new("one").input("x", &[100]).operator("q", op_type, &["x"], &["y"]).output("y").build()
        };
        let with = |others: usize| {
            let elements: Vec<u8> = (0..100).map(|index| u8::from(index < others)).collect();
            Tensor::new(DType::U8, vec![100], elements).unwrap()
        };
        let is_equal = |op_type: &str, others: usize| {
            OutputComparison::of(&graph(op_type)).one("y", &with(others), &with(0), None).1
        };
        assert!(is_equal("QuantizeLinear", 5) && !is_equal("QuantizeLinear", 6));
        assert!(is_equal("Relu", 0) && !is_equal("Relu", 1));
    }

    #[test]
    fn what_functions_take_is_compared_in_order_or_sorted_if_it_is_as_many_numbers() {
        let floats = |elements: &[f32]| Tensor::from_f32(vec![elements.len()], elements).unwrap();
        let expected = floats(&[1.0, 2.0, 4.0]);
        assert_eq!(apart(&floats(&[1.0, 2.5, 4.0]), &expected), Some(0.125));
        assert_eq!(apart(&floats(&[4.0, 1.0, 2.0]), &expected), Some(0.0), "in another order");
        assert_eq!(apart(&floats(&[1.0, f32::NAN, 4.0]), &expected), Some(f64::INFINITY));
        assert_eq!(apart(&floats(&[1.0, 2.0]), &expected), None);
        assert_eq!(apart(&floats(&[1.0, 2.0, 4.0, 4.0]), &expected), None);
        let integers = Tensor::from_i64(vec![3], &[1, 2, 4]).unwrap();
        assert_eq!((apart(&integers, &expected), apart(&expected, &integers)), (None, None));
    }
}
