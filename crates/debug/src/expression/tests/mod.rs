mod naive;
mod strategies;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_model::LoopIteration;
use opscope_tensor::{DType, RemoteTensor, Tensor, TensorView};
use proptest::prelude::*;

use super::*;

/// The tensors that references lead to, and those of the side at which the run is stopped.
struct Here<'a> {
    tensors: HashMap<TensorRef, TensorView<'a>>,
    subjects: Vec<TensorView<'a>>,
    iterations: Vec<LoopIteration>,
}

impl<'a> Here<'a> {
    fn after(outputs: &[TensorView<'a>]) -> Self {
        let named = outputs.iter().enumerate().map(|(slot, view)| (TensorRef::Output(slot), view.clone()));
        Self { tensors: named.collect(), subjects: outputs.to_vec(), iterations: Vec::new() }
    }
}

impl Tensors for Here<'_> {
    fn view(&self, tensor: &TensorRef) -> Option<TensorView<'_>> {
        self.tensors.get(tensor).cloned()
    }

    fn subjects(&self) -> &[TensorView<'_>] {
        &self.subjects
    }

    fn iterations(&self) -> &[LoopIteration] {
        &self.iterations
    }
}

/// Returns the iterations of nested loops.
fn in_loops(indices: &[u32]) -> Vec<LoopIteration> {
    indices.iter().map(|&index| LoopIteration { operator: "Loop".to_owned(), index }).collect()
}

fn evaluate(condition: &str, here: &Here<'_>) -> Result<Option<bool>, EvaluateError> {
    Condition::parse(condition).unwrap_or_else(|error| panic!("{error:#}")).evaluate(here)
}

#[test]
fn conditions_hold_for_what_they_say() {
    let tensor = Tensor::from_f32(vec![6], &[1.0, -4.0, 0.0, f32::NAN, f32::INFINITY, 3.0]).unwrap();
    let here = Here::after(&[tensor.view()]);
    for (condition, expected) in [
        ("nan", true),
        ("not nan", false),
        ("nan == 1 and inf == 1 and zeros == 1 && count == 6", true),
        ("nan > 1 or inf != 1 or zeros < 1 or count <= 5", false),
        ("absmax > 4 || absmax >= 4", true),
        ("min == -4 and max == 3", true),
        ("mean == 0 and l2 * l2 > 25.99 and l2*l2 < 26.01", true),
        ("std > 2.54 and std < 2.56", true),
        ("shape == [6] and rank == 1 and shape[0] == 6 and shape[-1] != 5", true),
        ("[7,] == shape or shape != shape(output)", false),
        ("dtype == f32", true),
        ("dtype != float32 or dtype == i64", false),
        ("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 7 - 2 - 1 == 4 and 8 / 2 / 2 == 2", true),
        ("not 1 == 2 and !(1 > 2) and not not 1", true),
        ("1 or 0 and 0", true),
        ("(1 or 0) and 0", false),
        ("absmax(output[0][:2]) == 4 and nan(output[0][::3])", true),
        ("-min == absmax and - -1 == 1 and 1e3 == 1000 and .5 == 0.5", true),
    ] {
        assert_eq!(evaluate(condition, &here), Ok(Some(expected)), "{condition}");
    }
}

#[test]
fn the_iteration_is_that_of_the_innermost_loop_or_of_the_one_that_is_named() {
    let here = |indices: &[u32]| Here { iterations: in_loops(indices), ..Here::after(&[]) };
    for (condition, indices, expected) in [
        ("iteration == 17", &[17][..], Some(true)),
        ("iteration == 17", &[16], Some(false)),
        ("iteration == 2 and iteration[0] == 17 and iteration[-1] == 2 and iteration[-2] == 17", &[17, 2], Some(true)),
        ("iteration >= 0 or not iteration", &[], None),
        ("iteration[1] == 0", &[3], None),
    ] {
        assert_eq!(evaluate(condition, &here(indices)), Ok(expected), "{condition} in {indices:?}");
    }
    assert_eq!(Condition::parse("iteration == 17").unwrap().needs(), Needs::default());
    let error = Condition::parse("iteration[x]").unwrap_err().to_string();
    assert!(error.contains("column 11: there is 'x'; right would be the number of a loop"), "{error}");
}

