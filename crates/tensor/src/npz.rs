//! numpy's `.npz` format: a zip archive of `.npy` files, stored or deflated, each named after its array.
//!
//! An archive may come from an untrusted source. The memory that is allocated is limited by the archive's own size,
//! names are never used as paths, and the checksum of an array is verified when it is read.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::DeflateDecoder;
use opscope_files::open_regular;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipLocator};

use crate::Tensor;
use crate::npy::{self, Header, NpyError};

/// The maximum number of arrays, which is more than any archive of a model's inputs has.
const MOST_ARRAYS: usize = 1 << 16;

/// The maximum number of bytes that a deflated byte stands for.
const LARGEST_RATIO: u64 = 1032;

/// An `.npz` file whose arrays can be read, one by one.
pub struct Npz {
    archive: ZipArchive<Source>,
    arrays: Vec<Array>,
    /// The length of the archive in bytes.
    length: u64,
}

/// The source of an archive.
enum Source {
    File(File),
    Bytes(Vec<u8>),
}

impl ReaderAt for Source {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => FileExt::read_at(file, into, offset),
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).map_or(bytes.len(), |start| start.min(bytes.len()));
                (&bytes[start..]).read(into)
            }
        }
    }
}

/// An array of an archive.
struct Array {
    name: String,
    place: ZipArchiveEntryWayfinder,
    is_deflated: bool,
}

