//! Where dumps go, a file or a folder for each format.

pub mod ascend;
pub(crate) mod directory;
pub(crate) mod format;
pub(crate) mod manifest_file;
pub(crate) mod whole_file;
