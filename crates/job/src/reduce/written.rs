//! The files of a model and of its inputs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_onnx::{ModelFile, WriteError};
use opscope_tensor::npz;

use super::case::Case;
use super::error::ReduceError;

/// The files of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCase {
    /// The model.
    pub model: PathBuf,
    /// The inputs, an `.npz` file; `None` if the model takes none.
    pub inputs: Option<PathBuf>,
}

impl WrittenCase {
    /// Returns the files that belong to a model of this name: `small.onnx` and `small.inputs.npz`.
    pub fn at(model: &Path, has_inputs: bool) -> Self {
        let inputs = has_inputs.then(|| inputs_beside(model));
        Self { model: model.to_owned(), inputs }
    }

    /// Writes a case into a directory of this process. Files of an earlier case are replaced.
    ///
    /// # Errors
    /// Returns the system's error. Its kind is `InvalidData` if the model is not valid.
    pub(super) fn write_temporarily(case: &Case, directory: &Path) -> io::Result<Self> {
        let written = Self::at(&directory.join("case.onnx"), !case.inputs.is_empty());
        written.write(case)?;
        Ok(written)
    }

    /// Writes both files, and replaces those that are there.
    ///
    /// # Errors
    /// Returns the system's error. Its kind is `InvalidData` if data of the model cannot be read.
    pub(super) fn write(&self, case: &Case) -> io::Result<()> {
        if let Some(inputs) = &self.inputs {
            let mut bytes = Vec::new();
            npz::write(case.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)), &mut bytes)?;
            opscope_files::replace_whole(inputs, &bytes)?;
        }
        match case.graph() {
            Ok(graph) => {
                let file = ModelFile::of(&graph).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                file.write(&self.model).map_err(|error| match error {
                    WriteError::Io { source, .. } => source,
                    other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
                })
            }
            // A model that is not valid may be what is looked for.
            Err(_) => {
                use prost::Message;
                opscope_files::replace_whole(&self.model, &case.proto.encode_to_vec())
            }
        }
    }

    /// Moves the files to other places of the same file system. The model comes last: where it is, its inputs are.
    ///
    /// # Errors
    /// Returns an error if a place is taken and `overwrite` is not set, or a file cannot be moved.
    pub(super) fn move_to(&self, places: &Self, overwrite: bool) -> Result<(), ReduceError> {
        let data = |model: &Path| {
            let mut name = model.as_os_str().to_owned();
            name.push(".data");
            PathBuf::from(name)
        };
        let beside = Some(data(&self.model)).filter(|path| path.exists()).map(|from| (from, data(&places.model)));
        let inputs = self.inputs.clone().zip(places.inputs.clone());
        if overwrite && places.inputs.is_none() {
            // Inputs of an earlier model would be taken for those of this one.
            let _ = fs::remove_file(inputs_beside(&places.model));
        }
        for (from, to) in inputs.into_iter().chain(beside).chain([(self.model.clone(), places.model.clone())]) {
            let failed = |source| ReduceError::Write { path: to.clone(), source };
            if overwrite {
                fs::rename(&from, &to).map_err(failed)?;
            } else {
                let file = tempfile::TempPath::try_from_path(&from).map_err(failed)?;
                file.persist_noclobber(&to).map_err(|error| failed(error.error))?;
            }
        }
        Ok(())
    }

    /// Returns the size of both files in bytes.
    pub fn size(&self) -> u64 {
        let size = |path: &PathBuf| path.metadata().map_or(0, |file| file.len());
        size(&self.model) + self.inputs.as_ref().map_or(0, size)
    }
}

/// Returns the path of the inputs of a model: `small.inputs.npz` for `small.onnx`.
pub fn inputs_beside(model: &Path) -> PathBuf {
    model.with_extension("inputs.npz")
}
