use std::sync::Arc;

use opscope_debug::{ModelId, Moment};

use crate::addresses::{self, Addresses};
use crate::graph::Graph;
use crate::image::{Image, ImageError, listing_directory};

/// A model of the program, and the image that clients read.
pub struct Module {
    pub graph: Graph,
    pub image: Image,
}

impl Module {
    /// Makes the image of a model, which must have its addresses, and writes the listing that the image refers to.
    ///
    /// # Errors
    /// Returns an error if the model is too large for an image.
    pub fn new(graph: Graph, addresses: &Addresses) -> Result<Arc<Self>, ImageError> {
        let image = Image::new(&graph, addresses, listing_directory())?;
        // If the listing cannot be written, names and addresses are still right.
        let _ = image.listing.write();
        Ok(Arc::new(Self { graph, image }))
    }

    /// Returns the address of an operator.
    pub fn entry(&self, operator: u32) -> u64 {
        addresses::operator(self.graph.model, operator, Moment::Before)
    }

    /// Returns the address of an operator by its symbol.
    pub fn address_of(&self, symbol: &str) -> Option<u64> {
        self.image.operator(symbol).map(|operator| self.entry(operator))
    }
}

/// Returns the number of a model for clients. It is the model's context, its module, and the handle of its image.
pub fn handle(model: ModelId) -> u64 {
    u64::from(model.0)
}
