use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use opscope_files::open_regular;
use opscope_model::LoopIteration;
use opscope_tensor::DType;
use prost::Message;

use super::dtype;
use super::proto::{DumpData, OwnTensor, Shape};
use crate::{DumpError, Io};

/// The table in a directory with the full names of files whose names were too long: `digits,name`.
pub const MAPPING: &str = "mapping.csv";

// Files of earlier versions have the data of `OwnField` in attributes.

/// The attribute that names the value of a tensor, before `input.0.float32`.
const VALUE_ATTRIBUTE: &str = "opscope.value.";

/// The attribute with the iterations of loops in which the operator was executed, as JSON.
const ITERATIONS_ATTRIBUTE: &str = "opscope.iterations";

/// The attribute with the operator's type.
const TYPE_ATTRIBUTE: &str = "op_type";

/// The largest header that is read. No operator has enough tensors for more.
const LARGEST_HEADER: u64 = 64 << 20;

/// One of AscendCL's dump files: an operator's tensors in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct AscendFile {
    /// Its path.
    pub path: PathBuf,
    /// The version that its header states.
    pub version: String,
    /// When it was created, in microseconds since 1970.
    pub time: u64,
    /// The operator's name.
    pub op_name: String,
    /// The operator's type, if the file has it.
    pub op_type: Option<String>,
    /// The iterations of loops in which the operator was executed, outermost first, if the file has them.
    pub iterations: Vec<LoopIteration>,
    /// Its tensors: inputs, then outputs.
    pub tensors: Vec<AscendTensor>,
}

/// A tensor in a dump file.
#[derive(Debug, Clone, PartialEq)]
pub struct AscendTensor {
    /// Whether it is an input or an output of the operator.
    pub io: Io,
    /// Its slot.
    pub slot: usize,
    /// The value's name in the model, if the file has it.
    pub value: Option<String>,
    /// The number of its type.
    pub data_type: i32,
    /// Its type, if the number is known.
    pub dtype: Option<DType>,
    /// The number of its format; 2 is `ND`.
    pub format: i32,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The offset of its data in the file.
    pub offset: u64,
    /// The size of its data in bytes.
    pub bytes: u64,
}

/// What is wrong with a file that should be one of AscendCL's dump files.
#[derive(Debug, thiserror::Error)]
enum Damage {
    #[error("it is too short for a dump file")]
    Short,
    #[error("its header is said to have {said} bytes, the file has {found}")]
    Length { said: u64, found: u64 },
    #[error("its header is damaged: {0}")]
    Header(#[from] prost::DecodeError),
    #[error("its iterations are damaged: {0}")]
    Iterations(#[from] serde_json::Error),
    #[error("{io} {slot} is a slot that no operator has")]
    Slot { io: Io, slot: u64 },
    #[error("{io} {index} is said to have {bytes} bytes")]
    Bytes { io: Io, index: usize, bytes: u64 },
    #[error("{io} {index} is said to have the shape {dims:?}")]
    Shape { io: Io, index: usize, dims: Vec<u64> },
    #[error("its tensors are said to end at {said:?}, the file ends at {found}")]
    End { said: Option<u64>, found: u64 },
}

impl AscendFile {
    /// Reads the contents of a file except for the data. All sizes are checked against that of the file.
    ///
    /// # Errors
    /// Returns an error if it is not such a file, or is damaged.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let wrong = |damage: Damage| DumpError::file(path, damage);
        let unopened = || DumpError::io(path, "it could not be opened");
        let unread = || DumpError::io(path, "it could not be read");
        let mut file = open_regular(path).map_err(unopened())?;
        let length = file.metadata().map_err(unopened())?.len();
        let mut start = Vec::new();
        file.by_ref().take(8).read_to_end(&mut start).map_err(unread())?;
        let header = <[u8; 8]>::try_from(start.as_slice()).map(u64::from_le_bytes).map_err(|_| wrong(Damage::Short))?;
        if header > length - 8 || header > LARGEST_HEADER {
            return Err(wrong(Damage::Length { said: header, found: length - 8 }));
        }
        let mut bytes = vec![0; header as usize];
        file.seek(SeekFrom::Start(8)).map_err(unread())?;
        file.read_exact(&mut bytes).map_err(unread())?;
        Self::parse(path, &bytes, 8 + header, length).map_err(wrong)
    }

    /// Reads the bytes of a whole file, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, DumpError> {
        let wrong = |damage: Damage| DumpError::file(path, damage);
        let (start, rest) = bytes.split_first_chunk().ok_or_else(|| wrong(Damage::Short))?;
        let length = u64::from_le_bytes(*start);
        let header = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let header = header
            .filter(|_| length <= LARGEST_HEADER)
            .ok_or_else(|| wrong(Damage::Length { said: length, found: rest.len() as u64 }))?;
        Self::parse(path, header, 8 + length, bytes.len() as u64).map_err(wrong)
    }