#[test]
fn functions_without_an_argument_are_over_all_tensors_of_the_side_together() {
    let first = Tensor::from_f32(vec![2], &[1.0, f32::NAN]).unwrap();
    let second = Tensor::from_i64(vec![1, 3], &[-9, 0, 5]).unwrap();
    let here = Here::after(&[first.view(), second.view()]);
    for condition in [
        "nan == 1 and zeros == 1 and count == 5 and absmax == 9 and min == -9 and max == 5",
        "mean < -0.7499 and mean > -0.7501",
        "shape == [2] and rank == 1 and dtype == f32",
        "shape(output[1]) == [1, 3] and rank(output[1]) == 2 and dtype(output[1]) == int64",
        "not nan(output[1]) and min(output[1]) < mean(output[1])",
    ] {
        assert_eq!(evaluate(condition, &here), Ok(Some(true)), "{condition}");
    }
}

#[test]
fn what_is_not_there_is_unknown_and_holds_neither_way() {
    let nothing = Tensor::from_f32(vec![2], &[f32::NAN, f32::INFINITY]).unwrap();
    let here = Here::after(&[nothing.view()]);
    for condition in
        ["max > 0", "not max > 0", "max <= 0 or mean", "std != 0", "-min == absmax", "shape[1] == 3", "0 / 0 == 0"]
    {
        assert_eq!(evaluate(condition, &here), Ok(None), "{condition}");
        assert_eq!(Condition::parse(condition).unwrap().holds(&here), Ok(false), "{condition}");
    }
    assert_eq!(evaluate("max > 0 or nan", &here), Ok(Some(true)));
    assert_eq!(evaluate("max > 0 and not nan", &here), Ok(Some(false)));
    assert_eq!(evaluate("shape == [1]", &Here::after(&[])), Ok(None));
    assert_eq!(evaluate("nan == 0 and count == 0", &Here::after(&[])), Ok(Some(true)));
}

#[test]
fn text_has_no_numbers_and_complex_numbers_have_magnitudes() {
    let text = TensorView::opaque(DType::String, vec![3]);
    let here = Here::after(&[text]);
    assert_eq!(evaluate("count == 3 and not nan and zeros == 0 and dtype == string", &here), Ok(Some(true)));
    assert_eq!(evaluate("max > 0", &here), Ok(None));
    let values = [3f32, -4.0, 0.0, 0.0].map(f32::to_le_bytes).concat();
    let complex = Tensor::new(DType::Complex64, vec![2], values).unwrap();
    let here = Here::after(&[complex.view()]);
    assert_eq!(evaluate("absmax == 5 and l2 == 5 and zeros == 1 and count == 2", &here), Ok(Some(true)));
    assert_eq!(evaluate("min < 1 or mean < 1", &here), Ok(None));
}

#[test]
fn a_tensor_that_is_not_there_is_named() {
    let tensor = Tensor::from_f32(vec![2, 3], &[0.0; 6]).unwrap();
    let opaque = TensorView::opaque(DType::F32, vec![2]);
    let here = Here::after(&[tensor.view(), opaque]);
    for (condition, message) in [
        ("nan(output[2])", "there is no output[2] here"),
        ("nan(value(\"a b\"))", "there is no value(\"a b\") here"),
        ("nan(output[0][0, 3])", "output[0][0, 3] cannot be had: index 3 is outside of axis 1, whose size is 3"),
        ("rank(output[0][0, 0, 0])", "output[0][0, 0, 0] cannot be had: the slice has entries for 3 axes"),
        ("zeros(output[1])", "the elements of output[1] cannot be read"),
        ("zeros == 7", "the elements of a tensor cannot be read"),
    ] {
        let error = evaluate(condition, &here).expect_err(condition).to_string();
        assert!(error.contains(message), "{condition}: {error}");
    }
}

/// Memory that the host cannot address, and how much of it was read.
struct Device {
    tensor: Tensor,
    read: AtomicUsize,
}

