use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use opscope_onnx::Graph;
use opscope_tensor::{DType, Element, Tensor, npy};
use opscope_text::file_text;

use crate::benchmark::job::{OutputFormat, OutputNames};
use crate::benchmark::report::FileInfo;
use crate::inputs::Batch;

/// Writes outputs into a directory.
#[derive(Debug)]
pub(in crate::benchmark) struct OutputWriter {
    /// The directory, which exists.
    pub directory: PathBuf,
    /// The format of the files.
    pub format: OutputFormat,
    /// The axis along which a batch is split into one file per input file.
    pub batch_axis: usize,
    /// The names of the files.
    pub names: FileNames,
}

/// The names of the files of outputs, without their extension.
#[derive(Debug)]
pub(in crate::benchmark) enum FileNames {
    /// `<output>` for a single run, `<output>/<input file>` for one of several.
    OfOutputs {
        /// The outputs' names, made safe and unique.
        outputs: Vec<String>,
        /// Whether there are several runs.
        several: bool,
        /// The number of the set of shapes.
        set: usize,
    },
    /// `<input file>_<output's number>`.
    OfInputFiles,
}

impl FileNames {
    /// Creates the names for the outputs of a graph.
    pub fn new(names: OutputNames, graph: &Graph, several: bool, set: usize) -> Self {
        match names {
            OutputNames::OfInputFiles => Self::OfInputFiles,
            OutputNames::OfOutputs => {
                let outputs = unique(graph.outputs.iter().map(|&id| graph.value(id).name.as_str()));
                Self::OfOutputs { outputs, several, set }
            }
        }
    }

    /// Returns the name for the output in a slot of a run. `source` is the file of the run's first input. `index` is
    /// the number of the run in its set of shapes. `cut` is whether the output is split into several files.
    fn of(&self, slot: usize, source: Option<&PathBuf>, index: usize, cut: bool) -> String {
        match self {
            Self::OfInputFiles => match (source, index) {
                (None, 0) => format!("pure_infer_data_{slot}"),
                (None, index) => format!("pure_infer_data_run{index}_{slot}"),
                (Some(source), _) => format!("{}_{slot}", stem(source, "pure_infer_data")),
            },
            Self::OfOutputs { outputs, several, .. } if !several && !cut => outputs[slot].clone(),
            Self::OfOutputs { outputs, set, .. } => {
                let run = source.map_or_else(|| (set + index).to_string(), |source| stem(source, "run"));
                format!("{}/{run}", outputs[slot])
            }
        }
    }
}

/// Returns names for files that differ from each other even if a file system ignores case.
fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let unique = |name: &str| {
        let text = file_text(name);
        let text = if text.is_empty() { "output".to_owned() } else { text };
        let numbered = (2..).map(|number| format!("{text}-{number}"));
        let mut free = std::iter::once(text.clone()).chain(numbered);
        free.find(|text| taken.insert(text.to_lowercase())).unwrap_or(text)
    };
    names.map(unique).collect()
}

impl OutputWriter {
    /// Writes the outputs of one run, except those without a byte form. `index` is the number of the run in its set of
    /// shapes, for runs without input files.
    pub fn write(&self, index: usize, batch: &Batch, outputs: &[Option<Tensor>]) -> io::Result<FileInfo> {
        let samples = batch.sources.first().map_or(&[][..], Vec::as_slice);
        let infiles = batch.sources.iter().flatten().cloned().collect();
        let mut written = FileInfo { infiles, outfiles: Vec::new() };
        for (slot, output) in outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            let parts = match samples.len() {
                0 | 1 => None,
                count => split(output, self.batch_axis, count),
            };
            match parts {
                Some(parts) => {
                    for (part, source) in parts.iter().zip(samples) {
                        let name = self.names.of(slot, Some(source), index, true);
                        written.outfiles.push(self.write_one(&name, part)?);
                    }
                }
                None => {
                    let name = self.names.of(slot, samples.first(), index, false);
                    written.outfiles.push(self.write_one(&name, output)?);
                }
            }
        }
        Ok(written)
    }

    fn write_one(&self, name: &str, tensor: &Tensor) -> io::Result<PathBuf> {
        // bf16 and the 4-bit types have no npy form; their bytes are written as they are.
        let (extension, format) = match self.format {
            OutputFormat::Npy if tensor.dtype().npy_descr().is_none() => ("bin", OutputFormat::Bin),
            OutputFormat::Npy => ("npy", OutputFormat::Npy),
            OutputFormat::Bin => ("bin", OutputFormat::Bin),
            OutputFormat::Txt => ("txt", OutputFormat::Txt),
        };
        if let Some((directory, _)) = name.split_once('/') {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        let (path, file) = create_new(&self.directory, name, extension)?;
        let mut writer = BufWriter::new(file);
        match format {
            OutputFormat::Npy => npy::write(&tensor.view(), &mut writer).map_err(io::Error::other)?,
            OutputFormat::Bin => writer.write_all(tensor.bytes())?,
            OutputFormat::Txt => text(tensor, &mut writer)?,
        }
        writer.flush()?;
        Ok(path.strip_prefix(&self.directory).map(PathBuf::from).unwrap_or(path))
    }
}

