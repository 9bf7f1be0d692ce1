//! The syntax tree of a condition. Its types cannot represent a sum of truths or a comparison of a shape with a number.
//!
//! Displays conditions with as few parentheses as they need to be parsed into the same tree.

use std::fmt::{self, Display, Formatter};

use opscope_tensor::DType;

use super::function::{Function, Quantity};
use super::tensor_ref::TensorPart;

/// A truth value: true, false, or unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Truth {
    /// `or`, of two or more.
    Any(Vec<Truth>),
    /// `and`, of two or more.
    All(Vec<Truth>),
    Not(Box<Truth>),
    Compare(Number, Relation, Number),
    /// Whether two lists are equal or, if the flag is false, differ.
    Shapes(Shape, bool, Shape),
    /// Whether two types are equal or, if the flag is false, differ.
    Types(Type, bool, Type),
    /// A number that is not 0.
    NonZero(Number),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    /// Finite and not negative.
    Literal(f64),
    Negative(Box<Number>),
    /// The first operand, and those that are added or, if the flag is false, subtracted.
    Sum(Box<Number>, Vec<(bool, Number)>),
    /// The first operand, and those by which it is multiplied or, if the flag is false, divided.
    Product(Box<Number>, Vec<(bool, Number)>),
    Quantity(Quantity, Subject),
    Rank(Subject),
    /// The size of an axis; a negative number counts from the end.
    Size(Subject, i64),
    /// The iteration of a loop around the operator, from the outermost; a negative number counts from the innermost.
    Iteration(i64),
}

/// The argument of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// All tensors of the side at which the run is stopped; for shape, rank and type the first of them.
    Stopped,
    Tensor(TensorPart),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Literal(Vec<usize>),
    Of(Subject),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Literal(DType),
    Of(Subject),
}

impl Relation {
    pub const ALL: [(Relation, &'static str); 6] = [
        (Relation::LessOrEqual, "<="),
        (Relation::GreaterOrEqual, ">="),
        (Relation::Less, "<"),
        (Relation::Greater, ">"),
        (Relation::Equal, "=="),
        (Relation::NotEqual, "!="),
    ];

    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|(relation, _)| *relation == self).expect("all are in the table").1
    }

    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Relation::Less => left < right,
            Relation::LessOrEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterOrEqual => left >= right,
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
        }
    }
}

impl Truth {
    /// Returns whether it needs elements, and not only shapes and types.
    pub fn looks_at_elements(&self) -> bool {
        let mut looks = false;
        self.for_each_subject(&mut |_, quantity, _| {
            looks |= quantity.is_some_and(|quantity| quantity != Quantity::Count);
        });
        looks
    }

    /// Calls `call` for every function of a tensor: with its quantity, if it reads elements, and with whether only its
    /// presence matters.
    pub fn for_each_subject<'a>(&'a self, call: &mut impl FnMut(&'a Subject, Option<Quantity>, bool)) {
        match self {
            Truth::Any(terms) | Truth::All(terms) => terms.iter().for_each(|term| term.for_each_subject(call)),
            Truth::Not(truth) => truth.for_each_subject(call),
            Truth::Compare(left, _, right) => {
                // `> 0`, like the number alone, asks only whether there are any.
                let presence = self.asks_for_presence();
                left.for_each_subject(presence, call);
                right.for_each_subject(presence, call);
            }
            Truth::Shapes(left, _, right) => [left, right].into_iter().for_each(|shape| {
                if let Shape::Of(subject) = shape {
                    call(subject, None, false);
                }
            }),
            Truth::Types(left, _, right) => [left, right].into_iter().for_each(|dtype| {
                if let Type::Of(subject) = dtype {
                    call(subject, None, false);
                }
            }),
            Truth::NonZero(number) => number.for_each_subject(true, call),
        }
    }

    /// Returns whether this compares a count with 0, so that any number above 0 gives the same answer as the exact one.
    fn asks_for_presence(&self) -> bool {
        let Truth::Compare(left, _, right) = self else { return false };
        let is_zero = |number: &Number| *number == Number::Literal(0.0);
        let is_count = |number: &Number| matches!(number, Number::Quantity(..));
        is_count(left) && is_zero(right) || is_zero(left) && is_count(right)
    }
}

