//! The grammar, from the lowest precedence to the highest:
//!
//! ```text
//! any        = all { ("or" | "||") all }
//! all        = negated { ("and" | "&&") negated }
//! negated    = ("not" | "!") negated | comparison
//! comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//! sum        = product { ("+" | "-") product }
//! product    = signed { ("*" | "/") signed }
//! signed     = "-" signed | single
//! single     = number | "[" sizes "]" | type | function [ "(" tensor ")" ] | iteration | "(" any ")"
//! iteration  = "iteration" [ "[" [ "-" ] number "]" ]
//! ```

use opscope_tensor::DType;

use super::ConditionError;
use super::function::Function;
use super::parser::Parser;
use super::tree::{Number, Relation, Shape, Subject, Truth, Type};

/// A parsed part and its position. It is small, because the stack holds several for each level of nesting.
struct Term {
    at: usize,
    kind: Box<Kind>,
}

enum Kind {
    Truth(Truth),
    Number(Number),
    Shape(Shape),
    Type(Type),
}

impl Term {
    fn new(at: usize, kind: Kind) -> Self {
        Self { at, kind: Box::new(kind) }
    }
}

/// Returns what [`Parser::leaf`] accepts, as text for an error.
fn leaves() -> String {
    let functions = Function::ALL.map(|(_, name)| name).join(", ");
    format!("a number, a shape such as [1, 3], a type such as f32, iteration, or a function: {functions}")
}

