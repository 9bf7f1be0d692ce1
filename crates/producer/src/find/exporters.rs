use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;

use super::objects::{self, Object};

/// A loaded object that itself exports a symbol. It stays loaded while this lives.
pub struct Exporter {
    /// Its file.
    pub path: PathBuf,
    /// The symbol.
    pub symbol: NonNull<c_void>,
    object: Object,
}

/// Returns the loaded objects that themselves export a symbol with this name, in the order in which they were loaded.
pub fn exporters(name: &CStr) -> Vec<Exporter> {
    let exporter = |object_name: &CStr| {
        let object = Object::loaded(object_name)?;
        Some(Exporter { path: objects::path_of(object_name), symbol: object.own_symbol(name)?, object })
    };
    objects::loaded().iter().filter_map(|object_name| exporter(object_name)).collect()
}

/// Returns whether two addresses are in the same loaded object.
pub fn is_same_object(one: NonNull<c_void>, other: NonNull<c_void>) -> bool {
    let base = objects::base_of(one.as_ptr());
    base.is_some() && base == objects::base_of(other.as_ptr())
}

impl Exporter {
    /// Returns the symbol that the object itself exports under another name.
    pub fn own(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.object.own_symbol(name)
    }

    /// Returns the symbol that a name has in the object or in one that it depends on.
    pub fn visible(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.object.symbol(name)
    }
}
