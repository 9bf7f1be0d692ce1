//! Reading the elements of tensors, piece by piece.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use opscope_files::open_regular;
use opscope_tensor::DType;
use opscope_tensor::npy::{self, Header};

use super::found::{Data, Span};

/// The size of a piece. A multiple of the size of every element.
const PIECE: usize = 4 << 20;

/// The most bytes of an array that has to be turned into our order as a whole.
const MOST_FOREIGN: usize = 1 << 30;

impl Data {
    /// Hands all elements over, little-endian and row-major, in pieces of whole elements. `take` returns whether it
    /// wants more.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, or are not those of this type and shape.
    pub(crate) fn pieces(
        &self,
        dtype: DType,
        shape: &[usize],
        mut take: impl FnMut(u64, &[u8]) -> bool,
    ) -> io::Result<()> {
        let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let bytes = elements.and_then(|elements| dtype.bytes_of(elements));
        let bytes = bytes.ok_or_else(|| io::Error::other("it has more bytes than a machine can address"))?;
        match self {
            Self::Npy(path) => stream(&mut *npy::data(path).map_err(io::Error::other)?, bytes, &mut take),
            Self::Npz(archive, name) => {
                let (header, mut data) = archive.array(name).map_err(io::Error::other)?;
                array(header, &mut data, bytes, &mut take)
            }
            Self::Base64 { path, offset, length } => {
                let mut data = base64_array(&open_regular(path)?, *offset, *length)?;
                let header = Header::read(&mut data).map_err(io::Error::other)?;
                array(header, &mut data, bytes, &mut take)
            }
            Self::Bytes(file) => {
                let mut data = &file[..];
                let header = Header::read(&mut data).map_err(io::Error::other)?;
                array(header, &mut data, bytes, &mut take)
            }
            Self::Span(Span { path, offset, strides: None, .. }) => {
                let mut file = open_regular(path)?;
                file.seek(SeekFrom::Start(*offset))?;
                stream_exactly(&mut file, bytes, &mut take)
            }
            Self::Span(span @ Span { strides: Some(strides), .. }) => {
                let size = dtype.size().ok_or_else(|| io::Error::other("its elements are no whole bytes"))?;
                gathered(span, strides, shape, size, bytes, &mut take)
            }
        }
    }
}

/// Returns a reader of an array in base64.
pub(crate) fn base64_array(file: &File, offset: u64, length: u64) -> io::Result<impl Read + use<>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(DecoderReader::new(file.take(length), &STANDARD))
}

fn array(
    header: Header,
    data: &mut dyn Read,
    bytes: usize,
    take: &mut dyn FnMut(u64, &[u8]) -> bool,
) -> io::Result<()> {
    if header.is_native() {
        return stream(data, bytes, take);
    }
    if header.data_bytes > MOST_FOREIGN {
        return Err(io::Error::other("it is column-major or big-endian and has more than 1 GiB"));
    }
    let mut whole = Vec::new();
    data.take(header.data_bytes as u64).read_to_end(&mut whole)?;
    let tensor = npy::read_opened(header, whole.as_slice()).map_err(io::Error::other)?;
    stream(&mut tensor.bytes(), bytes, take)
}

/// Streams data, which has to end behind its last element. A reader that verifies a checksum does so at the end.
fn stream(data: &mut dyn Read, bytes: usize, take: &mut dyn FnMut(u64, &[u8]) -> bool) -> io::Result<()> {
    // The last piece is kept until the end was seen, because what follows it decides whether the tensor is whole.
    stream_exactly(data, bytes, take)?;
    match data.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("more than its {bytes} bytes follow"))),
    }
}

fn stream_exactly(data: &mut dyn Read, bytes: usize, take: &mut dyn FnMut(u64, &[u8]) -> bool) -> io::Result<()> {
    let mut piece = vec![0; bytes.min(PIECE)];
    let mut at = 0;
    loop {
        let piece = &mut piece[..(bytes - at).min(PIECE)];
        data.read_exact(piece)?;
        let wants_more = take(at as u64, piece);
        at += piece.len();
        if at == bytes || !wants_more {
            return Ok(());
        }
    }
}

/// Hands over elements that are not in order in the file. All of them lie in at most 1 GiB of it.
fn gathered(
    span: &Span,
    strides: &[u64],
    shape: &[usize],
    size: usize,
    bytes: usize,
    take: &mut dyn FnMut(u64, &[u8]) -> bool,
) -> io::Result<()> {
    let mut held = Vec::new();
    let length = usize::try_from(span.bytes).unwrap_or(usize::MAX);
    held.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    held.resize(length, 0);
    open_regular(&span.path)?.read_exact_at(&mut held, span.offset)?;
    let mut index = vec![0usize; shape.len()];
    let mut piece = Vec::with_capacity(bytes.min(PIECE));
    let (mut place, mut passed) = (0usize, 0usize);
    while passed + piece.len() < bytes {
        piece.extend_from_slice(&held[place * size..(place + 1) * size]);
        if piece.len() == PIECE {
            if !take(passed as u64, &piece) {
                return Ok(());
            }
            passed += piece.len();
            piece.clear();
        }
        for dim in (0..shape.len()).rev() {
            index[dim] += 1;
            place += strides[dim] as usize;
            if index[dim] < shape[dim] {
                break;
            }
            place -= shape[dim] * strides[dim] as usize;
            index[dim] = 0;
        }
    }
    if !piece.is_empty() {
        take(passed as u64, &piece);
    }
    Ok(())
}
