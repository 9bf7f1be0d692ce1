//! A naive evaluation of conditions, which computes everything without a plan.

use opscope_tensor::{DType, Element, Slice};

use super::super::function::Quantity;
use super::super::tree::{Number, Shape, Subject, Truth, Type};
use super::{Here, Tensors};

pub fn truth(truth: &Truth, here: &Here<'_>) -> Option<bool> {
    match truth {
        Truth::Any(terms) => any(terms.iter().map(|term| self::truth(term, here))),
        Truth::All(terms) => any(terms.iter().map(|term| self::truth(term, here).map(|term| !term))).map(|any| !any),
        Truth::Not(term) => self::truth(term, here).map(|term| !term),
        Truth::Compare(left, relation, right) => Some(relation.holds(number(left, here)?, number(right, here)?)),
        Truth::Shapes(left, equal, right) => Some((shape(left, here)? == shape(right, here)?) == *equal),
        Truth::Types(left, equal, right) => Some((dtype(left, here)? == dtype(right, here)?) == *equal),
        Truth::NonZero(term) => Some(number(term, here)? != 0.0),
    }
}

fn any(terms: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let terms: Vec<Option<bool>> = terms.collect();
    match terms.contains(&Some(true)) {
        true => Some(true),
        false => (!terms.contains(&None)).then_some(false),
    }
}

fn number(number: &Number, here: &Here<'_>) -> Option<f64> {
    let of = |part: &Number| self::number(part, here);
    let value = match number {
        Number::Literal(value) => *value,
        Number::Negative(part) => -of(part)?,
        Number::Sum(first, rest) => rest
            .iter()
            .try_fold(of(first)?, |sum, (add, part)| Some(if *add { sum + of(part)? } else { sum - of(part)? }))?,
        Number::Product(first, rest) => rest.iter().try_fold(of(first)?, |product, (multiply, part)| {
            Some(if *multiply { product * of(part)? } else { product / of(part)? })
        })?,
        Number::Quantity(quantity, subject) => self::quantity(*quantity, &elements(subject, here))?,
        Number::Rank(subject) => tensors(subject, here).first()?.0.len() as f64,
        Number::Size(subject, axis) => {
            let tensors = tensors(subject, here);
            let shape = &tensors.first()?.0;
            let axis = if *axis < 0 { axis + shape.len() as i64 } else { *axis };
            *shape.get(usize::try_from(axis).ok()?)? as f64
        }
        Number::Iteration(level) => {
            let levels = here.iterations.len() as i64;
            let level = if *level < 0 { level + levels } else { *level };
            f64::from(here.iterations.get(usize::try_from(level).ok()?)?.index)
        }
    };
    (!value.is_nan()).then_some(value)
}

fn shape(shape: &Shape, here: &Here<'_>) -> Option<Vec<usize>> {
    match shape {
        Shape::Literal(sizes) => Some(sizes.clone()),
        Shape::Of(subject) => tensors(subject, here).first().map(|(shape, ..)| shape.clone()),
    }
}

fn dtype(dtype: &Type, here: &Here<'_>) -> Option<DType> {
    match dtype {
        Type::Literal(dtype) => Some(*dtype),
        Type::Of(subject) => tensors(subject, here).first().map(|(_, dtype, _)| *dtype),
    }
}

fn quantity(quantity: Quantity, elements: &[f64]) -> Option<f64> {
    let count = |is_one: fn(&f64) -> bool| Some(elements.iter().copied().filter(is_one).count() as f64);
    let finite = elements.iter().copied().filter(|value| value.is_finite());
    match quantity {
        Quantity::Nan => count(|value| value.is_nan()),
        Quantity::Inf => count(|value| value.is_infinite()),
        Quantity::Zeros => count(|value| *value == 0.0),
        Quantity::Count => Some(elements.len() as f64),
        Quantity::AbsMax => finite.map(f64::abs).reduce(f64::max),
        Quantity::Min => finite.reduce(f64::min),
        Quantity::Max => finite.reduce(f64::max),
        Quantity::Mean | Quantity::Std | Quantity::L2 => unreachable!("they are not compared to the last bit"),
    }
}

fn elements(subject: &Subject, here: &Here<'_>) -> Vec<f64> {
    tensors(subject, here).into_iter().flat_map(|(_, _, elements)| elements).collect()
}

fn tensors(subject: &Subject, here: &Here<'_>) -> Vec<(Vec<usize>, DType, Vec<f64>)> {
    let (views, slice) = match subject {
        Subject::Stopped => (here.subjects.clone(), Slice::all()),
        Subject::Tensor(part) => {
            (vec![here.view(&part.tensor).expect("it is there")], part.slice.clone().unwrap_or(Slice::all()))
        }
    };
    let copies = views.iter().map(|view| slice.of(view, usize::MAX).expect("the slice fits"));
    let element =
        |bytes: &[u8], index| Element::at(DType::F32, bytes, index).and_then(Element::to_f64).expect("inside");
    copies
        .map(|tensor| {
            let elements = (0..tensor.elements()).map(|index| element(tensor.bytes(), index)).collect();
            (tensor.shape().to_vec(), tensor.dtype(), elements)
        })
        .collect()
}
