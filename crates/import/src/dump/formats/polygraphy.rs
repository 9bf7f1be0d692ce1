//! What polygraphy's `save_json` writes: `RunResults`, or a list of sets of inputs. Each array is an `.npy` file in
//! base64.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opscope_dump::Io;
use opscope_files::open_regular;
use opscope_tensor::npy::Header;

use crate::ImportError;
use crate::dump::data::base64_array;
use crate::dump::files::json::{Shortened, Step, data, texts};
use crate::dump::found::{Content, Data, Found, Place, Rank};

/// The most bytes of JSON beside the arrays.
const MOST_TEXT: u64 = 256 << 20;

/// The magic number of an `.npy` file in base64.
const NPY: &[u8] = b"k05VTVBZ";

/// Returns whether a file begins as polygraphy's do.
pub(super) fn begins(start: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(start, text).is_some();
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[')) && has(b"\"array\"") && has(NPY)
}

/// Returns what a file has. Runners after the first are named in front of their outputs.
pub(super) fn read(path: &Path) -> Result<Rank, ImportError> {
    let file = open_regular(path).map_err(ImportError::io("read", path))?;
    let shared: Arc<Path> = Arc::from(path);
    let mut rank = Rank::default();
    let mut runner = String::new();
    let reader = Shortened::new(file.try_clone().map_err(ImportError::io("read", path))?, MOST_TEXT);
    let read = texts(reader, |way, text| {
        use Step::{Key, Place};
        match way {
            [Key(list), Place(_), Place(0)] if list == "lst" => text.clone_into(&mut runner),
            [Key(list), Place(which), Place(1), Place(run), Key(outputs), Key(name), Key(values), Key(array)]
                if list == "lst" && outputs == "outputs" && values == "values" && array == "array" =>
            {
                let name = if *which == 0 { name.clone() } else { format!("{runner}/{name}") };
                rank.tensors.push(found(name, *run, Io::Output, content(text, &shared)));
            }
            [Place(run), Key(name), Key(array)] if array == "array" => {
                rank.tensors.push(found(name.clone(), *run, Io::Input, content(text, &shared)));
            }
            _ => {}
        }
    });
    if let Err(error) = read {
        rank.problems.push(format!("{}: it is read up to its damage: {error}", path.display()));
    }
    if rank.tensors.is_empty() {
        let reason =
            rank.problems.pop().unwrap_or_else(|| "it has no arrays; RunResults and inputs are read".to_owned());
        return Err(ImportError::unknown(path, reason));
    }
    Ok(rank)
}

fn found(name: String, run: usize, io: Io, content: Content) -> Found {
    let op_type = if io == Io::Input { "Input" } else { "Output" };
    let place = Place { name: name.clone(), op_type: op_type.to_owned(), ..Place::default() };
    Found { run: Some(run as u64), place, io, slot: 0, value: name, content }
}

fn content(text: &str, path: &Arc<Path>) -> Content {
    let not_npy = "its array is no .npy file in base64; save numpy arrays with a present version of polygraphy";
    // A short text is not replaced by its place, and its array is small enough to be kept.
    let Some((offset, length)) = data(text) else {
        let Ok(bytes) = STANDARD.decode(text) else { return Content::Missing(not_npy.to_owned()) };
        return match Header::read(&mut Cursor::new(&bytes)) {
            Ok(header) => Content::Elements(header.dtype, header.shape, Data::Bytes(bytes.into())),
            Err(error) => Content::Missing(format!("{not_npy}: {error}")),
        };
    };
    let header = open_regular(path).and_then(|file| {
        let mut reader = base64_array(&file, offset, length)?;
        Header::read(&mut reader.by_ref()).map_err(std::io::Error::other)
    });
    match header {
        // Four characters are three bytes.
        Ok(header) if header.data_bytes as u64 <= length / 4 * 3 => {
            let data = Data::Base64 { path: Arc::clone(path), offset, length };
            Content::Elements(header.dtype, header.shape, data)
        }
        Ok(header) => Content::Missing(format!("its {} bytes are not all there", header.data_bytes)),
        Err(error) => Content::Missing(format!("{not_npy}: {error}")),
    }
}