/// Why an `.npz` file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// The file is not a valid zip archive.
    #[error("this is not a zip archive of arrays: {0}")]
    Archive(#[from] rawzip::Error),
    /// The archive has too many arrays.
    #[error("it has more than {MOST_ARRAYS} arrays")]
    TooMany,
    /// The name of an array is invalid.
    #[error("{0:?} is not a name of an array")]
    Name(String),
    /// Two arrays have the same name.
    #[error("it has two arrays named '{0}'")]
    Twice(String),
    /// An array is stored in an unsupported way.
    #[error(
        "array '{name}' is {how}; stored and deflated arrays can be read, as numpy.savez and savez_compressed write them"
    )]
    Stored {
        /// The array.
        name: String,
        /// How it is stored.
        how: String,
    },
    /// There is no such array.
    #[error("it has no array '{name}'; it has {found}")]
    Missing {
        /// The name.
        name: String,
        /// The names of its arrays.
        found: String,
    },
    /// An array is not a valid `.npy` file.
    #[error("array '{name}': {source}")]
    Array {
        /// The array.
        name: String,
        /// What is wrong.
        source: NpyError,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl fmt::Debug for Npz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Npz {
    /// Opens a file and reads the names of its arrays.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a zip archive, if the name of an array is invalid or
    /// occurs twice, or if there are too many arrays.
    pub fn open(path: &Path) -> Result<Self, NpzError> {
        let file = open_regular(path)?;
        let length = file.metadata()?.len();
        Self::from_source(Source::File(file), length)
    }

    /// Reads the names of the arrays from the bytes of a file.
    ///
    /// # Errors
    /// The same as [`open`](Self::open).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, NpzError> {
        let length = bytes.len() as u64;
        Self::from_source(Source::Bytes(bytes), length)
    }

    fn from_source(source: Source, length: u64) -> Result<Self, NpzError> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipLocator::new().locate_in_reader(source, &mut buffer, length).map_err(|(_, error)| error)?;
        let mut arrays: Vec<Array> = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry()? {
            let path = entry.file_path();
            let name = String::from_utf8_lossy(path.as_bytes()).into_owned();
            // Other files are not arrays.
            let Some(name) = name.strip_suffix(".npy") else { continue };
            if name.is_empty() || name.contains(['\0', char::REPLACEMENT_CHARACTER]) {
                return Err(NpzError::Name(name.to_owned()));
            }
            if arrays.len() == MOST_ARRAYS {
                return Err(NpzError::TooMany);
            }
            let stored = |how: String| NpzError::Stored { name: name.to_owned(), how };
            let is_deflated = match entry.compression_method() {
                _ if entry.flags().is_encrypted() => return Err(stored("encrypted".to_owned())),
                CompressionMethod::STORE => false,
                CompressionMethod::DEFLATE => true,
                other => return Err(stored(format!("compressed with {other}"))),
            };
            arrays.push(Array { name: name.to_owned(), place: entry.wayfinder(), is_deflated });
        }
        let mut names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(NpzError::Twice(twice[0].to_owned()));
        }
        Ok(Self { archive, arrays, length })
    }

    /// Returns the names of its arrays, without `.npy`, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().map(|array| array.name.as_str())
    }

    /// Returns the header of an array, and a reader of its data.
    ///
    /// # Errors
    /// Returns an error if there is no such array, if it is not a valid `.npy` file, or if its length is not the one in
    /// its header.
    pub fn array(&self, name: &str) -> Result<(Header, Box<dyn Read + '_>), NpzError> {
        let array = self.arrays.iter().find(|array| array.name == name).ok_or_else(|| NpzError::Missing {
            name: name.to_owned(),
            found: match self.arrays.is_empty() {
                true => "none".to_owned(),
                false => self.names().collect::<Vec<_>>().join(", "),
            },
        })?;
        let wrong = |source: NpyError| NpzError::Array { name: name.to_owned(), source };
        // The archive states both numbers, and they may be wrong.
        let (packed, whole) = (array.place.compressed_size_hint(), array.place.uncompressed_size_hint());
        let packed = packed.min(self.length);
        let most = if array.is_deflated { packed.saturating_mul(LARGEST_RATIO) } else { packed };
        let entry = self.archive.get_entry(array.place)?;
        let mut data: Box<dyn Read + '_> = match array.is_deflated {
            false => Box::new(BufReader::new(entry.verifying_reader(entry.reader()))),
            true => Box::new(BufReader::new(entry.verifying_reader(DeflateDecoder::new(entry.reader())))),
        };
        let header = Header::read(&mut data).map_err(wrong)?;
        let found = whole.min(most).saturating_sub(header.data_offset);
        if found != header.data_bytes as u64 {
            return Err(wrong(NpyError::Length { expected: header.data_bytes as u64, found }));
        }
        Ok((header, data))
    }

    /// Reads an array.
    ///
    /// # Errors
    /// Returns an error if there is no such array, if it is not a valid `.npy` file, if its length or checksum is
    /// wrong, or if memory is exhausted.
    pub fn read(&self, name: &str) -> Result<Tensor, NpzError> {
        let (header, data) = self.array(name)?;
        npy::read_opened(header, data).map_err(|source| NpzError::Array { name: name.to_owned(), source })
    }
}

/// Writes an archive of these arrays, each under its name, stored and not deflated.
///
/// # Errors
/// Returns the error of `into`; `InvalidInput` if numpy has no such type, and `FileTooLarge` if the archive would have
/// more than 4 GiB.
pub fn write<'t>(arrays: impl Iterator<Item = (&'t str, &'t Tensor)>, into: &mut impl Write) -> io::Result<()> {
    let small = |number: usize| u32::try_from(number).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
    let (mut directory, mut offset, mut count) = (Vec::new(), 0usize, 0u16);
    for (name, tensor) in arrays {
        let mut data = Vec::new();
        npy::write(&tensor.view(), &mut data).map_err(|error| match error {
            NpyError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidInput, format!("array '{name}': {other}")),
        })?;
        let mut checksum = flate2::Crc::new();
        checksum.update(&data);
        let name = format!("{name}.npy");
        let length = u16::try_from(name.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // The version that reads it, names in UTF-8, stored, and the first day that the format knows.
        let mut facts = Vec::new();
        [20, 1 << 11, 0, 0, FIRST_DAY].iter().for_each(|number: &u16| facts.extend(number.to_le_bytes()));
        for number in [checksum.sum(), small(data.len())?, small(data.len())?] {
            facts.extend(number.to_le_bytes());
        }
        facts.extend(length.to_le_bytes());
        facts.extend([0; 2]);
        directory.extend(b"PK\x01\x02");
        directory.extend(20u16.to_le_bytes());
        directory.extend(&facts);
        directory.extend([0; 10]);
        directory.extend(small(offset)?.to_le_bytes());
        directory.extend(name.as_bytes());
        for part in [b"PK\x03\x04".as_slice(), &facts, name.as_bytes(), &data] {
            into.write_all(part)?;
            offset += part.len();
        }
        count = count.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
    }
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend(count.to_le_bytes());
    end.extend(count.to_le_bytes());
    end.extend(small(directory.len())?.to_le_bytes());
    end.extend(small(offset)?.to_le_bytes());
    end.extend([0; 2]);
    into.write_all(&directory)?;
    into.write_all(&end)
}

