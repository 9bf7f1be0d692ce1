//! The image of a model: the ELF file from which a debugger reads its operators. Each operator is a function on its own
//! line of a listing, and each value is a variable.

mod dwarf;
mod elf;
mod listing;

use std::path::PathBuf;

use gimli::write::Address;
use opscope_debug::{ModelId, Moment};

use crate::addresses;
use crate::addresses::Addresses;
use crate::graph::Graph;
use listing::Names;
pub use listing::{Listing, directory as listing_directory};

/// The image of a model in two forms of the same size: with the model's addresses, and with relocations.
#[derive(Debug)]
pub struct Image {
    /// The image with the addresses of the model's operators and values.
    pub relocated: Vec<u8>,
    /// The image with addresses relative to the beginnings of sections, and with relocations for them.
    pub non_relocated: Vec<u8>,
    /// The listing that both forms refer to.
    pub listing: Listing,
    names: Names,
}

/// A model has no image, because it is too large for the format.
#[derive(Debug, thiserror::Error)]
#[error("it has no image: {0}")]
pub struct ImageError(String);

impl Image {
    /// Makes the image of a model, which must have its addresses. `directory` is the directory of the listing; nothing
    /// is written there.
    ///
    /// # Errors
    /// Returns an error if the model is too large for an ELF file.
    pub fn new(graph: &Graph, addresses: &Addresses, directory: PathBuf) -> Result<Self, ImageError> {
        let names = Names::new(graph);
        let listing = Listing::new(graph, directory);
        let image = |place| {
            let debug =
                dwarf::sections(graph, &names, &listing, place).map_err(|error| ImageError(error.to_string()))?;
            elf::write(graph, &names, &debug, place).map_err(|error| ImageError(error.to_string()))
        };
        let mut relocated = image(Place::Relocated(addresses, graph.model))?;
        let non_relocated = image(Place::NonRelocated)?;
        // A debugger gets one size for both forms. The form with relocations is larger.
        relocated.resize(non_relocated.len(), 0);
        Ok(Self { relocated, non_relocated, listing, names })
    }

    /// Returns the symbol of an operator.
    pub fn symbol(&self, operator: u32) -> Option<&str> {
        self.names.operators.get(operator as usize).map(String::as_str)
    }

    /// Returns the operator with this symbol.
    pub fn operator(&self, symbol: &str) -> Option<u32> {
        self.names.operator(symbol)
    }

    /// Returns the index of an operator's section.
    pub fn section(operator: u32) -> u64 {
        u64::from(elf::FIRST_OPERATOR_SECTION) + u64::from(operator)
    }
}

/// An operator or a value by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Operator(u32),
    Value(u32),
}

/// The kind of addresses in an image.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
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
