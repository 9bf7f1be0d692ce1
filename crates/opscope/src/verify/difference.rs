use std::fmt;

use opscope_onnx::Graph;
use opscope_tensor::{DType, DifferenceAccumulator, Tensor, Tolerance};
use serde::{Deserialize, Serialize};

/// An output that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputDifference {
    /// The output's name.
    pub output: String,
    /// The largest difference of two elements, as a share of the exact plan's largest element; `None` if the two cannot be
    /// compared element by element.
    pub of_largest: Option<f64>,
    /// What else differs: its type, its shape, or the positions of NaN and infinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl fmt::Display for OutputDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.because, self.of_largest) {
            (Some(because), _) => write!(f, "{} ({because})", self.output),
            (None, Some(share)) => write!(f, "{} by {share:.2} of its largest element", self.output),
            (None, None) => f.write_str(&self.output),
        }
    }
}

/// Compares the outputs of two plans, with tolerances for the types that a graph computes in.
pub(super) struct OutputComparison {
    /// The coarsest floating-point type in the graph.
    coarsest: Option<DType>,
    /// Whether numbers are rounded to 8 bits: a difference in the last digit can then become a whole step.
    quantised: bool,
}

/// A share of an output's largest element: some steps of an 8-bit quantisation.
const SOME_STEPS: f64 = 0.05;

impl OutputComparison {
    pub fn of(graph: &Graph) -> Self {
        let types = || graph.values.iter().filter_map(|value| value.dtype);
        let is_quantised = |op_type: &str| op_type.starts_with("QLinear") || op_type.contains("QuantizeLinear");
        let coarsest = [DType::Bf16, DType::F16].into_iter().find(|coarse| types().any(|dtype| dtype == *coarse));
        let quantised = graph.operators.iter().any(|operator| is_quantised(&operator.op_type));
        Self { coarsest, quantised }
    }

    fn tolerance(&self, dtype: DType) -> Tolerance {
        let is_float = matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64);
        let of_type = Tolerance::of(self.coarsest.filter(|_| is_float).unwrap_or(dtype));
        match self.quantised && is_float {
            true => Tolerance { of_max: of_type.of_max.max(SOME_STEPS), ..of_type },
            false => of_type,
        }
    }

    /// Returns the largest difference of an output as a share of its largest element, and the outputs that differ.
    pub fn compare(
        &self,
        graph: &Graph,
        found: &[Option<Tensor>],
        expected: &[Option<Tensor>],
    ) -> (f64, Vec<OutputDifference>) {
        let mut largest = 0.0_f64;
        let mut differing = Vec::new();
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            let output = graph.value(graph.outputs[index]).name.clone();
            match self.one(found, expected) {
                Ok(share) => largest = largest.max(share),
                Err((of_largest, because)) => differing.push(OutputDifference { output, of_largest, because }),
            }
        }
        (largest, differing)
    }

    fn one(&self, found: &Tensor, expected: &Tensor) -> Result<f64, (Option<f64>, Option<String>)> {
        let (left, right) = (found.dtype(), expected.dtype());
        if (left, found.shape()) != (right, expected.shape()) {
            let reason = format!("{left} {:?} instead of {right} {:?}", found.shape(), expected.shape());
            return Err((None, Some(reason)));
        }
        let tolerance = self.tolerance(right);
        let Ok(mut difference) = DifferenceAccumulator::new(left, right, found.elements(), tolerance.relative) else {
            return Ok(0.0);
        };
        difference.update(found.bytes(), expected.bytes());
        let difference = difference.finish();
        let share = match difference.max_reference {
            0.0 => difference.max_absolute,
            largest => difference.max_absolute / largest,
        };
        let elsewhere = difference.nan_mismatches + difference.infinite_mismatches;
        // A number between two integers may be rounded to the other one.
        let few =
            self.quantised && (difference.count - difference.equal) as f64 <= SOME_STEPS * difference.count as f64;
        if difference.is_within(&tolerance) || (tolerance == Tolerance::EXACT && few) {
            return Ok(share);
        }
        let because =
            (elsewhere > 0).then(|| format!("{elsewhere} elements are NaN or infinite in one of the two only"));
        Err((Some(share), because))
    }
}
