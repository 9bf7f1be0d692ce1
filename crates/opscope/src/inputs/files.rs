use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use opscope_onnx::{Dim, Graph, Value};
use opscope_tensor::{Tensor, npy, open_regular};

use super::shapes::join;
use super::{Batch, InputError, ShapeSpec, concrete_shapes};
use crate::machine::available_memory;

/// Files for every input of a model, and how many of them make one run.
#[derive(Debug)]
pub struct InputFiles {
    /// For every input its files, in order.
    files: Vec<Vec<PathBuf>>,
    /// How many files of each input make one run.
    per_run: usize,
    /// The shapes to join files to; `None` if each file is a run and has its own shape.
    shapes: Vec<Option<Vec<usize>>>,
}

impl InputFiles {
    /// Finds the files of every input: `given` holds as many directories as the model has inputs, or `n` files for each
    /// input, in the order of the inputs. The files of one run are joined along the first axis until they have the
    /// model's shape, unless `join` is off.
    ///
    /// # Errors
    /// Returns an error if the number of files or the first file of an input does not fit the model.
    pub fn find(graph: &Graph, given: &[PathBuf], spec: &ShapeSpec, join: bool) -> Result<Self, InputError> {
        let files = assign(graph, given)?;
        let mut found = Self { shapes: vec![None; files.len()], per_run: 1, files };
        let shapes = match spec {
            ShapeSpec::Smallest => None,
            _ => Some(concrete_shapes(graph, spec)?),
        };
        let mut per_run = Vec::new();
        for slot in 0..found.files.len() {
            let input = graph.value(graph.inputs[slot]);
            let target = match &shapes {
                Some(shapes) => Some(shapes[slot].clone()),
                None => fixed(input),
            };
            let first = Piece::read(&found.files[slot][0], input, target.as_deref())?;
            let count = match &target {
                Some(target) if join => first.needed_for(target, input, found.files[slot].len())?,
                _ => 1,
            };
            per_run.push(count);
            found.shapes[slot] = target.filter(|_| join);
        }
        found.per_run = per_run[0];
        if let Some(other) = per_run.iter().position(|&count| count != found.per_run) {
            return Err(InputError::Uneven {
                first: graph.value(graph.inputs[0]).name.clone(),
                first_count: per_run[0],
                other: graph.value(graph.inputs[other]).name.clone(),
                other_count: per_run[other],
            });
        }
        Ok(found)
    }

    /// How many runs the files make.
    pub fn batches(&self) -> usize {
        self.files.first().map_or(0, |files| files.len() / self.per_run)
    }

    /// Reads the files of one run.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or does not fit.
    pub fn batch(&self, graph: &Graph, index: usize) -> Result<Batch, InputError> {
        let mut batch = Batch { tensors: Vec::new(), sources: Vec::new() };
        for (slot, files) in self.files.iter().enumerate() {
            let input = graph.value(graph.inputs[slot]);
            let sources = files[index * self.per_run..(index + 1) * self.per_run].to_vec();
            let target = self.shapes[slot].as_deref();
            let mut bytes = Vec::new();
            let mut last = None;
            for path in &sources {
                let piece = Piece::read(path, input, target)?;
                bytes.extend_from_slice(piece.tensor.bytes());
                last = Some(piece);
            }
            let piece = last.ok_or_else(|| InputError::EmptyDirectory(PathBuf::new()))?;
            let shape = target.map_or_else(|| piece.tensor.shape().to_vec(), <[usize]>::to_vec);
            let tensor = Tensor::new(piece.tensor.dtype(), shape.clone(), bytes);
            let tensor = tensor.map_err(|_| InputError::FileShape {
                path: piece.path.clone(),
                name: input.name.clone(),
                expected: format!("{shape:?} from {} files", sources.len()),
                found: piece.tensor.shape().to_vec(),
            })?;
            batch.tensors.push(tensor);
            batch.sources.push(sources);
        }
        Ok(batch)
    }
}

