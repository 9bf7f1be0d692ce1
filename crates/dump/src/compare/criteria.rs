use opscope_tensor::{DType, Difference, Tolerance, compared_in};

use super::CompareOptions;
use super::rounding::{Rounding, Roundings, quantises};
use crate::{StoredDump, StoredOrigin};

/// The criteria by which the tensors of a comparison are judged.
#[derive(Debug, Clone)]
pub(super) struct Criteria {
    tolerances: Tolerances,
    least_sqnr: f64,
    /// The rounding in the two models, if their graphs are known.
    roundings: [Option<Roundings>; 2],
    engines_differ: bool,
    /// The rounding anywhere in the reference, for tensors of models whose graphs are not known.
    anywhere: Rounding,
    /// The coarsest type of a side whose graph is not known, if tensors of finer types may have been computed from it.
    hidden: Option<DType>,
    /// The side that is quantised, if only one is and no tolerance was set. Tensors are then judged by their
    /// signal-to-noise ratio.
    pub quantised: Option<Quantised>,
}

/// Which of the two sides is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantised {
    /// The tensors that are compared.
    Tensors,
    /// The reference that they are compared with.
    Reference,
}

/// The criterion by which a pair of tensors is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Criterion {
    /// The maximum distance of the numbers.
    pub tolerance: Tolerance,
    /// The smallest acceptable signal-to-noise ratio in decibels. If it is set, it replaces the tolerance.
    pub least_sqnr: Option<f64>,
}

/// The difference that is accepted between two engines in a model of 8-bit numbers, as a share of the largest element:
/// some steps of the quantisation. A difference in the last digit of a float may become a whole step, and later
/// operators add up such steps.
const SOME_STEPS: f64 = 0.05;

/// The smallest acceptable signal-to-noise ratio of a quantised tensor, in decibels: an error of a third of the signal.
const LEAST_SQNR: f64 = 10.0;

impl Criteria {
    /// Returns the criteria for a comparison with a reference. `tensors` is set if it is a dump, too.
    pub fn new(options: &CompareOptions, tensors: Option<&StoredDump>, reference: &StoredDump) -> Self {
        let ours = options.graph.as_deref().map(Roundings::of);
        let theirs = match (&options.reference_graph, tensors) {
            (Some(graph), _) => Some(Roundings::of(graph)),
            // The given model is that of both dumps, unless it is quantised and one of the dumps is not.
            (None, Some(_)) => ours.clone(),
            (None, None) => None,
        };
        let [engine, other] = &options.engines;
        let engine = engine.as_deref().or_else(|| tensors?.engine());
        let other = other.as_deref().or_else(|| reference.engine());
        let ours_quantised = match (tensors, &ours) {
            (Some(tensors), _) => has_quantising(tensors),
            (None, roundings) => roundings.as_ref().is_some_and(|roundings| roundings.quantises),
        };
        let shown = has_quantising(reference);
        // A run whose dump has no values of quantising operators can still be one of a quantised model.
        let theirs_quantised =
            shown || options.reference_graph.is_some() && theirs.as_ref().is_some_and(|roundings| roundings.quantises);
        // Arrays do not say what computed them. They count as the original of a quantised model only if the user says
        // so.
        let is_stated =
            options.least_sqnr.is_some() || reference.tensors.iter().any(|tensor| tensor.place.op_type.is_some());
        let quantised = match (ours_quantised, theirs_quantised) {
            _ if !options.tolerances.is_default() => None,
            (true, false) if is_stated => Some(Quantised::Tensors),
            (false, true) => Some(Quantised::Reference),
            _ => None,
        };
        let known = ours.iter().chain(&theirs).filter_map(Roundings::coarsest).reduce(compared_in);
        let unknown = tensors.filter(|_| ours.is_none()).into_iter().chain((theirs.is_none()).then_some(reference));
        let hidden = unknown.filter_map(coarsest).reduce(compared_in);
        let is_hidden = |dtype: &DType| {
            let is_finer = |other: DType| other.is_float() && compared_in(other, *dtype) == *dtype && other != *dtype;
            let has_finer = |dump: &StoredDump| dump.tensors.iter().filter_map(|tensor| tensor.dtype).any(is_finer);
            let is_known = known.is_some_and(|known| compared_in(known, *dtype) == known);
            !is_known && has_finer(reference) && tensors.is_none_or(has_finer)
        };
        Self {
            hidden: hidden.filter(is_hidden),
            tolerances: options.tolerances.clone(),
            least_sqnr: options.least_sqnr.unwrap_or(LEAST_SQNR),
            roundings: [ours, theirs],
            engines_differ: engine.zip(other).is_some_and(|(one, other)| one != other),
            anywhere: Rounding { coarsest: coarsest(reference), quantised: has_quantising(reference) },
            quantised,
        }
    }

