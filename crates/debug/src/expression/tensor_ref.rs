use std::fmt;
use std::str::FromStr;

use opscope_tensor::Slice;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ConditionError;
use super::parser::{self, Parser};

/// A reference to a tensor where a run is stopped. As text: `input[0]`, `output[1]`, `weight[0]`, `value("name")`;
/// `input` alone is `input[0]`, and so with the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TensorRef {
    /// An input of the operator, by its slot.
    Input(usize),
    /// An output of the operator, by its slot.
    Output(usize),
    /// A weight of the operator, by its number among its weights.
    Weight(usize),
    /// A live value of the run, by the name that the model's file gives it.
    Value(String),
}

/// A reference to a tensor or a part of it. As text, a slice follows: `output[0][0, :4]`, `value("x")[..., -1]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorPart {
    /// The tensor.
    pub tensor: TensorRef,
    /// The part; `None` is the whole tensor.
    pub slice: Option<Slice>,
}

impl From<TensorRef> for TensorPart {
    fn from(tensor: TensorRef) -> Self {
        Self { tensor, slice: None }
    }
}

impl fmt::Display for TensorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorRef::Input(slot) => write!(f, "input[{slot}]"),
            TensorRef::Output(slot) => write!(f, "output[{slot}]"),
            TensorRef::Weight(number) => write!(f, "weight[{number}]"),
            TensorRef::Value(name) => {
                f.write_str("value(")?;
                parser::write_quoted(f, name)?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for TensorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tensor)?;
        self.slice.iter().try_for_each(|slice| write!(f, "{slice}"))
    }
}

impl FromStr for TensorRef {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let mut parser = Parser::new(text)?;
        let tensor = parser.tensor()?;
        parser.end("the end: a slice has no place here")?;
        Ok(tensor)
    }
}

impl FromStr for TensorPart {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let mut parser = Parser::new(text)?;
        let part = parser.part()?;
        parser.end("the end, or a slice such as [0, :4]")?;
        Ok(part)
    }
}

impl Parser<'_> {
    /// Parses a tensor or a part of it.
    pub fn part(&mut self) -> Result<TensorPart, ConditionError> {
        let tensor = self.tensor()?;
        let slice = if self.at_sign("[") { Some(self.slice()?) } else { None };
        Ok(TensorPart { tensor, slice })
    }

    fn tensor(&mut self) -> Result<TensorRef, ConditionError> {
        let make = match self.word() {
            Some("input") => TensorRef::Input,
            Some("output") => TensorRef::Output,
            Some("weight") => TensorRef::Weight,
            Some("value") => {
                self.advance();
                self.expect("(")?;
                let name = self.text("the value's name in quotes, as in value(\"name\")")?;
                self.expect(")")?;
                return Ok(TensorRef::Value(name));
            }
            _ => return Err(self.wrong("a tensor: input[0], output[0], weight[0] or value(\"name\")")),
        };
        self.advance();
        if !self.take("[") {
            return Ok(make(0));
        }
        let slot = self.integer("the number of a slot; a slice comes behind it, as in output[0][0, :4]")?;
        if !self.at_sign("]") {
            return Err(self.wrong("']'; a slice comes behind the number of the slot, as in output[0][0, :4]"));
        }
        self.advance();
        Ok(make(slot))
    }

    /// Parses the text up to the closing bracket.
    fn slice(&mut self) -> Result<Slice, ConditionError> {
        let start = self.at();
        while !self.at_sign("]") {
            if self.at_end() {
                return Err(self.wrong("']' at the end of the slice"));
            }
            self.advance();
        }
        let text = &self.source()[start..=self.at()];
        self.advance();
        text.parse().map_err(|error| self.wrong_slice(start, text, &error))
    }
}

macro_rules! serialized_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serialized_as_text!(TensorRef, TensorPart);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_written_back_in_full() {
        for (text, written) in [
            ("input", "input[0]"),
            ("output[1]", "output[1]"),
            (" weight [ 2 ] ", "weight[2]"),
            ("value('a \\'b\\\\')", r#"value("a 'b\\")"#),
            ("output[0][0, :4]", "output[0][0, :4]"),
            ("value(\"x\")[ ..., -1 ]", "value(\"x\")[..., -1]"),
            ("input[0][::2]", "input[0][::2]"),
        ] {
            let part: TensorPart = text.parse().unwrap();
            assert_eq!(part.to_string(), written);
            assert_eq!(written.parse::<TensorPart>().unwrap(), part);
        }
    }

    #[test]
    fn a_wrong_reference_says_where_and_what_would_be_right() {
        for (text, message) in [
            ("", "column 1: the text ends; right would be a tensor: input[0]"),
            ("inputs", "column 1: there is 'inputs'; right would be a tensor"),
            ("input[:4]", "column 7: there is ':'; right would be the number of a slot"),
            ("input[0, 1]", "column 8: there is ','; right would be ']'; a slice comes behind"),
            ("input[-1]", "column 7: there is '-'; right would be the number of a slot"),
            ("input[0][0, x]", "column 13: there is 'x'; right would be an index, a range"),
            ("input[0][::0]", "column 9: the step of a range is 0"),
            ("input[0][1", "column 11: the text ends; right would be ']'"),
            ("value(x)", "column 7: there is 'x'; right would be the value's name in quotes"),
            ("value(\"x", "column 7: a quotation mark that nothing closes"),
            ("output[0][0][1]", "column 13: there is '['; right would be the end"),
        ] {
            let error = text.parse::<TensorPart>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!("output[0][0]".parse::<TensorRef>().is_err());
    }

    #[test]
    fn references_are_text_in_json() {
        let part: TensorPart = serde_json::from_str("\"output[0][0, :4]\"").unwrap();
        assert_eq!(serde_json::to_string(&part).unwrap(), "\"output[0][0, :4]\"");
        let error = serde_json::from_str::<TensorRef>("\"outptu\"").expect_err("a wrong word");
        assert!(error.to_string().contains("column 1"), "{error}");
    }
}
