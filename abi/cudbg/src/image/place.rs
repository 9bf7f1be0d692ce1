//! Where the operators and values of an image are.

use gimli::write::Address;
use opscope_debug::{ModelId, Moment};

use crate::addresses::{self, Addresses};

/// An operator or a value by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    Operator(u32),
    Value(u32),
}

/// What the addresses in an image are.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// Those that debuggers see.
    Relocated(&'a Addresses, ModelId),
    /// Distances from the beginnings of sections, with relocations.
    NonRelocated,
}

impl Place<'_> {
    /// Returns a symbol's address; `None` where it is not decided.
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
    /// Returns the symbol as an address in debug information.
    pub fn address(self) -> Address {
        let symbol = match self {
            Symbol::Operator(index) => 2 * index as usize,
            Symbol::Value(index) => 2 * index as usize + 1,
        };
        Address::Symbol { symbol, addend: 0 }
    }
}

impl From<usize> for Symbol {
    /// Reads the number of an [address](Symbol::address).
    fn from(number: usize) -> Self {
        let index = (number / 2) as u32;
        if number.is_multiple_of(2) { Symbol::Operator(index) } else { Symbol::Value(index) }
    }
}