    /// Parses the message of a header. `offset` is the beginning of the data, and `length` is the size of the file.
    fn parse(path: &Path, header: &[u8], offset: u64, length: u64) -> Result<Self, Damage> {
        let data = DumpData::decode(header)?;
        let own = OwnData::of(&data)?;
        let mut file = Self {
            path: path.to_path_buf(),
            version: data.version.clone(),
            time: data.dump_time,
            op_name: data.op_name.clone(),
            op_type: own.op_type,
            iterations: own.iterations,
            tensors: Vec::new(),
        };
        let own = own.tensors;
        let mut at = offset;
        for (index, input) in data.input.iter().enumerate() {
            let shape = input.original_shape.as_ref().or(input.shape.as_ref());
            file.add((Io::Input, index), (input.data_type, input.format), shape, &mut at, input.size, &own)?;
        }
        for (index, output) in data.output.iter().enumerate() {
            let shape = output.original_shape.as_ref().or(output.shape.as_ref());
            file.add((Io::Output, index), (output.data_type, output.format), shape, &mut at, output.size, &own)?;
        }
        let mut rest = data.buffer.iter().map(|buffer| buffer.size).chain(data.space.iter().map(|space| space.size));
        let end = rest.try_fold(at, u64::checked_add);
        match end {
            Some(end) if end == length => Ok(file),
            said => Err(Damage::End { said, found: length }),
        }
    }

    fn add(
        &mut self,
        (io, index): (Io, usize),
        (data_type, format): (i32, i32),
        shape: Option<&Shape>,
        at: &mut u64,
        bytes: u64,
        own: &[OwnValue],
    ) -> Result<(), Damage> {
        let offset = *at;
        *at = at.checked_add(bytes).ok_or(Damage::Bytes { io, index, bytes })?;
        let dims = shape.map_or(&[][..], |shape| &shape.dim);
        let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.ok_or_else(|| Damage::Shape { io, index, dims: dims.to_vec() })?;
        let own = own.iter().filter(|own| own.io == io).nth(index);
        self.tensors.push(AscendTensor {
            io,
            slot: own.map_or(index, |own| own.slot),
            value: own.map(|own| own.value.clone()),
            data_type,
            dtype: own.and_then(|own| own.dtype).or_else(|| dtype(data_type)),
            format,
            shape,
            offset,
            bytes,
        });
        Ok(())
    }
}

/// The data in our own files for which the format has no field.
#[derive(Default)]
struct OwnData {
    op_type: Option<String>,
    iterations: Vec<LoopIteration>,
    /// The tensors of the inputs and then of the outputs, each in the order of the header.
    tensors: Vec<OwnValue>,
}

/// The same for a tensor.
struct OwnValue {
    io: Io,
    slot: usize,
    dtype: Option<DType>,
    value: String,
}

impl OwnData {
    fn of(data: &DumpData) -> Result<Self, Damage> {
        let Some(own) = &data.own else { return Self::of_attributes(data) };
        let side = |io, tensors: &[OwnTensor]| tensors.iter().map(move |tensor| OwnValue::new(io, tensor)).collect();
        let [inputs, outputs]: [Result<Vec<_>, _>; 2] = [side(Io::Input, &own.input), side(Io::Output, &own.output)];
        let iterations = own.iterations.iter();
        Ok(Self {
            op_type: Some(own.op_type.clone()),
            iterations: iterations
                .map(|one| LoopIteration { operator: one.operator.clone(), index: one.index })
                .collect(),
            tensors: inputs?.into_iter().chain(outputs?).collect(),
        })
    }

    /// Reads the data that files of earlier versions have in attributes.
    fn of_attributes(data: &DumpData) -> Result<Self, Damage> {
        let attribute = |name: &str| data.attr.iter().find(|attr| attr.name == name).map(|attr| attr.value.clone());
        let iterations = attribute(ITERATIONS_ATTRIBUTE).map(|text| serde_json::from_str(&text)).transpose();
        Ok(Self {
            op_type: attribute(TYPE_ATTRIBUTE),
            iterations: iterations?.unwrap_or_default(),
            tensors: data.attr.iter().filter_map(|attr| OwnValue::of_attribute(&attr.name, &attr.value)).collect(),
        })
    }
}

impl OwnValue {
    fn new(io: Io, tensor: &OwnTensor) -> Result<Self, Damage> {
        let slot = usize::try_from(tensor.slot);
        Ok(Self {
            io,
            slot: slot.map_err(|_| Damage::Slot { io, slot: tensor.slot })?,
            dtype: tensor.dtype.parse().ok(),
            value: tensor.value.clone(),
        })
    }

    fn of_attribute(name: &str, value: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(VALUE_ATTRIBUTE)?.split('.');
        let io = match parts.next()? {
            "input" => Io::Input,
            "output" => Io::Output,
            _ => return None,
        };
        let (slot, dtype) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok());
        Some(Self { io, slot, dtype, value: value.into() })
    }
}
