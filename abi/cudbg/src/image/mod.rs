//! The image of a model: the ELF file that a debugger reads its operators from. Each operator is a function on its line of a
//! listing, each value a variable.

mod dwarf;
mod elf;
mod listing;
mod names;
mod place;

use std::path::PathBuf;

use crate::addresses::Addresses;
use crate::graph::Graph;
pub use listing::{Listing, directory as listing_directory};
use names::Names;
use place::Place;

/// The image of a model, as it is before and after its addresses are decided. Both have the same size.
#[derive(Debug)]
pub struct Image {
    /// With the addresses of the model's operators and values.
    pub relocated: Vec<u8>,
    /// With addresses that are distances in sections, and relocations for them.
    pub non_relocated: Vec<u8>,
    /// The listing that both refer to.
    pub listing: Listing,
    names: Names,
}

/// Why there is no image: it would be too large for its format.
#[derive(Debug, thiserror::Error)]
#[error("it has no image: {0}")]
pub struct ImageError(String);

impl Image {
    /// Makes the image of a model that has its addresses. `directory` is where the listing is to be found.
    ///
    /// # Errors
    /// A model that is too large for an ELF file.
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
        // A debugger learns one size for both. The other one is larger by its relocations.
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
