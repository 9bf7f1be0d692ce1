use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use opscope_model::LoopIteration;
use opscope_tensor::{DType, open_regular};
use prost::Message;

use super::dtype;
use super::proto::{DumpData, Shape};
use crate::{DumpError, Io};

/// The table of a directory that gives the names of files whose own was too long: `digits,name`.
pub const MAPPING: &str = "mapping.csv";

/// The attribute that names the value of a tensor, before `input.0.float32`. Only our own files have it.
pub(super) const VALUE_ATTRIBUTE: &str = "opscope.value.";

/// The attribute with the iterations of loops in which the operator was executed, as JSON. Only our own files have it.
pub(super) const ITERATIONS_ATTRIBUTE: &str = "opscope.iterations";

/// The largest header that is read: no operator has tensors enough for more.
const LARGEST_HEADER: u64 = 64 << 20;

/// One of AscendCL's dump files: an operator's tensors in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct AscendFile {
    /// Where it is.
    pub path: PathBuf,
    /// The version that its header states.
    pub version: String,
    /// When it was made, in microseconds since 1970.
    pub time: u64,
    /// The operator's name.
    pub op_name: String,
    /// The operator's type, where the file says so.
    pub op_type: Option<String>,
    /// The iterations of loops in which the operator was executed, outermost first, where the file says so.
    pub iterations: Vec<LoopIteration>,
    /// Its tensors: inputs, then outputs.
    pub tensors: Vec<AscendTensor>,
}

/// A tensor in a dump file.
#[derive(Debug, Clone, PartialEq)]
pub struct AscendTensor {
    /// Whether the operator takes or gives it.
    pub io: Io,
    /// Its slot.
    pub slot: usize,
    /// The value's name in the model, where the file says so.
    pub value: Option<String>,
    /// The number of its type.
    pub data_type: i32,
    /// Its type, where it is known.
    pub dtype: Option<DType>,
    /// The number of its format; 2 is `ND`.
    pub format: i32,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where its data begins in the file.
    pub offset: u64,
    /// The bytes of its data.
    pub bytes: u64,
}

impl AscendFile {
    /// Reads what a file holds, without the data. All sizes were checked against the file's when this returns.
    ///
    /// # Errors
    /// Returns an error if it is not such a file, or is damaged.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::File { path: path.to_path_buf(), reason };
        let mut file = open_regular(path).map_err(|error| wrong(format!("it could not be opened: {error}")))?;
        let length = file.metadata().map_err(|error| wrong(format!("it could not be opened: {error}")))?.len();
        let mut start = Vec::new();
        file.by_ref()
            .take(8)
            .read_to_end(&mut start)
            .map_err(|error| wrong(format!("it could not be read: {error}")))?;
        let header = <[u8; 8]>::try_from(start.as_slice())
            .map(u64::from_le_bytes)
            .map_err(|_| wrong("it is too short for a dump file".into()))?;
        if header > length - 8 || header > LARGEST_HEADER {
            return Err(wrong(format!("its header is said to have {header} bytes, the file has {}", length - 8)));
        }
        let mut bytes = vec![0; header as usize];
        file.seek(SeekFrom::Start(8)).map_err(|error| wrong(format!("it could not be read: {error}")))?;
        file.read_exact(&mut bytes).map_err(|error| wrong(format!("it could not be read: {error}")))?;
        Self::parse(path, &bytes, 8 + header, length).map_err(wrong)
    }

    /// Reads the bytes of a whole file, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// The same as [`open`](Self::open).
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::File { path: path.to_path_buf(), reason };
        let (start, rest) = bytes.split_first_chunk().ok_or_else(|| wrong("it is too short for a dump file".into()))?;
        let length = u64::from_le_bytes(*start);
        let header = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let header = header
            .filter(|_| length <= LARGEST_HEADER)
            .ok_or_else(|| wrong(format!("its header is said to have {length} bytes, the file has {}", rest.len())))?;
        Self::parse(path, header, 8 + length, bytes.len() as u64).map_err(wrong)
    }

    /// Reads a header's message; `offset` is where the data begins, `length` where the file ends.
    fn parse(path: &Path, header: &[u8], offset: u64, length: u64) -> Result<Self, String> {
        let data = DumpData::decode(header).map_err(|error| format!("its header is damaged: {error}"))?;
        let attribute = |name: &str| data.attr.iter().find(|attr| attr.name == name).map(|attr| attr.value.clone());
        let own: Vec<Own> = data.attr.iter().filter_map(|attr| Own::parse(&attr.name, &attr.value)).collect();
        let mut file = Self {
            path: path.to_path_buf(),
            version: data.version.clone(),
            time: data.dump_time,
            op_name: data.op_name.clone(),
            op_type: attribute("op_type"),
            iterations: match attribute(ITERATIONS_ATTRIBUTE) {
                Some(text) => {
                    serde_json::from_str(&text).map_err(|error| format!("its iterations are damaged: {error}"))?
                }
                None => Vec::new(),
            },
            tensors: Vec::new(),
        };
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
            _ => Err(format!("its tensors are said to end at {end:?}, the file ends at {length}")),
        }
    }

    fn add(
        &mut self,
        (io, index): (Io, usize),
        (data_type, format): (i32, i32),
        shape: Option<&Shape>,
        at: &mut u64,
        bytes: u64,
        own: &[Own],
    ) -> Result<(), String> {
        let offset = *at;
        *at = at.checked_add(bytes).ok_or_else(|| format!("{io} {index} is said to have {bytes} bytes"))?;
        let dims = shape.map_or(&[][..], |shape| &shape.dim);
        let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.ok_or_else(|| format!("{io} {index} is said to have the shape {dims:?}"))?;
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

/// What our own files say of a tensor beside what the format has a field for.
struct Own {
    io: Io,
    slot: usize,
    dtype: Option<DType>,
    value: String,
}

impl Own {
    fn parse(name: &str, value: &str) -> Option<Self> {
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
