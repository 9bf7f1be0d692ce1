use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use opscope_tensor::{DType, Element, Tensor, npy};

use crate::benchmark::job::OutputFormat;
use crate::benchmark::report::FileInfo;
use crate::inputs::Batch;

/// Writes outputs into a directory: `<name of the first input file>_<output>.<format>`.
#[derive(Debug)]
pub(in crate::benchmark) struct OutputWriter {
    directory: PathBuf,
    format: OutputFormat,
    /// The axis on which a batch is cut into one file per input file.
    batch_axis: usize,
}

impl OutputWriter {
    /// A writer into a directory that exists.
    pub fn new(directory: PathBuf, format: OutputFormat, batch_axis: usize) -> Self {
        Self { directory, format, batch_axis }
    }

    /// Writes the outputs of one run, except those that have no form as bytes. `index` distinguishes runs whose input files
    /// have the same name.
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
                        written.outfiles.push(self.write_one(&stem(Some(source)), slot, part)?);
                    }
                }
                None => {
                    let name = match (samples.first(), index) {
                        (None, 0) => stem(None),
                        (None, index) => format!("{}_run{index}", stem(None)),
                        (Some(source), _) => stem(Some(source)),
                    };
                    written.outfiles.push(self.write_one(&name, slot, output)?);
                }
            }
        }
        Ok(written)
    }

    fn write_one(&self, name: &str, slot: usize, tensor: &Tensor) -> io::Result<PathBuf> {
        // bf16 and the 4-bit types have no npy form; their bytes are written as they are.
        let (extension, format) = match self.format {
            OutputFormat::Npy if tensor.dtype().npy_descr().is_none() => ("bin", OutputFormat::Bin),
            OutputFormat::Npy => ("npy", OutputFormat::Npy),
            OutputFormat::Bin => ("bin", OutputFormat::Bin),
            OutputFormat::Txt => ("txt", OutputFormat::Txt),
        };
        let (path, file) = create_new(&self.directory, &format!("{name}_{slot}"), extension)?;
        let mut writer = BufWriter::new(file);
        match format {
            OutputFormat::Npy => npy::write(&tensor.view(), &mut writer).map_err(io::Error::other)?,
            OutputFormat::Bin => writer.write_all(tensor.bytes())?,
            OutputFormat::Txt => text(tensor, &mut writer)?,
        }
        writer.flush()?;
        Ok(path.file_name().map(PathBuf::from).unwrap_or(path))
    }
}

/// Creates a file. If its name is taken (by an input file of the same name in another directory), it gets a number.
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

/// An input file's name up to its first dot, as in the tools that this command replaces.
fn stem(source: Option<&PathBuf>) -> String {
    let name = source.and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let stem = name.as_deref().and_then(|name| name.split('.').next()).filter(|stem| !stem.is_empty());
    stem.unwrap_or("pure_infer_data").to_owned()
}

/// Cuts a tensor into equal parts along an axis. Returns `None` if it cannot be cut so.
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
