use opscope_tensor::{DType, Tolerance, compared_in};

use crate::StoredDump;

/// Tolerances by the type in which elements are compared.
#[derive(Debug, Clone, Default)]
pub struct Tolerances {
    /// For every type that is not listed, or `None` for [`Tolerance::of`] the type.
    pub all: Option<Tolerance>,
    /// For single types.
    pub of: Vec<(DType, Tolerance)>,
}

/// What two engines may differ by in a model of 8-bit numbers, as a share of the largest element: some steps of the
/// quantisation. A difference in the last digit of a float may become a whole step, and operators behind it add up steps.
const SOME_STEPS: f64 = 0.05;

impl Tolerances {
    /// Returns the tolerance for comparing a tensor and a reference of these types: that of the type in which their
    /// numbers are [compared](compared_in).
    pub fn tolerance(&self, tensor: DType, reference: DType) -> Tolerance {
        let dtype = compared_in(tensor, reference);
        let single = self.of.iter().find(|(of, _)| *of == dtype).map(|(_, tolerance)| *tolerance);
        single.or(self.all).unwrap_or_else(|| Tolerance::of(dtype))
    }

    /// Returns these tolerances. If none was set, and the two sides were computed by engines of different names, returns
    /// tolerances that two right engines meet: the precision of the coarsest type in the reference holds for all floating-point
    /// types, because engines differ in where they round, and quantised numbers may be some steps apart.
    pub fn between(self, engines: [Option<&str>; 2], reference: &StoredDump) -> Self {
        let [Some(one), Some(other)] = engines else { return self };
        if one == other || self.all.is_some() || !self.of.is_empty() {
            return self;
        }
        let has = |dtype: DType| reference.tensors.iter().any(|tensor| tensor.dtype == Some(dtype));
        let coarsest = [DType::Bf16, DType::F16].into_iter().find(|dtype| has(*dtype));
        let share = if is_quantised(reference) { SOME_STEPS } else { 0.0 };
        let lenient = |dtype: DType, tolerance: Tolerance| {
            (dtype, Tolerance { of_max: tolerance.of_max.max(share), ..tolerance })
        };
        let floats = [DType::F16, DType::Bf16, DType::F32, DType::F64];
        let floats = floats.map(|dtype| lenient(dtype, Tolerance::of(coarsest.unwrap_or(dtype))));
        let integers = [DType::I8, DType::U8, DType::I32].map(|dtype| lenient(dtype, Tolerance::EXACT));
        Self { all: None, of: floats.into_iter().chain(integers).collect() }
    }
}

/// Returns whether operators of the model round numbers to 8 bits.
fn is_quantised(dump: &StoredDump) -> bool {
    let rounds = |op_type: &str| op_type.starts_with("QLinear") || op_type.contains("QuantizeLinear");
    dump.tensors.iter().any(|tensor| tensor.place.op_type.as_deref().is_some_and(rounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StoredOrigin, StoredTensor};

    /// A dump of one tensor.
    fn dump(dtype: DType, op_type: &str) -> StoredDump {
        let place = StoredOrigin { op_type: Some(op_type.to_owned()), ..StoredOrigin::default() };
        let tensors = vec![StoredTensor::without_data(place, dtype)];
        StoredDump { tensors, ..StoredDump::default() }
    }

    fn of_max(tolerances: &Tolerances, dtype: DType) -> f64 {
        tolerances.tolerance(dtype, dtype).of_max
    }

    #[test]
    fn engines_may_round_elsewhere_and_be_some_steps_of_a_quantisation_apart() {
        let engines = [Some("one"), Some("other")];
        let between = |dump: &StoredDump| Tolerances::default().between(engines, dump);
        let half = between(&dump(DType::F16, "MatMul"));
        assert_eq!(half.tolerance(DType::F32, DType::F32), Tolerance::of(DType::F16));
        assert_eq!(of_max(&half, DType::I8), 0.0, "nothing is quantised");
        let plain = between(&dump(DType::F32, "MatMul"));
        assert_eq!(plain.tolerance(DType::F32, DType::F32), Tolerance::of(DType::F32));
        for op_type in ["QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv"] {
            let quantised = between(&dump(DType::U8, op_type));
            assert_eq!([DType::U8, DType::F32, DType::I64].map(|dtype| of_max(&quantised, dtype)), [0.05, 0.05, 0.0]);
        }
    }

    #[test]
    fn one_engine_and_what_a_user_sets_keep_their_tolerances() {
        let quantised = dump(DType::U8, "QuantizeLinear");
        for engines in [[Some("one"), Some("one")], [None, Some("one")]] {
            assert_eq!(of_max(&Tolerances::default().between(engines, &quantised), DType::U8), 0.0);
        }
        let set = Tolerances { all: Some(Tolerance::EXACT), of: Vec::new() };
        assert_eq!(of_max(&set.between([Some("one"), Some("other")], &quantised), DType::U8), 0.0);
    }
}