/// Creates a file. If the name is taken, because another directory has an input file of the same name, the file gets a
/// number.
fn create_new(directory: &Path, name: &str, extension: &str) -> io::Result<(PathBuf, File)> {
    for copy in 1.. {
        let suffix = if copy == 1 { String::new() } else { format!(".{copy}") };
        let path = directory.join(format!("{name}{suffix}.{extension}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => return created.map(|file| (path, file)),
        }
    }
    unreachable!("there is a free name")
}

/// Returns an input file's name up to its first dot, as in the tools that this command replaces. Returns `otherwise` if
/// nothing precedes the dot.
fn stem(source: &Path, otherwise: &str) -> String {
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned());
    let stem = name.as_deref().and_then(|name| name.split('.').next()).filter(|stem| !stem.is_empty());
    stem.unwrap_or(otherwise).to_owned()
}

/// Splits a tensor into equal parts along an axis. Returns `None` if the axis does not exist or cannot be divided, or
/// if the elements are smaller than a byte.
fn split(tensor: &Tensor, axis: usize, parts: usize) -> Option<Vec<Tensor>> {
    let shape = tensor.shape();
    let along = *shape.get(axis)?;
    let size = tensor.dtype().size()?;
    if !along.is_multiple_of(parts) {
        return None;
    }
    let outer: usize = shape[..axis].iter().product();
    let row = shape[axis + 1..].iter().product::<usize>() * size;
    let mut part_shape = shape.to_vec();
    part_shape[axis] = along / parts;
    let chunk = row * part_shape[axis];
    let part = |part: usize| {
        let rows = (0..outer).flat_map(|outer| {
            let start = outer * row * along + part * chunk;
            tensor.bytes()[start..start + chunk].iter().copied()
        });
        Tensor::new(tensor.dtype(), part_shape.clone(), rows.collect::<Vec<u8>>()).ok()
    };
    (0..parts).map(part).collect()
}

fn text(tensor: &Tensor, writer: &mut impl Write) -> io::Result<()> {
    let row = tensor.shape().last().copied().unwrap_or(1).max(1);
    let mut line = String::new();
    for (index, element) in elements(tensor).enumerate() {
        line.push_str(&element);
        line.push(if (index + 1) % row == 0 { '\n' } else { ' ' });
        if line.ends_with('\n') {
            writer.write_all(line.as_bytes())?;
            line.clear();
        }
    }
    Ok(())
}

fn elements(tensor: &Tensor) -> impl Iterator<Item = String> + '_ {
    let dtype: DType = tensor.dtype();
    (0..tensor.elements()).map(move |index| {
        Element::at(dtype, tensor.bytes(), index).map_or_else(|| "?".to_owned(), |element| element.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_outputs_become_names_of_files_that_differ() {
        let names = unique(["y", "a/b:0", "a_b_0", "Y", "", "../x"].into_iter());
        assert_eq!(names, ["y", "a_b_0", "a_b_0-2", "Y-2", "output", "_._x"]);
    }

    #[test]
    fn several_runs_have_a_directory_for_each_output() {
        let outputs = vec!["y".to_owned()];
        let cat = PathBuf::from("in/cat.v2.npy");
        let of = |several, source, index, cut| {
            FileNames::OfOutputs { outputs: outputs.clone(), several, set: 2 }.of(0, source, index, cut)
        };
        assert_eq!(of(false, Some(&cat), 0, false), "y");
        assert_eq!([of(true, Some(&cat), 0, false), of(false, Some(&cat), 0, true)], ["y/cat", "y/cat"]);
        assert_eq!(of(true, None, 1, false), "y/3");
        let theirs =
            [FileNames::OfInputFiles.of(1, Some(&cat), 4, true), FileNames::OfInputFiles.of(1, None, 4, false)];
        assert_eq!(theirs, ["cat_1", "pure_infer_data_run4_1"]);
    }
}