impl RemoteTensor for Device {
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String> {
        self.read.fetch_add(range.len(), Ordering::Relaxed);
        into.copy_from_slice(&self.tensor.bytes()[range]);
        Ok(())
    }
}

#[test]
fn a_tensor_is_looked_through_once_and_only_if_it_has_to_be() {
    let bytes = 1 << 20;
    let tensor = Tensor::from_f32(vec![bytes / 4], &vec![1.5; bytes / 4]).unwrap();
    let device = Device { tensor, read: AtomicUsize::new(0) };
    let here = Here::after(&[TensorView::remote(DType::F32, vec![bytes / 4], &device)]);
    for (condition, expected, passes) in [
        ("nan or inf or absmax > 2 or min < 0 or zeros > 5 or mean > 2", false, 1),
        ("nan(output) or absmax(output) > 2 or nan(output[0])", false, 1),
        ("nan and rank == 2", false, 0),
        ("nan or rank == 1", true, 0),
        ("absmax > 2 and (zeros or dtype == f16) and shape == [3]", false, 0),
        ("count == 5 and nan", false, 0),
        ("not (dtype == f32 or nan)", false, 0),
        ("absmax > 1 or absmax(output[1])", true, 1),
    ] {
        assert_eq!(evaluate(condition, &here), Ok(Some(expected)), "{condition}");
        assert_eq!(device.read.swap(0, Ordering::Relaxed), passes * bytes, "{condition}");
    }
}

#[test]
fn a_wrong_condition_says_where_and_what_would_be_right() {
    for (text, message) in [
        ("", "column 1: the text ends; right would be a number, a shape such as [1, 3]"),
        ("nann", "column 1: there is 'nann'; right would be a number"),
        ("nan inf", "column 5: there is 'inf'; right would be an operator"),
        ("absmax = 3", "column 8: there is '='; right would be '=='"),
        ("nan & inf", "column 5: there is '&'; right would be 'and' or '&&'"),
        ("0 < min < 1", "column 9: there is '<'; right would be 'and' between two comparisons"),
        ("shape", "column 1: there is a shape; right would be a comparison of it"),
        ("shape > [1]", "column 7: there is '>'; right would be == or != for shapes"),
        ("shape == 3", "column 10: there is a number; right would be a shape"),
        ("dtype == [3]", "column 10: there is a shape; right would be a type"),
        ("3 == f32", "column 6: there is a type; right would be a number"),
        ("1 + (nan > 0)", "column 6: there is something that holds or does not hold; right would be a number"),
        ("input[0] > 3", "column 1: there is 'input'; right would be a function of it, such as nan(input)"),
        ("absmax(3)", "column 8: there is 3; right would be a tensor"),
        ("absmax(output[1)", "column 16: there is ')'; right would be ']'"),
        ("shape[x] == 1", "column 7: there is 'x'; right would be the number of an axis"),
        ("shape == [1, -3]", "column 14: there is '-'; right would be the size of an axis"),
        ("(nan", "column 5: the text ends; right would be ')'"),
        ("3f32", "column 1: there is '3f32'; right would be a number"),
        ("1e999", "column 1: 1e999 is too large"),
        ("größe", "column 3: there is 'ö'"),
        ("nan ∧ inf", "column 5: there is '∧'; right would be a number, a word, an operator or a bracket"),
    ] {
        let error = Condition::parse(text).expect_err(text);
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let error = Condition::parse("nan\tand größer").expect_err("a word that is not known");
    assert_eq!((error.column(), error.found()), (11, "there is 'ö'"));
    assert!(format!("{error:#}").ends_with("\n  nan and größer\n            ^"), "{error:#}");
}

#[test]
fn of_a_long_condition_60_characters_are_shown_on_either_side_of_what_is_wrong() {
    let long = format!("{}= 1", "zeros + ".repeat(30));
    let error = Condition::parse(&long).expect_err("a sign that is none");
    assert_eq!(error.column(), 241);
    let shown = format!("{error:#}");
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[1], format!("  {}= 1", &long[180..240]));
    assert_eq!(lines[2], format!("  {}^", " ".repeat(60)));
    let long = format!("= {}", "1 + ".repeat(30));
    let shown = format!("{:#}", Condition::parse(&long).expect_err("a sign that is none"));
    assert_eq!(shown.lines().nth(1), Some(&*format!("  {}", &long[..60])));
}