/// The first of January 1980, as zip archives write dates.
const FIRST_DAY: u16 = 1 << 5 | 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns an archive of these files.
    fn archive(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
        for (name, content) in files {
            let (mut entry, config) = archive.new_file(*name).compression_method(method).start().unwrap();
            let descriptor = if method == CompressionMethod::DEFLATE {
                let mut writer = config.wrap(flate2::write::DeflateEncoder::new(&mut entry, Default::default()));
                writer.write_all(content).unwrap();
                let (encoder, descriptor) = writer.finish().unwrap();
                encoder.finish().unwrap();
                descriptor
            } else {
                let mut writer = config.wrap(&mut entry);
                writer.write_all(content).unwrap();
                writer.finish().unwrap().1
            };
            entry.finish(descriptor).unwrap();
        }
        archive.finish().unwrap();
        bytes
    }

    fn npy_of(values: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        npy::write(&Tensor::from_f32(vec![values.len()], values).unwrap().view(), &mut bytes).unwrap();
        bytes
    }

    const METHODS: [CompressionMethod; 2] = [CompressionMethod::STORE, CompressionMethod::DEFLATE];

    #[test]
    fn arrays_are_read_by_their_names_stored_and_deflated() {
        let (image, mask) = (npy_of(&[0.5; 3000]), npy_of(&[1.0, -2.0]));
        for method in METHODS {
            let files = [("image.npy", image.as_slice()), ("a/mask_0.npy", &mask), ("notes.txt", b"x")];
            // The zip writer of this test replaces a colon in a name. numpy keeps it, and names of inputs contain it.
            let mut bytes = archive(&files, method);
            for at in 0..bytes.len() - 6 {
                if bytes[at..].starts_with(b"mask_0") {
                    bytes[at + 4] = b':';
                }
            }
            let npz = Npz::from_bytes(bytes).unwrap();
            assert_eq!(npz.names().collect::<Vec<_>>(), ["image", "a/mask:0"]);
            assert_eq!(npz.read("image").unwrap(), npy::read(&image).unwrap());
            assert_eq!(npz.read("a/mask:0").unwrap(), npy::read(&mask).unwrap());
            let missing = npz.read("mask").unwrap_err().to_string();
            assert_eq!(missing, "it has no array 'mask'; it has image, a/mask:0");
        }
    }

    #[test]
    fn what_is_no_array_and_what_cannot_be_told_apart_is_refused() {
        let good = npy_of(&[1.0]);
        let error = |files: &[(&str, &[u8])]| match Npz::from_bytes(archive(files, CompressionMethod::STORE)) {
            Err(error) => error.to_string(),
            Ok(npz) => npz.read("a").unwrap_err().to_string(),
        };
        assert_eq!(error(&[("a.npy", &good), ("a.npy", &good)]), "it has two arrays named 'a'");
        assert!(error(&[("a.npy", b"no array")]).contains("this is not an npy file"));
        assert!(error(&[("a.npy", &good[..good.len() - 1])]).contains("asks for 4 bytes of data, the file has 3"));
        assert!(error(&[("a.npy", &[good.as_slice(), b"x"].concat())]).contains("the file has 5"));
        assert!(Npz::from_bytes(good).unwrap_err().to_string().contains("not a zip archive"));
    }

    #[test]
    fn nothing_is_allocated_for_a_packed_length_that_the_archive_does_not_have() {
        let declared = 3u32 << 30;
        let mut npy = npy_of(&[1.0]);
        npy.truncate(npy.len() - 4);
        let shape = format!("({},)", declared / 4);
        let at = npy.windows(4).position(|window| window == b"(1,)").unwrap();
        npy.splice(at..at + 4, shape.bytes());
        // The header keeps its length, because blanks fill it before its last byte.
        let last = npy.len() - 1;
        npy.drain(last - (shape.len() - 4)..last);
        let mut bytes = archive(&[("a.npy", &npy)], CompressionMethod::DEFLATE);
        let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[directory + 20..directory + 24].copy_from_slice(&(declared / 1000).to_le_bytes());
        bytes[directory + 24..directory + 28].copy_from_slice(&(declared + npy.len() as u32).to_le_bytes());
        let most = bytes.len() as u64 * LARGEST_RATIO;
        match Npz::from_bytes(bytes).unwrap().read("a") {
            Err(NpzError::Array { source: NpyError::Length { found, .. }, .. }) => assert!(found <= most, "{found}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_byte_that_is_packed_becomes_1032_at_most() {
        // By the definition of Deflate: a run of 258 bytes takes at least two bits.
        assert_eq!(LARGEST_RATIO, 258 * 8 / 2);
    }

    #[test]
    fn a_changed_byte_of_an_array_is_found() {
        let mut bytes = archive(&[("a.npy", &npy_of(&[1.0, 2.0]))], CompressionMethod::STORE);
        let at = bytes.windows(4).position(|window| window == 2f32.to_le_bytes()).unwrap();
        bytes[at] ^= 1;
        assert!(matches!(Npz::from_bytes(bytes).unwrap().read("a"), Err(NpzError::Array { .. })));
    }

    #[test]
    fn what_is_written_is_read_again_under_the_same_names() {
        let image = Tensor::from_f32(vec![2, 1], &[0.5, f32::NAN]).unwrap();
        let (none, ids) = (Tensor::from_f32(vec![0], &[]).unwrap(), Tensor::from_i64(vec![], &[7]).unwrap());
        let arrays = [("/a/image:0", &image), ("größe", &none), ("ids", &ids)];
        let mut bytes = Vec::new();
        write(arrays.into_iter(), &mut bytes).unwrap();
        let npz = Npz::from_bytes(bytes).unwrap();
        assert_eq!(npz.names().collect::<Vec<_>>(), arrays.map(|(name, _)| name));
        for (name, tensor) in arrays {
            let read = npz.read(name).unwrap();
            assert_eq!((read.shape(), read.bytes()), (tensor.shape(), tensor.bytes()));
        }
    }

    proptest! {
        /// A damaged archive results in an error or in arrays, within the memory that its size allows.
        #[test]
        fn damage_is_an_error(at in any::<proptest::sample::Index>(), bits in 1u8.., method in 0usize..2) {
            let mut bytes = archive(&[("a.npy", &npy_of(&[0.25; 40])), ("b.npy", &npy_of(&[3.0]))], METHODS[method]);
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
            let length = bytes.len() as u64;
            if let Ok(npz) = Npz::from_bytes(bytes) {
                for name in npz.names() {
                    if let Ok(tensor) = npz.read(name) {
                        prop_assert!(tensor.bytes().len() as u64 <= length * LARGEST_RATIO);
                    }
                }
            }
        }
    }
}
