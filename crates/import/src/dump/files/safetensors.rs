//! safetensors: the length of a header, the header in JSON, and the elements.

use std::fmt;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use opscope_files::open_regular;
use opscope_tensor::DType;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Named;
use crate::dump::found::{Data, Elements, Span, Unreadable};

/// The most bytes of a header, as the format has it.
const MOST_HEADER: u64 = 100_000_000;

/// The entry of a header that describes no tensor.
const METADATA: &str = "__metadata__";

/// Why a file is no safetensors file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SafetensorsError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header cannot be read.
    #[error("its header is damaged: {0}")]
    Header(String),
}

/// A tensor in the header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// The header, in the order of the file.
struct Header(Vec<(String, Entry)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tensor for each name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    match name == METADATA {
                        true => drop(map.next_value::<IgnoredAny>()?),
                        false => entries.push((name, map.next_value()?)),
                    }
                }
                Ok(Header(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// Returns whether a file of this length begins as a safetensors file does.
pub(crate) fn begins(start: &[u8], length: u64) -> bool {
    let Some((header, rest)) = start.split_first_chunk::<8>() else { return false };
    let header = u64::from_le_bytes(*header);
    (2..=MOST_HEADER).contains(&header) && header + 8 <= length && rest.first() == Some(&b'{')
}

/// Returns the tensors of a file, in the order of its data.
///
/// # Errors
/// Returns an error if the file cannot be read or its header is damaged. A tensor that is damaged says so itself.
pub(crate) fn read(path: &Path) -> Result<Vec<Named>, SafetensorsError> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut size = [0; 8];
    file.read_exact_at(&mut size, 0)?;
    let size = u64::from_le_bytes(size);
    if size > MOST_HEADER || size.saturating_add(8) > length {
        let reason = format!("it should have {size} bytes, and the file has {length}");
        return Err(SafetensorsError::Header(reason));
    }
    let mut header = vec![0; size as usize];
    file.read_exact_at(&mut header, 8)?;
    let Header(mut entries) =
        serde_json::from_slice(&header).map_err(|error| SafetensorsError::Header(error.to_string()))?;
    // The header of the usual writer is sorted by type and name. The data has the same order.
    entries.sort_by_key(|(_, entry)| entry.data_offsets.0);
    let path: Arc<Path> = Arc::from(path);
    let named = |(name, entry): (String, Entry)| Named { tensor: tensor(&entry, size + 8, length, &path), name };
    Ok(entries.into_iter().map(named).collect())
}

fn tensor(entry: &Entry, begin: u64, length: u64, path: &Arc<Path>) -> Result<Elements, Unreadable> {
    let dtype = match entry.dtype.as_str() {
        "BOOL" => DType::Bool,
        "U8" => DType::U8,
        "I8" => DType::I8,
        "U16" => DType::U16,
        "I16" => DType::I16,
        "U32" => DType::U32,
        "I32" => DType::I32,
        "U64" => DType::U64,
        "I64" => DType::I64,
        "F16" => DType::F16,
        "BF16" => DType::Bf16,
        "F32" => DType::F32,
        "F64" => DType::F64,
        "C64" => DType::Complex64,
        "F8_E4M3" => DType::F8E4M3Fn,
        "F8_E4M3FNUZ" => DType::F8E4M3FnUz,
        "F8_E5M2" => DType::F8E5M2,
        "F8_E5M2FNUZ" => DType::F8E5M2FnUz,
        other => {
            return Err(Unreadable::from(format!(
                "opscope has no type for the elements of '{}'",
                other.escape_default()
            )));
        }
    };
    let (from, to) = entry.data_offsets;
    let count = entry.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
    let bytes = count.and_then(|count| dtype.bytes_of(count)).map(|bytes| bytes as u64);
    let Some(bytes) = bytes.filter(|&bytes| to.checked_sub(from) == Some(bytes)) else {
        return Err(Unreadable::from(format!(
            "the header gives it the bytes {from} to {to}, which do not fit {dtype} {:?}",
            entry.shape
        )));
    };
    if begin.checked_add(to).is_none_or(|end| end > length) {
        return Err(Unreadable::from(format!("the file ends at byte {length}, before its elements do")));
    }
    let span = Span { path: Arc::clone(path), offset: begin + from, bytes, strides: None };
    Ok((dtype, entry.shape.clone(), Data::Span(span)))
}