/// The data of one file, checked against the input.
struct Piece {
    path: PathBuf,
    tensor: Tensor,
}

impl Piece {
    fn read(path: &Path, input: &Value, target: Option<&[usize]>) -> Result<Self, InputError> {
        let unreadable = |reason: String| InputError::Read { path: path.to_owned(), reason };
        let name = || input.name.clone();
        let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
        let (header, file, dtype, shape, size) = if is_npy {
            let (header, file) = npy::open(path).map_err(|error| unreadable(error.to_string()))?;
            let (dtype, shape, size) = (header.dtype, header.shape.clone(), header.data_bytes);
            (Some(header), file, dtype, shape, size)
        } else {
            let opened = open_regular(path).and_then(|file| Ok((file.metadata()?.len() as usize, file)));
            let (length, file) = opened.map_err(|error| unreadable(error.to_string()))?;
            let dtype = input.dtype.ok_or_else(|| unreadable("the model does not say the input's type".to_owned()))?;
            let shape = target.ok_or_else(|| InputError::OpenShape {
                path: path.to_owned(),
                name: name(),
                shape: input.shape.as_deref().map(join).unwrap_or_else(|| "...".to_owned()),
            })?;
            let expected = dtype.bytes_of(shape.iter().product()).unwrap_or(0);
            let parts = expected.checked_div(length).filter(|parts| parts * length == expected);
            let batch = shape.first().copied().unwrap_or(1);
            let Some(parts) = parts.filter(|&parts| parts != 0 && batch.is_multiple_of(parts)) else {
                return Err(InputError::FileSize {
                    path: path.to_owned(),
                    name: name(),
                    shape: shape.to_vec(),
                    expected,
                    found: length,
                });
            };
            let mut part = shape.to_vec();
            if let Some(batch) = part.first_mut() {
                *batch /= parts;
            }
            (None, file, dtype, part, length)
        };
        if let Some(expected) = input.dtype.filter(|&expected| expected != dtype) {
            return Err(InputError::Type { path: path.to_owned(), name: name(), expected, found: dtype });
        }
        let dims = input.shape.as_deref();
        let fitting = dims.and_then(|dims| with_batch_axis(&shape, dims)).unwrap_or_else(|| shape.clone());
        if dims.is_some_and(|dims| !fits(&fitting, dims)) {
            return Err(InputError::FileShape {
                path: path.to_owned(),
                name: name(),
                expected: dims.map(join).unwrap_or_default(),
                found: fitting,
            });
        }
        // The data is read only if it fits.
        if size as u64 > available_memory() {
            return Err(InputError::TooLarge { name: name(), shape });
        }
        let tensor = match header {
            Some(header) => npy::read_opened(header, file).map_err(|error| unreadable(error.to_string()))?,
            None => {
                let mut bytes = Vec::with_capacity(size);
                file.take(size as u64).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
                Tensor::new(dtype, shape, bytes).map_err(|error| unreadable(error.to_string()))?
            }
        };
        let tensor = tensor.reshaped(fitting).map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { path: path.to_owned(), tensor })
    }

    /// How many files of this shape make a tensor of the target shape.
    fn needed_for(&self, target: &[usize], input: &Value, files: usize) -> Result<usize, InputError> {
        let found = self.tensor.shape();
        let same_rest = found.len() == target.len() && found.get(1..) == target.get(1..);
        let (batch, per_file) = (target.first().copied().unwrap_or(1), found.first().copied().unwrap_or(1));
        if !same_rest || !is_part(per_file, batch) {
            return Err(InputError::FileShape {
                path: self.path.clone(),
                name: input.name.clone(),
                expected: target.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
                found: found.to_vec(),
            });
        }
        let per_batch = batch.checked_div(per_file).unwrap_or(1);
        if !files.is_multiple_of(per_batch) {
            return Err(InputError::Batch { name: input.name.clone(), batch, per_file, per_batch, files });
        }
        Ok(per_batch)
    }
}