#[test]
fn hostile_text_is_refused_before_it_costs_anything() {
    let nested = |depth: usize| format!("{}nan{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Condition::parse(&nested(64)).is_ok());
    assert!(Condition::parse(&nested(65)).expect_err("too deep").to_string().contains("at most 64"));
    for text in ["not ".repeat(1000), "-".repeat(4000), "!".repeat(4000), "((-".repeat(1000)] {
        let text = format!("{text}nan");
        assert!(Condition::parse(&text).expect_err("too deep").to_string().contains("at most 64"), "{text}");
    }
    // The condition is long, but not nested.
    assert!(Condition::parse(&format!("nan{}", "+1".repeat(2000))).is_ok());
    assert!(Condition::parse(&format!("nan{}", " or 1".repeat(800))).is_ok());
    let error = Condition::parse(&" ".repeat(5000)).expect_err("too long");
    assert!(error.to_string().contains("5000 bytes; right would be at most 4096"), "{error}");
}

#[test]
fn a_condition_says_what_it_looks_at() {
    let needs = |text: &str| Condition::parse(text).unwrap().needs();
    assert_eq!(needs("nan"), Needs { stopped: true, ..Needs::default() });
    assert_eq!(needs("1 < 2"), Needs::default());
    assert_eq!(
        needs("not nan(input) and shape(output[1]) == [2]").clone(),
        Needs { inputs: true, outputs: true, ..Needs::default() }
    );
    let values = ["x".to_owned(), "y".to_owned()].into();
    assert_eq!(
        needs("max(value('y')[0]) > min(value('x')) or rank(weight) == 2"),
        Needs { weights: true, values, ..Needs::default() }
    );
}

#[test]
fn a_condition_keeps_its_text_and_is_the_same_however_it_is_spelled() {
    let condition = Condition::parse("  nan||absmax( output ) >1 ").unwrap();
    assert_eq!(condition.to_string(), "nan||absmax( output ) >1");
    assert_eq!(condition, Condition::parse("nan or absmax(output[0]) > 1.0").unwrap());
    assert_ne!(condition, Condition::parse("nan or absmax(output[1]) > 1.0").unwrap());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_it_was(truth in strategies::truth(strategies::Range::All)) {
        let text = truth.to_string();
        prop_assume!(text.len() <= parser::LONGEST);
        let read = grammar::condition(&text).map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        prop_assert_eq!(read, truth, "{}", text);
    }

    #[test]
    fn any_text_is_a_condition_or_an_error_inside_of_it(text in "[a-z0-9 ()\\[\\]<>=!&|+*/.,:\"'\\\\é-]{0,40}") {
        match Condition::parse(&text) {
            Ok(condition) => prop_assert_eq!(Condition::parse(&condition.truth.to_string()).unwrap(), condition),
            Err(error) => prop_assert!(error.column() <= text.chars().count() + 1),
        }
    }

    #[test]
    fn conditions_hold_where_a_naive_reading_holds(
        truth in strategies::truth(strategies::Range::Exact),
        first in strategies::values(),
        second in strategies::values(),
        indices in prop::collection::vec(0u32..4, 0..3),
    ) {
        let text = truth.to_string();
        prop_assume!(text.len() <= parser::LONGEST);
        let first = Tensor::from_f32(vec![first.len()], &first).unwrap();
        let second = Tensor::from_f32(vec![1, second.len()], &second).unwrap();
        let mut here = Here::after(&[first.view(), second.view()]);
        here.tensors.insert(TensorRef::Value("x".to_owned()), second.view());
        here.iterations = in_loops(&indices);
        let condition = Condition::parse(&text).unwrap();
        prop_assert_eq!(condition.evaluate(&here).unwrap(), naive::truth(&truth, &here), "{}", text);
    }
}