    /// Returns the criterion for a pair. `types` are those of the tensor and of the reference.
    pub fn of(&self, place: &StoredOrigin, reference: &StoredOrigin, types: (DType, DType)) -> Criterion {
        let dtype = compared_in(types.0, types.1);
        let to =
            |roundings: &Option<Roundings>, place: &StoredOrigin| roundings.as_ref()?.to(place.value.as_deref()?);
        let (ours, theirs) = (to(&self.roundings[0], place), to(&self.roundings[1], reference));
        let known = ours.into_iter().chain(theirs).reduce(Rounding::and);
        let rounding = known.unwrap_or(if self.engines_differ { self.anywhere } else { Rounding::default() });
        let rounded = match rounding.coarsest {
            Some(coarsest) if dtype.is_float() => compared_in(dtype, coarsest),
            _ => dtype,
        };
        let mut tolerance = self.tolerances.tolerance(rounded);
        let has_steps = dtype.is_float() || [DType::I8, DType::U8, DType::I32].contains(&dtype);
        if self.engines_differ && rounding.quantised && has_steps && self.tolerances.is_default() {
            tolerance.of_max = tolerance.of_max.max(SOME_STEPS);
        }
        // The original's graph does not say what the other side quantises.
        let is_quantised = |roundings: &Option<Roundings>, place: &StoredOrigin| {
            let quantising = roundings.as_ref().filter(|roundings| roundings.quantises);
            quantising
                .and_then(|roundings| roundings.to(place.value.as_deref()?))
                .is_none_or(|rounding| rounding.quantised)
        };
        let is_on_the_way = match self.quantised {
            None => false,
            Some(Quantised::Tensors) => is_quantised(&self.roundings[0], place),
            Some(Quantised::Reference) => is_quantised(&self.roundings[1], reference),
        };
        let is_quantised = dtype.is_float() && is_on_the_way;
        Criterion { tolerance, least_sqnr: is_quantised.then_some(self.least_sqnr) }
    }

    /// Returns the limitations of the criteria, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        if !self.tolerances.is_default() {
            return Vec::new();
        }
        let coarse =
            self.anywhere.coarsest.filter(|_| self.engines_differ && self.roundings.iter().all(Option::is_none));
        let gives = "--model MODEL gives each tensor that of the coarsest type on the way to it";
        let note = match (coarse, self.hidden) {
            (Some(dtype), _) => {
                format!("the model is not known, so the tolerance of {dtype} holds for every tensor; {gives}")
            }
            (None, Some(dtype)) if self.roundings.iter().all(Option::is_none) => {
                format!(
                    "the model is not known, so each tensor has the tolerance of its own type, also behind {dtype}; {gives}"
                )
            }
            (None, Some(dtype)) => format!(
                "the model of the dump is not known, so a tensor that it computed from {dtype} has the tolerance of its own type; \
                 comparing the two models gives each tensor that of the coarsest type on the way to it"
            ),
            (None, None) => return Vec::new(),
        };
        vec![note]
    }
}

impl Criterion {
    /// Returns whether a tensor meets it.
    pub fn is_met(&self, difference: &Difference) -> bool {
        match self.least_sqnr {
            None => difference.is_within(&self.tolerance),
            Some(least) => difference.mismatches() == 0 && difference.sqnr.is_some_and(|sqnr| sqnr >= least),
        }
    }
}

/// Returns the coarsest floating-point type of a dump.
fn coarsest(dump: &StoredDump) -> Option<DType> {
    let has = |dtype: &DType| dump.tensors.iter().any(|tensor| tensor.dtype == Some(*dtype));
    [DType::Bf16, DType::F16].into_iter().find(has)
}