impl Number {
    fn for_each_subject<'a>(&'a self, presence: bool, call: &mut impl FnMut(&'a Subject, Option<Quantity>, bool)) {
        match self {
            Number::Literal(_) | Number::Iteration(_) => (),
            Number::Negative(number) => number.for_each_subject(presence, call),
            Number::Sum(first, rest) | Number::Product(first, rest) => {
                first.for_each_subject(false, call);
                rest.iter().for_each(|(_, number)| number.for_each_subject(false, call));
            }
            Number::Quantity(quantity, subject) => call(subject, Some(*quantity), presence),
            Number::Rank(subject) | Number::Size(subject, _) => call(subject, None, false),
        }
    }
}

impl Display for Truth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Truth::Any(terms) => chain(f, terms, "or", self),
            Truth::All(terms) => chain(f, terms, "and", self),
            Truth::Not(truth) => {
                f.write_str("not ")?;
                inside(f, &**truth, truth.binds() < self.binds())
            }
            Truth::Compare(left, relation, right) => write!(f, "{left} {} {right}", relation.sign()),
            Truth::Shapes(left, equal, right) => write!(f, "{left} {} {right}", equality(*equal)),
            Truth::Types(left, equal, right) => write!(f, "{left} {} {right}", equality(*equal)),
            Truth::NonZero(number) => number.fmt(f),
        }
    }
}

impl Truth {
    /// Returns the precedence of its operator.
    fn binds(&self) -> u8 {
        match self {
            Truth::Any(_) => 0,
            Truth::All(_) => 1,
            Truth::Not(_) => 2,
            _ => 3,
        }
    }
}

fn chain(f: &mut Formatter<'_>, terms: &[Truth], word: &str, chain: &Truth) -> fmt::Result {
    terms.iter().enumerate().try_for_each(|(number, term)| {
        if number > 0 {
            write!(f, " {word} ")?;
        }
        inside(f, term, term.binds() <= chain.binds())
    })
}

fn equality(equal: bool) -> &'static str {
    if equal { "==" } else { "!=" }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // The shortest text of the number, with an exponent if it is long.
            Number::Literal(value) => {
                let text = format!("{value:?}");
                f.write_str(text.strip_suffix(".0").unwrap_or(&text))
            }
            Number::Negative(number) => {
                f.write_str("-")?;
                inside(f, &**number, number.binds() < self.binds())
            }
            Number::Sum(first, rest) => operation(f, first, rest, ["+", "-"], self),
            Number::Product(first, rest) => operation(f, first, rest, ["*", "/"], self),
            Number::Quantity(quantity, subject) => write!(f, "{}{subject}", Function::Quantity(*quantity).name()),
            Number::Rank(subject) => write!(f, "rank{subject}"),
            Number::Size(subject, axis) => write!(f, "shape{subject}[{axis}]"),
            Number::Iteration(-1) => f.write_str("iteration"),
            Number::Iteration(level) => write!(f, "iteration[{level}]"),
        }
    }
}

impl Number {
    /// Returns the precedence of its operator.
    fn binds(&self) -> u8 {
        match self {
            Number::Sum(..) => 0,
            Number::Product(..) => 1,
            Number::Negative(_) => 2,
            _ => 3,
        }
    }
}

fn operation(
    f: &mut Formatter<'_>,
    first: &Number,
    rest: &[(bool, Number)],
    [direct, inverse]: [&str; 2],
    operation: &Number,
) -> fmt::Result {
    let part = |f: &mut Formatter<'_>, number: &Number| inside(f, number, number.binds() <= operation.binds());
    part(f, first)?;
    rest.iter().try_for_each(|(is_direct, number)| {
        write!(f, " {} ", if *is_direct { direct } else { inverse })?;
        part(f, number)
    })
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Literal(sizes) => write!(f, "{sizes:?}"),
            Shape::Of(subject) => write!(f, "shape{subject}"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Literal(dtype) => write!(f, "{dtype}"),
            Type::Of(subject) => write!(f, "dtype{subject}"),
        }
    }
}

impl Display for Subject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Stopped => Ok(()),
            Subject::Tensor(part) => write!(f, "({part})"),
        }
    }
}

fn inside(f: &mut Formatter<'_>, part: &dyn Display, parentheses: bool) -> fmt::Result {
    if parentheses { write!(f, "({part})") } else { part.fmt(f) }
}
