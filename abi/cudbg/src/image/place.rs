//! The addresses of an image's operators and values.

use gimli::write::Address;
use opscope_debug::{ModelId, Moment};

use crate::addresses::{self, Addresses};

/// An operator or a value by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    Operator(u32),
    Value(u32),
}

/// The kind of addresses in an image.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The addresses that debuggers see.
    Relocated(&'a Addresses, ModelId),
    /// Addresses relative to the beginnings of sections, with relocations.
    NonRelocated,
}

impl Place<'_> {
    /// Returns a symbol's address; `None` if it needs a relocation.
    pub fn of(&self, symbol: Symbol) -> Option<u64> {
        match (*self, symbol) {
            (Place::NonRelocated, _) => None,
            (Place::Relocated(_, model), Symbol::Operator(index)) => {
                Some(addresses::operator(model, index, Moment::Before))
            }
            (Place::Relocated(addresses, model), Symbol::Value(index)) => addresses.tensor(model, index),
        }
    }
}

impl Symbol {
    /// Returns the address of the symbol, for debug information.
    pub fn address(self) -> Address {
        let symbol = match self {
            Symbol::Operator(index) => 2 * index as usize,
            Symbol::Value(index) => 2 * index as usize + 1,
        };
        Address::Symbol { symbol, addend: 0 }
    }
}

impl From<usize> for Symbol {
    /// Returns the symbol for the number in an [address](Symbol::address).
    fn from(number: usize) -> Self {
        let index = (number / 2) as u32;
        if number.is_multiple_of(2) { Symbol::Operator(index) } else { Symbol::Value(index) }
    }
}