/// Returns whether operators of a dump round numbers to 8 bits.
fn has_quantising(dump: &StoredDump) -> bool {
    dump.tensors.iter().any(|tensor| tensor.place.op_type.as_deref().is_some_and(quantises))
}

/// Tolerances by the type in which elements are compared.
#[derive(Debug, Clone, Default)]
pub struct Tolerances {
    /// The tolerance of every type that is not listed, or `None` for [`Tolerance::of`] the type.
    pub all: Option<Tolerance>,
    /// The tolerances of single types.
    pub of: Vec<(DType, Tolerance)>,
}

impl Tolerances {
    /// Returns the tolerance for numbers that were rounded to this type.
    pub fn tolerance(&self, dtype: DType) -> Tolerance {
        let single = self.of.iter().find(|(of, _)| *of == dtype).map(|(_, tolerance)| *tolerance);
        single.or(self.all).unwrap_or_else(|| Tolerance::of(dtype))
    }

    /// Returns whether the user set none.
    pub(super) fn is_default(&self) -> bool {
        self.all.is_none() && self.of.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;
    use crate::StoredTensor;

    /// A dump of one tensor.
    fn dump(dtype: DType, op_type: &str) -> StoredDump {
        let place = StoredOrigin { op_type: Some(op_type.to_owned()), ..StoredOrigin::default() };
        let tensors = vec![StoredTensor::without_data(place, dtype)];
        StoredDump { tensors, ..StoredDump::default() }
    }

    fn criteria(engines: [Option<&str>; 2], dump: &StoredDump, tolerances: Tolerances) -> Criteria {
        let engines = engines.map(|engine| engine.map(str::to_owned));
        Criteria::new(&CompareOptions { engines, tolerances, ..CompareOptions::default() }, Some(dump), dump)
    }

    fn tolerance(criteria: &Criteria, dtype: DType) -> Tolerance {
        let place = StoredOrigin::default();
        criteria.of(&place, &place, (dtype, dtype)).tolerance
    }

    #[test]
    fn engines_may_round_elsewhere_and_be_some_steps_of_a_quantisation_apart() {
        let between = |dump: &StoredDump| criteria([Some("one"), Some("other")], dump, Tolerances::default());
        let half = between(&dump(DType::F16, "MatMul"));
        assert_eq!(tolerance(&half, DType::F32), Tolerance::of(DType::F16));
        assert_eq!(half.notes().len(), 1, "it is said that every tensor has the tolerance of the coarsest type");
        assert_eq!(tolerance(&half, DType::I8).of_max, 0.0, "nothing is quantised");
        let plain = between(&dump(DType::F32, "MatMul"));
        assert_eq!((tolerance(&plain, DType::F32), plain.notes().len()), (Tolerance::of(DType::F32), 0));
        for op_type in ["QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv"] {
            let quantised = between(&dump(DType::U8, op_type));
            let share = |dtype| tolerance(&quantised, dtype).of_max;
            let stepped = [DType::U8, DType::I8, DType::I32, DType::F16, DType::Bf16, DType::F32, DType::F64];
            assert_eq!(stepped.map(share), [0.05; 7]);
            assert_eq!([DType::I64, DType::U16, DType::Bool].map(share), [0.0; 3]);
            assert_eq!(quantised.quantised, None, "both sides are quantised");
        }
    }

    #[test]
    fn a_tensor_behind_a_coarser_type_has_the_tolerance_of_the_coarsest() {
        let of = |dtypes: &[DType]| {
            let tensor = |&dtype: &DType| StoredTensor::without_data(StoredOrigin::default(), dtype);
            StoredDump { tensors: dtypes.iter().map(tensor).collect(), ..StoredDump::default() }
        };
        let between = |dump: &StoredDump| criteria([Some("one"), Some("other")], dump, Tolerances::default());
        let both = between(&of(&[DType::F16, DType::Bf16, DType::F32]));
        assert_eq!(tolerance(&both, DType::F32), Tolerance::of(DType::Bf16));
        assert_eq!(tolerance(&both, DType::I32), Tolerance::EXACT, "integers are not rounded");
        let half = between(&of(&[DType::F32, DType::F16]));
        assert_eq!(tolerance(&half, DType::Bf16), Tolerance::of(DType::Bf16), "its own is coarser");
        let place = StoredOrigin::default();
        let mixed = half.of(&place, &place, (DType::F64, DType::F32)).tolerance;
        assert_eq!(mixed, Tolerance::of(DType::F16));
        let plain = between(&of(&[DType::F64]));
        assert_eq!(plain.of(&place, &place, (DType::F64, DType::F32)).tolerance, Tolerance::of(DType::F32));
    }

    /// Which of the three sentences is used depends on what is known: no graph, one of two, or only that the engines
    /// differ.
    #[test]
    fn a_note_says_why_a_tensor_behind_a_coarser_type_is_judged_as_it_is() {
        let tensor = |&dtype: &DType| StoredTensor::without_data(StoredOrigin::default(), dtype);
        let of =
            |dtypes: &[DType]| StoredDump { tensors: dtypes.iter().map(tensor).collect(), ..StoredDump::default() };
        let mixed = of(&[DType::F32, DType::F16]);
        let notes = |options: &CompareOptions, reference: &StoredDump| {
            let notes = Criteria::new(options, None, reference).notes();
            assert!(notes.len() <= 1, "{notes:?}");
            notes.into_iter().next()
        };
        let says = |options: &CompareOptions, begin: &str, end: &str| {
            let note = notes(options, &mixed).unwrap();
            assert!(note.starts_with(begin) && note.ends_with(end), "{note}");
        };
        let alone = CompareOptions::default();
        let gives = "; --model MODEL gives each tensor that of the coarsest type on the way to it";
        let own = "the model is not known, so each tensor has the tolerance of its own type, also behind ";
        says(&alone, own, &format!("{own}{}{gives}", DType::F16));
        // Only one graph is known, in which nothing is coarse. That of the reference is not known.
        let graph =
            GraphBuilder::new("fine").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y").build();
        let known = CompareOptions { graph: Some(std::sync::Arc::new(graph)), ..CompareOptions::default() };
        says(
            &known,
            "the model of the dump is not known, so a tensor that it computed from ",
            gives.trim_start_matches("; --model MODEL "),
        );
        let engines = [Some("one".to_owned()), Some("other".to_owned())];
        let differing = CompareOptions { engines, ..CompareOptions::default() };
        let every = format!("the model is not known, so the tolerance of {} holds for every tensor", DType::F16);
        says(&differing, &every, gives);
        assert_eq!(notes(&alone, &of(&[DType::F16])), None, "nothing finer was computed from it");
        assert_eq!(notes(&alone, &of(&[DType::F32])), None);
    }

    #[test]
    fn one_engine_and_what_a_user_sets_keep_their_tolerances() {
        let quantised = dump(DType::U8, "QuantizeLinear");
        for engines in [[Some("one"), Some("one")], [None, Some("one")]] {
            assert_eq!(tolerance(&criteria(engines, &quantised, Tolerances::default()), DType::U8).of_max, 0.0);
        }
        let set = Tolerances { all: Some(Tolerance::EXACT), of: Vec::new() };
        let set = criteria([Some("one"), Some("other")], &quantised, set);
        assert_eq!(tolerance(&set, DType::U8).of_max, 0.0);
    }

    #[test]
    fn a_quantised_side_against_another_one_is_judged_by_its_ratio_unless_a_tolerance_is_set() {
        let (quantised, plain) = (dump(DType::F32, "DequantizeLinear"), dump(DType::F32, "Conv"));
        let options = CompareOptions::default();
        for (one, other, side) in [(&quantised, &plain, Quantised::Tensors), (&plain, &quantised, Quantised::Reference)]
        {
            let criteria = Criteria::new(&options, Some(one), other);
            assert_eq!(criteria.quantised, Some(side));
            let place = StoredOrigin::default();
            assert_eq!(criteria.of(&place, &place, (DType::F32, DType::F32)).least_sqnr, Some(10.0));
            assert_eq!(criteria.of(&place, &place, (DType::I64, DType::I64)).least_sqnr, None);
        }
        let set = Tolerances { all: Some(Tolerance::EXACT), of: Vec::new() };
        let options = CompareOptions { tolerances: set, ..CompareOptions::default() };
        assert_eq!(Criteria::new(&options, Some(&quantised), &plain).quantised, None);
    }
}
