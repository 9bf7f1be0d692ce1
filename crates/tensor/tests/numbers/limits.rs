//! Limits of the sizes that are read.

use std::fs::{self, File};
use std::io::{Read, Write};

use opscope_files::open_regular;
use opscope_tensor::npz::{Npz, NpzError};
use opscope_tensor::{Tensor, npy};
use rawzip::{CompressionMethod, ZipArchiveWriter};

/// Returns an npy file of a version whose dictionary is followed by blanks up to this length.
fn with_header(length: usize, descr: &str, shape: &str, order: &str) -> Vec<u8> {
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}").into_bytes();
    dict.resize(length, b' ');
    [&b"\x93NUMPY\x02\x00"[..], &(length as u32).to_le_bytes(), &dict].concat()
}

#[test]
fn a_header_of_npy_has_65_536_bytes_at_most() {
    let of = |length| [with_header(length, "<f4", "2,", "False"), vec![0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]].concat();
    let expected = Tensor::from_f32(vec![2], &[1.0, 2.0]).unwrap();
    assert_eq!(npy::read(&of(65_536)).unwrap(), expected);
    let error = npy::read(&of(65_537)).unwrap_err().to_string();
    assert!(error.contains("it is said to be 65537 bytes long, more than 65536"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.npy");
    fs::write(&path, of(65_536)).unwrap();
    assert_eq!(npy::read_file(&path).unwrap(), expected);
    assert_eq!(npy::open(&path).unwrap().0.data_offset, 65_548);
}

#[test]
fn elements_in_columns_are_turned_around_up_to_a_gib() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("columns.npy");
    // Two rows of 2^26 doubles have 1 GiB; this is a column more.
    let header = with_header(100, "<f8", "2, 67108865", "True");
    let mut file = File::create(&path).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(header.len() as u64 + 2 * 67_108_865 * 8).unwrap();
    let error = npy::data(&path).err().expect("it is refused").to_string();
    assert!(error.contains("have 1073741840 bytes, more than can be turned around"), "{error}");
    // One row is in order whatever the header says, and so is one column.
    for shape in ["1, 134217730", "134217730, 1"] {
        let header = with_header(100, "<f8", shape, "True");
        File::options().write(true).open(&path).unwrap().write_all(&header).unwrap();
        let mut start = [1; 16];
        npy::data(&path).unwrap().read_exact(&mut start).unwrap();
        assert_eq!(start, [0; 16]);
    }
}

#[test]
fn numbers_of_the_other_byte_order_are_turned_around_in_every_piece() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.npy");
    // Three pieces of 64 KiB and a rest.
    let numbers: Vec<u16> = (0..100_001u32).map(|number| (number % 65_521) as u16).collect();
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    fs::write(&path, [with_header(100, ">u2", "100001,", "False"), data].concat()).unwrap();
    let mut found = Vec::new();
    npy::data(&path).unwrap().read_to_end(&mut found).unwrap();
    assert_eq!(found, numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>());
    // In parts of complex numbers, and one byte at a time.
    let parts: Vec<u8> = [1.5f64, -2.0].into_iter().flat_map(f64::to_be_bytes).collect();
    fs::write(&path, [with_header(100, ">c16", "1,", "False"), parts].concat()).unwrap();
    let (mut data, mut byte, mut found) = (npy::data(&path).unwrap(), [0], Vec::new());
    while data.read(&mut byte).unwrap() > 0 {
        found.push(byte[0]);
    }
    assert_eq!(found, [1.5f64, -2.0].into_iter().flat_map(f64::to_le_bytes).collect::<Vec<_>>());
}

fn archive(arrays: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for number in 0..arrays {
        let name = format!("{number:05}.npy");
        let file = archive.new_file(&name).compression_method(CompressionMethod::STORE);
        let (mut entry, config) = file.start().unwrap();
        let (_, descriptor) = config.wrap(&mut entry).finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn an_archive_has_65_536_arrays_at_most() {
    assert_eq!(Npz::from_bytes(archive(65_536)).unwrap().names().count(), 65_536);
    let error = Npz::from_bytes(archive(65_537)).unwrap_err();
    assert!(matches!(error, NpzError::TooMany), "{error}");
    assert_eq!(error.to_string(), "it has more than 65536 arrays");
}

#[test]
fn only_regular_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
    fs::write(&file, "x").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(open_regular(&file).unwrap().metadata().unwrap().len(), 1);
    for other in [pipe.as_path(), dir.path(), std::path::Path::new("/dev/zero")] {
        assert!(open_regular(other).unwrap_err().to_string().contains("not a regular file"), "{other:?}");
    }
    assert_eq!(open_regular(&dir.path().join("nothing")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}
