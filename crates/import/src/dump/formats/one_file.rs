//! A single file with tensors.

use std::path::Path;
use std::sync::Arc;

use opscope_files::open_regular;
use opscope_tensor::npy::{self, Header};
use opscope_tensor::npz::Npz;

use super::Format;
use crate::dump::files::{Named, pt, safetensors};
use crate::dump::found::{Data, Unreadable};

/// Returns the tensors of a file, whose format is found by its content.
pub(super) fn tensors(path: &Path) -> Result<Vec<Named>, Unreadable> {
    // Says what is wrong with the file itself, such as that it is a pipe.
    open_regular(path).map_err(Unreadable::of)?;
    match Format::of_file(path) {
        Some(Format::Npy) => {
            let tensor = npy::open(path).map_err(Unreadable::of);
            let tensor = tensor.map(|(Header { dtype, shape, .. }, _)| (dtype, shape, Data::Npy(path.to_owned())));
            Ok(vec![Named { name: String::new(), tensor }])
        }
        Some(Format::Npz) => {
            let archive = Arc::new(Npz::open(path).map_err(Unreadable::of)?);
            let named = |name: &str| {
                let header = archive.array(name).map(|(header, _)| header).map_err(Unreadable::of);
                let data = Data::Npz(Arc::clone(&archive), name.to_owned());
                Named { name: name.to_owned(), tensor: header.map(|header| (header.dtype, header.shape, data)) }
            };
            Ok(archive.names().map(named).collect())
        }
        Some(Format::Safetensors) => safetensors::read(path).map_err(Unreadable::of),
        // A damaged archive is not known by its beginning, and the reader says what is wrong with it.
        _ if path.extension().is_some_and(|extension| extension == "safetensors") => {
            safetensors::read(path).map_err(Unreadable::of)
        }
        _ => pt::read(path).map_err(Unreadable::of),
    }
}
