use std::path::Path;

use super::ascend::{AscendSink, DirectoryTarget};
use super::directory::{Contents, DirectorySink};
use crate::{DumpError, DumpInfo, Sink};

/// A format of dumps on disk. [`ALL`](Self::ALL) is the only list of formats. A command line and a configuration choose
/// from it by name.
#[derive(Debug)]
pub struct DumpFormat {
    /// The name, such as `npy`.
    pub name: &'static str,
    /// Whether it can hold histograms.
    pub has_histograms: bool,
    create: Create,
}

/// Creates a sink that writes to a directory, with histograms or without.
type Create = fn(&Path, &DumpInfo, bool) -> Result<Box<dyn Sink>, DumpError>;

/// The size of a chunk of AscendCL's dump files in bytes, as the vendor has it.
const CHUNK: usize = 128 << 20;

/// The number of the model in overflow files, for a dump of one model.
const ONLY_MODEL: u32 = 1;

impl PartialEq for DumpFormat {
    /// Names are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl DumpFormat {
    /// An `.npy` file for each tensor.
    pub const NPY: Self = Self {
        name: "npy",
        has_histograms: true,
        create: |root, info, histograms| directory(root, Contents::Tensors, info, histograms),
    };
    /// AscendCL's dump files, one for each operator and run.
    pub const ASCEND: Self = Self {
        name: "ascend",
        has_histograms: false,
        create: |root, info, _| Ok(Box::new(AscendSink::new(DirectoryTarget::create(root, info)?, CHUNK))),
    };
    /// AscendCL's dump files of the operators that overflowed, each with an overflow file. Inputs and outputs of all
    /// operators must be selected. It is no choice of its own, but what `dump_debug` of an `acl.json` means.
    pub const ASCEND_OVERFLOWED: Self = Self {
        name: "ascend",
        has_histograms: false,
        create: |root, info, _| {
            let sink = AscendSink::new(DirectoryTarget::create(root, info)?, CHUNK);
            Ok(Box::new(sink.only_overflowed(ONLY_MODEL)))
        },
    };
    /// Statistics of each tensor, as a table.
    pub const STATISTICS: Self = Self {
        name: "statistics",
        has_histograms: true,
        create: |root, info, histograms| directory(root, Contents::Statistics, info, histograms),
    };
    /// Every format. The first one is the default.
    pub const ALL: &[&Self] = &[&Self::NPY, &Self::ASCEND, &Self::STATISTICS];

    /// Creates the sink of a new dump in a directory, which must not exist. Histograms count the elements of every
    /// tensor by powers of two.
    ///
    /// # Errors
    /// Returns an error if the directory exists or cannot be written, or if this format cannot hold histograms.
    pub fn create(&self, root: &Path, info: &DumpInfo, histograms: bool) -> Result<Box<dyn Sink>, DumpError> {
        if histograms && !self.has_histograms {
            return Err(DumpError::NoHistograms(self.name));
        }
        (self.create)(root, info, histograms)
    }
}

fn directory(root: &Path, contents: Contents, info: &DumpInfo, histograms: bool) -> Result<Box<dyn Sink>, DumpError> {
    let sink = DirectorySink::create(root, contents, info)?;
    Ok(Box::new(if histograms { sink.with_histograms()? } else { sink }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_chunk_of_an_ascendcl_file_has_128_mib() {
        // A chunk of this size is too large for a test.
        assert_eq!(super::CHUNK, 134_217_728);
    }
}
