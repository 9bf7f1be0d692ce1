//! The formats of dumps on disk, each in a file or a folder.

pub mod ascend;
pub(crate) mod create;
pub(crate) mod directory;
pub(crate) mod format;
pub(crate) mod manifest_file;
