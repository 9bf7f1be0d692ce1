use std::io::Read;
use std::path::{Path, PathBuf};

use opscope_files::open_regular;
use opscope_onnx::{Dim, Graph, Value};
use opscope_tensor::npy::{self, Header};
use opscope_tensor::npz::Npz;
use opscope_tensor::{DType, Tensor};

use super::given::{Assigned, GivenFiles, Source};
use super::shapes::join;
use super::{Batch, InputError, InputFileError, ShapeSpec, concrete_shapes};

/// Files for every input of a model, and how many of them make one run.
#[derive(Debug)]
pub struct InputFiles {
    /// The files of every input, in order.
    files: Vec<Vec<Source>>,
    /// How many files of each input make one run.
    per_run: usize,
    /// The shapes that files are joined to; `None` if each file is a run and has its own shape.
    shapes: Vec<Option<Vec<usize>>>,
    /// The given files and arrays that are for no input.
    unused: Vec<String>,
    warnings: Vec<String>,
}

impl InputFiles {
    /// Finds the files of every input: by the inputs' names, or in the order of the inputs, as `n` files or one
    /// directory for each. The files of one run are joined along the first axis until they have the model's shape,
    /// unless `join` is off.
    ///
    /// # Errors
    /// Returns an error if the number of files or the first file of an input does not fit the model.
    pub fn find(graph: &Graph, given: &GivenFiles, spec: &ShapeSpec, join: bool) -> Result<Self, InputError> {
        let Assigned { sources: files, unused, warnings } = given.assign(graph)?;
        let mut found = Self { shapes: vec![None; files.len()], per_run: 1, files, unused, warnings };
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

    /// Returns a text that says which file each input gets: `image <- cat.npy, mask <- mask.npy`.
    pub fn described(&self, graph: &Graph) -> String {
        let fed = |(slot, files): (usize, &Vec<Source>)| {
            let more = match files.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let first = files.first().map(Source::to_string).unwrap_or_default();
            format!("{} <- {first}{more}", graph.value(graph.inputs[slot]).name)
        };
        let mut text = self.files.iter().enumerate().map(fed).collect::<Vec<_>>().join(", ");
        if !self.unused.is_empty() {
            text.push_str(&format!("; not used: {}", self.unused.join(", ")));
        }
        text
    }

    /// Returns whether the assignment is evident: there is one input, and everything that was given is for it.
    pub fn is_evident(&self) -> bool {
        self.files.len() == 1 && self.unused.is_empty()
    }

    /// Returns a sentence for each assignment that may not be intended: a file that has the name of another input than
    /// the one that gets it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns how many runs the files make.
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
            let sources = &files[index * self.per_run..(index + 1) * self.per_run];
            let target = self.shapes[slot].as_deref();
            let mut bytes = Vec::new();
            let mut last = None;
            for source in sources {
                let piece = Piece::read(source, input, target)?;
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
            batch.sources.push(sources.iter().map(|source| source.path().to_owned()).collect());
        }
        Ok(batch)
    }
}

/// The data of one file, checked against the input.
struct Piece {
    path: PathBuf,
    tensor: Tensor,
}

/// A source that is open for reading, and the description of its data.
struct Opened<'a> {
    /// `None` for raw bytes.
    header: Option<Header>,
    data: Box<dyn Read + 'a>,
    dtype: DType,
    shape: Vec<usize>,
    bytes: usize,
}

impl<'a> Opened<'a> {
    fn of(header: Header, data: Box<dyn Read + 'a>) -> Self {
        let (dtype, shape, bytes) = (header.dtype, header.shape.clone(), header.data_bytes);
        Self { header: Some(header), data, dtype, shape, bytes }
    }

    /// Opens a file of raw bytes, which is the target or, along its first axis, a part of it.
    fn raw(path: &Path, input: &Value, target: Option<&[usize]>) -> Result<Self, InputError> {
        let name = || input.name.clone();
        let opened = open_regular(path).and_then(|file| Ok((file.metadata()?.len() as usize, file)));
        let (length, file) = opened.map_err(InputFileError::of(path))?;
        let dtype = input.dtype.ok_or(InputFileError::UnknownType).map_err(InputFileError::of(path))?;
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
        Ok(Self { header: None, data: Box::new(file), dtype, shape: part, bytes: length })
    }
}

impl Piece {
    fn read(source: &Source, input: &Value, target: Option<&[usize]>) -> Result<Self, InputError> {
        let path = source.path();
        let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
        match source {
            Source::Array { name, .. } => {
                let npz = Npz::open(path).map_err(InputFileError::of(path))?;
                let (header, data) = npz.array(name).map_err(InputFileError::of(path))?;
                Self::of(path, input, Opened::of(header, data))
            }
            Source::File(_) if is_npy => {
                let (header, file) = npy::open(path).map_err(InputFileError::of(path))?;
                Self::of(path, input, Opened::of(header, Box::new(file)))
            }
            Source::File(_) => Self::of(path, input, Opened::raw(path, input, target)?),
        }
    }

    /// Reads the data if it fits the input.
    fn of(path: &Path, input: &Value, opened: Opened<'_>) -> Result<Self, InputError> {
        let name = || input.name.clone();
        let Opened { header, data, dtype, shape, bytes: size } = opened;
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
        if size as u64 > opscope_sys::memory::available() {
            return Err(InputError::TooLarge { name: name(), shape });
        }
        let tensor = match header {
            Some(header) => npy::read_opened(header, data).map_err(InputFileError::of(path))?,
            None => {
                let mut bytes = Vec::with_capacity(size);
                data.take(size as u64).read_to_end(&mut bytes).map_err(InputFileError::of(path))?;
                Tensor::new(dtype, shape, bytes).map_err(InputFileError::of(path))?
            }
        };
        let tensor = tensor.reshaped(fitting).map_err(InputFileError::of(path))?;
        Ok(Self { path: path.to_owned(), tensor })
    }

    /// Returns how many files of this shape make a tensor of the target shape.
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

/// Returns the shape of a sample with a batch axis of 1 in front, or `None` if the sample does not lack that axis.
fn with_batch_axis(shape: &[usize], dims: &[Dim]) -> Option<Vec<usize>> {
    let lacks_one = shape.len() + 1 == dims.len() && fits(shape, &dims[1..]);
    lacks_one.then(|| std::iter::once(1).chain(shape.iter().copied()).collect())
}

/// Returns whether several files of one size make the other size. A size of 0 makes only a size of 0.
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
