//! Strategies for conditions of all kinds, made from their parts.

use opscope_tensor::{Axis, DType, Slice};
use proptest::prelude::*;

use super::super::function::{Function, Quantity};
use super::super::tree::{Number, Relation, Shape, Subject, Truth, Type};
use super::super::{TensorPart, TensorRef};

/// The tensors and numbers that occur in conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Everything that can be written.
    All,
    /// Tensors that exist, and numbers that a naive evaluation computes exactly.
    Exact,
}

/// Few different numbers, so that comparisons are often close.
pub fn values() -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![
        8 => (-3i8..4).prop_map(f32::from),
        1 => Just(f32::NAN),
        1 => prop::sample::select(vec![f32::INFINITY, f32::NEG_INFINITY]),
    ];
    prop::collection::vec(value, 0..6)
}

pub fn truth(range: Range) -> impl Strategy<Value = Truth> {
    let relation = prop::sample::select(Relation::ALL.map(|(relation, _)| relation).to_vec());
    let leaf = prop_oneof![
        3 => (number(range), relation, number(range)).prop_map(|(left, relation, right)| Truth::Compare(left, relation, right)),
        1 => (shape(range), any::<bool>(), shape(range)).prop_map(|(left, equal, right)| Truth::Shapes(left, equal, right)),
        1 => (dtype(range), any::<bool>(), dtype(range)).prop_map(|(left, equal, right)| Truth::Types(left, equal, right)),
        1 => number(range).prop_map(Truth::NonZero),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Truth::Any),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Truth::All),
            inner.prop_map(|truth| Truth::Not(Box::new(truth))),
        ]
    })
}

fn number(range: Range) -> impl Strategy<Value = Number> {
    let literal = match range {
        Range::All => (0f64..).boxed(),
        Range::Exact => (0u8..8).prop_map(f64::from).boxed(),
    };
    let quantities: Vec<Quantity> = Function::ALL
        .into_iter()
        .filter_map(|(function, _)| match function {
            Function::Quantity(quantity) => Some(quantity),
            Function::Shape | Function::Rank | Function::DType => None,
        })
        .collect();
    let sums = [Quantity::Mean, Quantity::Std, Quantity::L2];
    let quantity = prop::sample::select(quantities)
        .prop_filter("rounded", move |quantity| range == Range::All || !sums.contains(quantity));
    let leaf = prop_oneof![
        2 => literal.prop_filter("finite", |value| value.is_finite()).prop_map(Number::Literal),
        3 => (quantity, subject(range)).prop_map(|(quantity, subject)| Number::Quantity(quantity, subject)),
        1 => subject(range).prop_map(Number::Rank),
        1 => (subject(range), -3i64..3).prop_map(|(subject, axis)| Number::Size(subject, axis)),
        1 => (-3i64..3).prop_map(Number::Iteration),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let rest = prop::collection::vec((any::<bool>(), inner.clone()), 1..3);
        let operands = (inner.clone().prop_map(Box::new), rest);
        prop_oneof![
            operands.clone().prop_map(|(first, rest)| Number::Sum(first, rest)),
            operands.prop_map(|(first, rest)| Number::Product(first, rest)),
            inner.prop_map(|number| Number::Negative(Box::new(number))),
        ]
    })
}

fn shape(range: Range) -> impl Strategy<Value = Shape> {
    let literal = match range {
        Range::All => prop::collection::vec(0usize..=u32::MAX as usize, 0..4).boxed(),
        Range::Exact => prop::collection::vec(0usize..4, 0..3).boxed(),
    };
    prop_oneof![literal.prop_map(Shape::Literal), subject(range).prop_map(Shape::Of)]
}

fn dtype(range: Range) -> impl Strategy<Value = Type> {
    let all: Vec<DType> = DType::all().collect();
    prop_oneof![prop::sample::select(all).prop_map(Type::Literal), subject(range).prop_map(Type::Of)]
}

fn subject(range: Range) -> impl Strategy<Value = Subject> {
    let tensor = match range {
        Range::All => prop_oneof![
            (0usize..100).prop_map(TensorRef::Input),
            (0usize..100).prop_map(TensorRef::Output),
            (0usize..100).prop_map(TensorRef::Weight),
            any::<String>().prop_map(TensorRef::Value),
            "[\\\\\"'\\[\\])]{0,4}".prop_map(TensorRef::Value),
        ]
        .boxed(),
        Range::Exact => {
            let there = vec![TensorRef::Output(0), TensorRef::Output(1), TensorRef::Value("x".to_owned())];
            prop::sample::select(there).boxed()
        }
    };
    let part = (tensor, prop::option::of(slice(range))).prop_map(|(tensor, slice)| TensorPart { tensor, slice });
    prop_oneof![Just(Subject::Stopped), part.prop_map(Subject::Tensor)]
}

fn slice(range: Range) -> impl Strategy<Value = Slice> {
    let bound = || prop::option::of(-4i64..4);
    let step = prop_oneof![1i64..3, -3i64..0];
    let steps =
        (bound(), bound(), step).prop_map(|(start, stop, step)| vec![Axis::Range { start, stop, step }]).boxed();
    let axes = match range {
        // Whether an index is in range depends on the tensor.
        Range::All => prop_oneof![steps, (-4i64..4).prop_map(|index| vec![Axis::Index(index), Axis::Ellipsis])].boxed(),
        Range::Exact => steps,
    };
    axes.prop_map(|axes| Slice::new(axes).expect("no step is 0, and there is one ellipsis at most"))
}
