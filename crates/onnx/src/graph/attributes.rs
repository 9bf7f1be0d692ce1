use crate::{Attribute, Operator};

impl Operator {
    /// Returns an attribute that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attributes.get(name)? {
            Attribute::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns an attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attributes.get(name)? {
            Attribute::Ints(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Returns an attribute that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name)? {
            Attribute::String(text) => Some(text),
            _ => None,
        }
    }
}