/// Adds a batch axis of 1 to the shape of a sample that has none.
fn with_batch_axis(shape: &[usize], dims: &[Dim]) -> Option<Vec<usize>> {
    let lacks_one = shape.len() + 1 == dims.len() && fits(shape, &dims[1..]);
    lacks_one.then(|| std::iter::once(1).chain(shape.iter().copied()).collect())
}

/// Returns whether several files of one size make the other size. Nothing is made of files without elements but such a file.
fn is_part(found: usize, whole: usize) -> bool {
    found == whole || (found != 0 && whole != 0 && whole.is_multiple_of(found))
}

/// Returns whether a file may be the input or, along its first axis, a part of it.
fn fits(shape: &[usize], dims: &[Dim]) -> bool {
    let open = Dim::any_open(dims);
    shape.len() == dims.len()
        && shape.iter().zip(dims).enumerate().all(|(axis, (&found, dim))| match dim {
            Dim::Fixed(expected) if axis == 0 => is_part(found, *expected),
            Dim::Fixed(expected) => *expected == found || open,
            Dim::Symbol(_) => true,
        })
}

fn fixed(input: &Value) -> Option<Vec<usize>> {
    let dims = input.shape.as_ref()?.iter();
    dims.map(|dim| match dim {
        Dim::Fixed(number) => Some(*number),
        Dim::Symbol(_) => None,
    })
    .collect()
}

fn assign(graph: &Graph, given: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, InputError> {
    let inputs = graph.inputs.len();
    let directories = given.iter().filter(|path| path.is_dir()).count();
    if directories != 0 && directories != given.len() {
        return Err(InputError::Mixed);
    }
    let what = if directories > 0 { "directories" } else { "files" };
    let fits = if directories > 0 { given.len() == inputs } else { inputs > 0 && given.len().is_multiple_of(inputs) };
    if !fits || given.is_empty() {
        let names = graph.inputs.iter().map(|&input| graph.value(input).name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(InputError::Count { inputs, names, given: given.len(), what });
    }
    let files: Vec<Vec<PathBuf>> = if directories > 0 {
        given.iter().map(|directory| list(directory)).collect::<Result<_, _>>()?
    } else {
        given.chunks(given.len() / inputs).map(<[PathBuf]>::to_vec).collect()
    };
    if let Some(other) = files.iter().position(|some| some.len() != files[0].len()) {
        return Err(InputError::Uneven {
            first: graph.value(graph.inputs[0]).name.clone(),
            first_count: files[0].len(),
            other: graph.value(graph.inputs[other]).name.clone(),
            other_count: files[other].len(),
        });
    }
    Ok(files)
}

/// The `.npy` and `.bin` files of a directory, `image2` before `image10`.
fn list(directory: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |error: std::io::Error| InputError::Read { path: directory.to_owned(), reason: error.to_string() };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_data =
            path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("npy") || ext.eq_ignore_ascii_case("bin"));
        if is_data && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(InputError::EmptyDirectory(directory.to_owned()));
    }
    files.sort_by_cached_key(|path| natural(&path.file_name().unwrap_or_default().to_string_lossy()));
    Ok(files)
}

/// A key by which numbers in names sort by their value.
fn natural(name: &str) -> Vec<(String, u128)> {
    let mut parts = vec![(String::new(), 0u128)];
    let mut in_number = false;
    for c in name.chars() {
        let digit = c.to_digit(10);
        if digit.is_none() && in_number {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        let last = parts.last_mut().expect("there is always a part");
        match digit {
            Some(digit) => last.1 = last.1.saturating_mul(10).saturating_add(u128::from(digit)),
            None => last.0.push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_file_names_sort_by_value() {
        let mut names = vec!["image10.npy", "image2.npy", "a.npy", "image1.npy"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a.npy", "image1.npy", "image2.npy", "image10.npy"]);
    }
}
