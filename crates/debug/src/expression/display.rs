//! Displays conditions with as few parentheses as they need to be parsed into the same tree.

use std::fmt::{self, Display, Formatter};

use super::function::Function;
use super::tree::{Number, Shape, Subject, Truth, Type};

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