pub(super) fn condition(text: &str) -> Result<Truth, ConditionError> {
    let mut parser = Parser::new(text)?;
    let condition = parser.any()?;
    parser.end("an operator, such as and, or, >, +")?;
    parser.truth(condition)
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Term, ConditionError> {
        let first = self.all()?;
        if self.at_or() { self.chain(first, Self::at_or, Self::all, Truth::Any) } else { Ok(first) }
    }

    fn all(&mut self) -> Result<Term, ConditionError> {
        let first = self.negated()?;
        if self.at_and() { self.chain(first, Self::at_and, Self::negated, Truth::All) } else { Ok(first) }
    }

    fn at_or(&self) -> bool {
        self.at_token("or") || self.at_token("||")
    }

    fn at_and(&self) -> bool {
        self.at_token("and") || self.at_token("&&")
    }

    /// Parses the operands of `and` or `or` after the first.
    fn chain(
        &mut self,
        first: Term,
        at_sign: fn(&Self) -> bool,
        parse: fn(&mut Self) -> Result<Term, ConditionError>,
        join: fn(Vec<Truth>) -> Truth,
    ) -> Result<Term, ConditionError> {
        let at = first.at;
        let mut terms = vec![self.truth(first)?];
        while at_sign(self) {
            self.advance();
            let term = parse(self)?;
            terms.push(self.truth(term)?);
        }
        Ok(Term::new(at, Kind::Truth(join(terms))))
    }

    fn negated(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if !self.take("not") && !self.take("!") {
            return self.comparison();
        }
        let term = self.nested(Self::negated)?;
        self.not(at, term)
    }

    fn not(&self, at: usize, term: Term) -> Result<Term, ConditionError> {
        Ok(Term::new(at, Kind::Truth(Truth::Not(Box::new(self.truth(term)?)))))
    }

    fn comparison(&mut self) -> Result<Term, ConditionError> {
        let left = self.sum()?;
        let sign_at = self.at();
        let Some(relation) = self.relation()? else { return Ok(left) };
        self.advance();
        let right = self.sum()?;
        if self.relation()?.is_some() {
            return Err(self.wrong("'and' between two comparisons, as in 0 < min and min < 1"));
        }
        self.compare(left, (sign_at, relation), right)
    }

    fn relation(&self) -> Result<Option<Relation>, ConditionError> {
        if self.at_sign("=") {
            return Err(self.wrong("'==' to compare"));
        }
        if self.at_sign("&") {
            return Err(self.wrong("'and' or '&&'"));
        }
        Ok(Relation::ALL.iter().find(|(_, sign)| self.at_sign(sign)).map(|(relation, _)| *relation))
    }

    fn compare(&self, left: Term, (sign_at, relation): (usize, Relation), right: Term) -> Result<Term, ConditionError> {
        let (at, right_at, equal) = (left.at, right.at, relation == Relation::Equal);
        let only_equality = |what: &str| match relation {
            Relation::Equal | Relation::NotEqual => Ok(()),
            _ => Err(self.wrong_at(sign_at, format!("there is '{}'", relation.sign()), format!("== or != for {what}"))),
        };
        let truth = match (*left.kind, *right.kind) {
            (Kind::Shape(left), Kind::Shape(right)) => {
                only_equality("shapes")?;
                Truth::Shapes(left, equal, right)
            }
            (Kind::Type(left), Kind::Type(right)) => {
                only_equality("types")?;
                Truth::Types(left, equal, right)
            }
            (Kind::Number(left), Kind::Number(right)) => Truth::Compare(left, relation, right),
            (Kind::Shape(_), other) => return Err(self.wrong_kind(right_at, &other, "a shape, such as [1, 3]")),
            (Kind::Type(_), other) => return Err(self.wrong_kind(right_at, &other, "a type, such as f32")),
            (Kind::Number(_), other) => return Err(self.wrong_kind(right_at, &other, "a number")),
            (other, _) => return Err(self.wrong_kind(at, &other, "a number")),
        };
        Ok(Term::new(at, Kind::Truth(truth)))
    }

    fn sum(&mut self) -> Result<Term, ConditionError> {
        let first = self.product()?;
        match self.at_sign("+") || self.at_sign("-") {
            true => self.operation(first, ("+", "-"), Self::product, Number::Sum),
            false => Ok(first),
        }
    }

    fn product(&mut self) -> Result<Term, ConditionError> {
        let first = self.signed()?;
        match self.at_sign("*") || self.at_sign("/") {
            true => self.operation(first, ("*", "/"), Self::signed, Number::Product),
            false => Ok(first),
        }
    }

    /// Parses the operands of a sum or a product after the first.
    fn operation(
        &mut self,
        first: Term,
        (direct, inverse): (&str, &str),
        parse: fn(&mut Self) -> Result<Term, ConditionError>,
        join: fn(Box<Number>, Vec<(bool, Number)>) -> Number,
    ) -> Result<Term, ConditionError> {
        let at = first.at;
        let (first, mut rest) = (self.number(first)?, Vec::new());
        while self.at_sign(direct) || self.at_sign(inverse) {
            let is_direct = self.at_sign(direct);
            self.advance();
            let term = parse(self)?;
            rest.push((is_direct, self.number(term)?));
        }
        Ok(Term::new(at, Kind::Number(join(Box::new(first), rest))))
    }

    fn signed(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if !self.take("-") {
            return self.single();
        }
        let term = self.nested(Self::signed)?;
        self.negative(at, term)
    }

    fn negative(&self, at: usize, term: Term) -> Result<Term, ConditionError> {
        Ok(Term::new(at, Kind::Number(Number::Negative(Box::new(self.number(term)?)))))
    }

    fn single(&mut self) -> Result<Term, ConditionError> {
        if !self.take("(") {
            return self.leaf();
        }
        let inside = self.nested(Self::any)?;
        self.expect(")")?;
        Ok(inside)
    }

    /// Parses an expression without operands.
    fn leaf(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if let Some(value) = self.literal() {
            return Ok(Term::new(at, Kind::Number(Number::Literal(value))));
        }
        if self.take("[") {
            return Ok(Term::new(at, Kind::Shape(Shape::Literal(self.sizes()?))));
        }
        let Some(word) = self.word() else { return Err(self.wrong(leaves())) };
        if matches!(word, "input" | "output" | "weight" | "value") {
            return Err(self.wrong(format!("a function of it, such as nan({word}) or absmax({word})")));
        }
        if self.take("iteration") {
            let level = if self.take("[") {
                self.index("the number of a loop, as in iteration[0] or iteration[-1]")?
            } else {
                -1
            };
            return Ok(Term::new(at, Kind::Number(Number::Iteration(level))));
        }
        let kind = match (Function::named(word), dtype(word)) {
            (Some(function), _) => {
                self.advance();
                self.function(function)?
            }
            (None, Some(dtype)) => {
                self.advance();
                Kind::Type(Type::Literal(dtype))
            }
            (None, None) => return Err(self.wrong(leaves())),
        };
        Ok(Term::new(at, kind))
    }

    /// Parses a function after its name.
    fn function(&mut self, function: Function) -> Result<Kind, ConditionError> {
        let subject = self.subject()?;
        Ok(match function {
            Function::Quantity(quantity) => Kind::Number(Number::Quantity(quantity, subject)),
            Function::Shape if self.take("[") => Kind::Number(self.size(subject)?),
            Function::Shape => Kind::Shape(Shape::Of(subject)),
            Function::Rank => Kind::Number(Number::Rank(subject)),
            Function::DType => Kind::Type(Type::Of(subject)),
        })
    }

    /// Parses the argument of a function.
    fn subject(&mut self) -> Result<Subject, ConditionError> {
        if !self.take("(") {
            return Ok(Subject::Stopped);
        }
        let part = self.part()?;
        self.expect(")")?;
        Ok(Subject::Tensor(part))
    }

    /// Parses one axis of a shape after the bracket.
    fn size(&mut self, subject: Subject) -> Result<Number, ConditionError> {
        Ok(Number::Size(subject, self.index("the number of an axis, as in shape[0] or shape[-1]")?))
    }

    /// Parses an index, which may count from the end, after the bracket.
    fn index(&mut self, right: &str) -> Result<i64, ConditionError> {
        let negative = self.take("-");
        let index = self.integer(right)? as i64;
        self.expect("]")?;
        Ok(if negative { -index } else { index })
    }

    /// Parses the sizes of a shape after the bracket.
    fn sizes(&mut self) -> Result<Vec<usize>, ConditionError> {
        let mut sizes = Vec::new();
        while !self.take("]") {
            sizes.push(self.integer("the size of an axis, or ']'")?);
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(sizes)
    }

    fn truth(&self, term: Term) -> Result<Truth, ConditionError> {
        match *term.kind {
            Kind::Truth(truth) => Ok(truth),
            Kind::Number(number) => Ok(Truth::NonZero(number)),
            kind => Err(self.wrong_kind(term.at, &kind, "a comparison of it, such as shape == [1, 3] or dtype == f32")),
        }
    }

    fn number(&self, term: Term) -> Result<Number, ConditionError> {
        match *term.kind {
            Kind::Number(number) => Ok(number),
            kind => Err(self.wrong_kind(term.at, &kind, "a number")),
        }
    }

    fn wrong_kind(&self, at: usize, kind: &Kind, right: &str) -> ConditionError {
        let found = match kind {
            Kind::Truth(_) => "there is something that holds or does not hold",
            Kind::Number(_) => "there is a number",
            Kind::Shape(_) => "there is a shape",
            Kind::Type(_) => "there is a type",
        };
        self.wrong_at(at, found.to_owned(), right)
    }
}

/// Returns the type with a full name such as `float32`, or a short one such as `f32`.
fn dtype(name: &str) -> Option<DType> {
    let longer = |(short, long): (&str, &str)| {
        let bits = name.strip_prefix(short).filter(|bits| bits.starts_with(|digit: char| digit.is_ascii_digit()))?;
        format!("{long}{bits}").parse().ok()
    };
    let short = [("bf", "bfloat"), ("f", "float"), ("i", "int"), ("u", "uint")];
    name.parse().ok().or_else(|| short.into_iter().find_map(longer))
}
