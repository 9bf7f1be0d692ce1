//! Which format a path has, and what its tensors are called.

mod files_of;
mod msprobe;
mod names;
mod one_file;
mod polygraphy;
mod walk;

use std::io::Read;
use std::path::Path;

use opscope_dump::INDEX;
use opscope_files::open_regular;
use opscope_tensor::npz::Npz;

use super::files::safetensors;
use super::found::Rank;
use crate::ImportError;

/// A format of dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// The directories of `mindstudio-probe`, or one `dump.json`.
    Msprobe,
    /// The directories of SGLang's dumper.
    Sglang,
    /// The directories of TensorRT-LLM's debug hook.
    TensorRtLlm,
    /// What polygraphy's `save_json` writes.
    Polygraphy,
    /// A file of `torch.save`.
    Pt,
    /// A safetensors file.
    Safetensors,
    /// An archive of arrays.
    Npz,
    /// An array, which every command reads without an import.
    Npy,
    /// A directory of files with tensors.
    Files,
}

/// How many bytes of a file decide what it is.
const START: u64 = 4096;

impl Format {
    /// Every format.
    pub const ALL: [Self; 9] = [
        Self::Msprobe,
        Self::Sglang,
        Self::TensorRtLlm,
        Self::Polygraphy,
        Self::Pt,
        Self::Safetensors,
        Self::Npz,
        Self::Npy,
        Self::Files,
    ];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msprobe => "msprobe",
            Self::Sglang => "sglang",
            Self::TensorRtLlm => "tensorrt-llm",
            Self::Polygraphy => "polygraphy",
            Self::Pt => "pt",
            Self::Safetensors => "safetensors",
            Self::Npz => "npz",
            Self::Npy => "npy",
            Self::Files => "files",
        }
    }

    /// Returns the format of a path; `None` if it is no dump, or one of our own.
    pub fn of(path: &Path) -> Option<Self> {
        if !path.is_dir() {
            return Self::of_file(path);
        }
        if path.join(INDEX).symlink_metadata().is_ok() || files_of::is_of_ranks(path) {
            return None;
        }
        files_of::format(path)
    }

    /// Returns the format of a single file.
    pub fn of_file(path: &Path) -> Option<Self> {
        let file = open_regular(path).ok()?;
        let length = file.metadata().ok()?.len();
        let mut start = Vec::new();
        file.take(START).read_to_end(&mut start).ok()?;
        if start.starts_with(b"\x93NUMPY") {
            return Some(Self::Npy);
        }
        if start.starts_with(b"PK\x03\x04") {
            let name = start.get(30..).unwrap_or_default();
            let is_npz = || Npz::open(path).is_ok_and(|archive| archive.names().next().is_some());
            // The first file of torch.save is its pickle, in a folder.
            let is_pickle = memchr::memmem::find(name, b"/data.pkl").is_some_and(|at| at < 1024);
            return if is_pickle { Some(Self::Pt) } else { is_npz().then_some(Self::Npz) };
        }
        // A pickle of torch.save before it wrote archives begins with a magic number.
        if start.starts_with(&[0x80, 2, 0x8a, 10]) {
            return Some(Self::Pt);
        }
        if safetensors::begins(&start, length) {
            return Some(Self::Safetensors);
        }
        if msprobe::begins(&start) {
            return Some(Self::Msprobe);
        }
        polygraphy::begins(&start).then_some(Self::Polygraphy)
    }
}

/// Returns what a dump has, for each rank.
pub(super) fn read(format: Format, source: &Path) -> Result<Vec<Rank>, ImportError> {
    match format {
        Format::Msprobe => msprobe::read(source),
        Format::Polygraphy => polygraphy::read(source).map(|rank| vec![rank]),
        _ => files_of::read(format, source),
    }
}
