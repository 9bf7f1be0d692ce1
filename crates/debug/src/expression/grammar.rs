//! The grammar, from what binds least to what binds most:
//!
//! ```text
//! any        = all { ("or" | "||") all }
//! all        = negated { ("and" | "&&") negated }
//! negated    = ("not" | "!") negated | comparison
//! comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//! sum        = product { ("+" | "-") product }
//! product    = signed { ("*" | "/") signed }
//! signed     = "-" signed | single
//! single     = number | "[" sizes "]" | type | function [ "(" tensor ")" ] | "(" any ")"
//! ```

use opscope_tensor::DType;

use super::error::ConditionError;
use super::parser::Parser;
use super::tree::{Number, Quantity, Relation, Shape, Subject, Truth, Type};

/// What was read, whatever it is, and where it begins.
struct Term {
    at: usize,
    kind: Kind,
}

enum Kind {
    Truth(Truth),
    Number(Number),
    Shape(Shape),
    Type(Type),
}

const SINGLE: &str = "a number, a shape such as [1, 3], a type such as f32, or a function: nan, inf, zeros, count, \
                      absmax, min, max, mean, std, l2, shape, rank, dtype";

pub(super) fn condition(text: &str) -> Result<Truth, ConditionError> {
    let mut parser = Parser::new(text)?;
    let condition = parser.any()?;
    parser.end("an operator, such as and, or, >, +")?;
    parser.truth(condition)
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Term, ConditionError> {
        self.chain(["or", "||"], Self::all, Truth::Any)
    }

    fn all(&mut self) -> Result<Term, ConditionError> {
        self.chain(["and", "&&"], Self::negated, Truth::All)
    }

    /// Truths with one of the signs between them, or something alone.
    fn chain(
        &mut self,
        signs: [&str; 2],
        parse: fn(&mut Self) -> Result<Term, ConditionError>,
        join: fn(Vec<Truth>) -> Truth,
    ) -> Result<Term, ConditionError> {
        let first = parse(self)?;
        if !signs.iter().any(|sign| self.at_token(sign)) {
            return Ok(first);
        }
        let at = first.at;
        let mut terms = vec![self.truth(first)?];
        while signs.iter().any(|sign| self.take(sign)) {
            let term = parse(self)?;
            terms.push(self.truth(term)?);
        }
        Ok(Term { at, kind: Kind::Truth(join(terms)) })
    }

    fn negated(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if !self.take("not") && !self.take("!") {
            return self.comparison();
        }
        let term = self.nested(Self::negated)?;
        let truth = self.truth(term)?;
        Ok(Term { at, kind: Kind::Truth(Truth::Not(Box::new(truth))) })
    }

    fn comparison(&mut self) -> Result<Term, ConditionError> {
        let left = self.sum()?;
        if self.at_sign("=") {
            return Err(self.wrong("'==' to compare"));
        }
        if self.at_sign("&") {
            return Err(self.wrong("'and' or '&&'"));
        }
        let Some(relation) = self.relation() else { return Ok(left) };
        let sign_at = self.at();
        self.advance();
        let right = self.sum()?;
        if self.relation().is_some() {
            return Err(self.wrong("'and' between two comparisons, as in 0 < min and min < 1"));
        }
        let (at, equal) = (left.at, relation == Relation::Equal);
        let only_equality = |what: &str| match relation {
            Relation::Equal | Relation::NotEqual => Ok(()),
            _ => Err(self.wrong_at(sign_at, format!("there is '{}'", relation.sign()), format!("== or != for {what}"))),
        };
        let truth = match (left.kind, right.kind) {
            (Kind::Shape(left), Kind::Shape(right)) => {
                only_equality("shapes")?;
                Truth::Shapes(left, equal, right)
            }
            (Kind::Type(left), Kind::Type(right)) => {
                only_equality("types")?;
                Truth::Types(left, equal, right)
            }
            (Kind::Shape(_), other) => return Err(self.wrong_kind(right.at, &other, "a shape, such as [1, 3]")),
            (Kind::Type(_), other) => return Err(self.wrong_kind(right.at, &other, "a type, such as f32")),
            (left, right_kind) => {
                let left = self.number(Term { at, kind: left })?;
                Truth::Compare(left, relation, self.number(Term { at: right.at, kind: right_kind })?)
            }
        };
        Ok(Term { at, kind: Kind::Truth(truth) })
    }

    fn sum(&mut self) -> Result<Term, ConditionError> {
        self.operation(("+", "-"), Self::product, Number::Sum)
    }

    fn product(&mut self) -> Result<Term, ConditionError> {
        self.operation(("*", "/"), Self::signed, Number::Product)
    }

    /// Numbers with one of the signs between them, or something alone.
    fn operation(
        &mut self,
        (direct, inverse): (&str, &str),
        parse: fn(&mut Self) -> Result<Term, ConditionError>,
        join: fn(Box<Number>, Vec<(bool, Number)>) -> Number,
    ) -> Result<Term, ConditionError> {
        let first = parse(self)?;
        if !self.at_sign(direct) && !self.at_sign(inverse) {
            return Ok(first);
        }
        let at = first.at;
        let (first, mut rest) = (self.number(first)?, Vec::new());
        while self.at_sign(direct) || self.at_sign(inverse) {
            let is_direct = self.at_sign(direct);
            self.advance();
            let term = parse(self)?;
            rest.push((is_direct, self.number(term)?));
        }
        Ok(Term { at, kind: Kind::Number(join(Box::new(first), rest)) })
    }

    fn signed(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if !self.take("-") {
            return self.single();
        }
        let term = self.nested(Self::signed)?;
        let number = self.number(term)?;
        Ok(Term { at, kind: Kind::Number(Number::Negative(Box::new(number))) })
    }

    fn single(&mut self) -> Result<Term, ConditionError> {
        let at = self.at();
        if let Some(value) = self.literal() {
            return Ok(Term { at, kind: Kind::Number(Number::Literal(value)) });
        }
        if self.take("(") {
            let inside = self.nested(Self::any)?;
            self.expect(")")?;
            return Ok(inside);
        }
        if self.take("[") {
            return Ok(Term { at, kind: Kind::Shape(Shape::Literal(self.sizes()?)) });
        }
        let Some(word) = self.word() else { return Err(self.wrong(SINGLE)) };
        let kind = match word {
            "shape" => {
                self.advance();
                let subject = self.subject()?;
                if self.take("[") { Kind::Number(self.size(subject)?) } else { Kind::Shape(Shape::Of(subject)) }
            }
            "rank" => {
                self.advance();
                Kind::Number(Number::Rank(self.subject()?))
            }
            "dtype" => {
                self.advance();
                Kind::Type(Type::Of(self.subject()?))
            }
            "input" | "output" | "weight" | "value" => {
                return Err(self.wrong(format!("a function of it, such as nan({word}) or absmax({word})")));
            }
            word => match (Quantity::named(word), dtype(word)) {
                (Some(quantity), _) => {
                    self.advance();
                    Kind::Number(Number::Quantity(quantity, self.subject()?))
                }
                (None, Some(dtype)) => {
                    self.advance();
                    Kind::Type(Type::Literal(dtype))
                }
                (None, None) => return Err(self.wrong(SINGLE)),
            },
        };
        Ok(Term { at, kind })
    }

    /// What a function is over.
    fn subject(&mut self) -> Result<Subject, ConditionError> {
        if !self.take("(") {
            return Ok(Subject::Stopped);
        }
        let part = self.part()?;
        self.expect(")")?;
        Ok(Subject::Tensor(part))
    }

    /// One axis of a shape, behind the bracket.
    fn size(&mut self, subject: Subject) -> Result<Number, ConditionError> {
        let negative = self.take("-");
        let axis = self.integer("the number of an axis, as in shape[0] or shape[-1]")? as i64;
        self.expect("]")?;
        Ok(Number::Size(subject, if negative { -axis } else { axis }))
    }

    /// The sizes of a shape, behind the bracket.
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

    fn relation(&self) -> Option<Relation> {
        Relation::ALL.iter().find(|(_, sign)| self.at_sign(sign)).map(|(relation, _)| *relation)
    }

    fn truth(&self, term: Term) -> Result<Truth, ConditionError> {
        match term.kind {
            Kind::Truth(truth) => Ok(truth),
            Kind::Number(number) => Ok(Truth::NonZero(number)),
            kind => Err(self.wrong_kind(term.at, &kind, "a comparison of it, such as shape == [1, 3] or dtype == f32")),
        }
    }

    fn number(&self, term: Term) -> Result<Number, ConditionError> {
        match term.kind {
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

/// The types' names in full, as in `float32`, and short, as in `f32`.
fn dtype(name: &str) -> Option<DType> {
    let longer = |(short, long): (&str, &str)| {
        let bits = name.strip_prefix(short).filter(|bits| bits.starts_with(|digit: char| digit.is_ascii_digit()))?;
        format!("{long}{bits}").parse().ok()
    };
    let short = [("bf", "bfloat"), ("f", "float"), ("i", "int"), ("u", "uint")];
    name.parse().ok().or_else(|| short.into_iter().find_map(longer))
}
