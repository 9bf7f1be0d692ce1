//! The npy reader and writer, against files that numpy would write and against damage.

use opscope_tensor::npy::{self, NpyError};
use opscope_tensor::{DType, Tensor};
use proptest::prelude::*;

fn file(version: (u8, u8), dict: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version.0, version.1]);
    match version.0 {
        1 => bytes.extend((dict.len() as u16).to_le_bytes()),
        _ => bytes.extend((dict.len() as u32).to_le_bytes()),
    }
    bytes.extend(dict.as_bytes());
    bytes.extend(data);
    bytes
}

fn reason(bytes: &[u8]) -> String {
    npy::read(bytes).expect_err("the file is wrong").to_string()
}

#[test]
fn a_written_file_has_its_data_at_a_multiple_of_64_and_is_read_back() {
    for shape in [vec![], vec![0], vec![7], vec![2, 3], vec![1, 2, 3, 4, 5], vec![3, 0, 2]] {
        for dtype in DType::all().filter(|dtype| dtype.npy_descr().is_some()) {
            let elements: usize = shape.iter().product();
            let bytes: Vec<u8> = (0..dtype.bytes_of(elements).unwrap()).map(|byte| byte as u8).collect();
            let tensor = Tensor::new(dtype, shape.clone(), bytes).unwrap();
            let mut written = Vec::new();
            npy::write(&tensor.view(), &mut written).unwrap();
            assert_eq!((written.len() - tensor.bytes().len()) % 64, 0);
            assert_eq!(npy::read(&written).unwrap(), tensor);
        }
    }
}

#[test]
fn every_version_of_the_format_is_read() {
    let dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }  \n";
    for version in [(1, 0), (2, 0), (3, 0)] {
        let tensor = npy::read(&file(version, dict, &[1, 0, 2, 0])).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape(), tensor.bytes()), (DType::I16, &[2][..], &[1, 0, 2, 0][..]));
    }
    assert!(reason(&file((4, 0), dict, &[])).contains("version 4.0"));
}

#[test]
fn big_endian_and_column_major_data_come_out_little_endian_and_row_major() {
    let dict = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}";
    let tensor = npy::read(&file((1, 0), dict, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
    assert_eq!(tensor.bytes(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let dict = "{'descr': '>c8', 'fortran_order': False, 'shape': ()}";
    let tensor = npy::read(&file((1, 0), dict, &[1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    assert_eq!(tensor.bytes(), [4, 3, 2, 1, 8, 7, 6, 5], "a complex number is two floats");
}

#[test]
fn keys_may_come_in_any_order_and_numbers_with_the_suffix_of_python_2() {
    let dict = "{\"shape\": (2L, 1L,), \"fortran_order\": False, \"descr\": \"|u1\"}\n";
    assert_eq!(npy::read(&file((1, 0), dict, &[1, 2])).unwrap().shape(), [2, 1]);
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
    assert!(reason(b"PK\x03\x04 and more").contains("not an npy file"));
    assert!(reason(&[]).contains("not an npy file"));
    assert!(reason(&file((1, 0), good, &[0; 3])).contains("asks for 4 bytes"));
    assert!(reason(&file((1, 0), good, &[0; 5])).contains("the file has 5"));
    assert!(reason(&file((1, 0), &good.replace("<f4", "|O"), &[])).contains("'|O'"));
    assert!(reason(&file((1, 0), &good.replace("<f4", "<U5"), &[])).contains("'<U5'"));
    assert!(reason(&file((1, 0), &good.replace("(1,)", "(1)"), &[])).contains("a tuple of one"));
    assert!(reason(&file((1, 0), &good.replace("(1,)", "(-1,)"), &[])).contains("a dimension"));
    assert!(reason(&file((1, 0), &good.replace("False", "0"), &[])).contains("True or False"));
    assert!(reason(&file((1, 0), "{'descr': '<f4', 'shape': (1,)}", &[])).contains("are all needed"));
    assert!(reason(&file((1, 0), &good.replace("shape", "size"), &[])).contains("'size' is not known"));
    assert!(reason(&file((1, 0), &format!("{good} x"), &[])).contains("only white space"));
    let huge = good.replace("(1,)", "(4294967296, 4294967296, 4294967296)");
    assert!(reason(&file((1, 0), &huge, &[])).contains("can address"));
    let mut long = file((2, 0), good, &[]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(npy::read(&long), Err(NpyError::Header { .. })));
}

#[test]
fn a_header_that_asks_for_more_than_the_file_has_allocates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.npy");
    let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}";
    std::fs::write(&path, file((1, 0), dict, &[0; 16])).unwrap();
    assert!(matches!(npy::read_file(&path), Err(NpyError::Length { expected: 4_000_000_000_000, found: 16 })));
}

proptest! {
    #[test]
    fn damage_is_an_error_or_a_tensor_that_fits_its_shape(
        at in 0usize..100, byte: u8, cut in 0usize..110, order in prop::sample::select(vec!["<f4", ">f8", "|b1"]),
    ) {
        let dict = format!("{{'descr': '{order}', 'fortran_order': True, 'shape': (2, 2), }}   \n");
        let mut bytes = file((1, 0), &dict, &[7; 32]);
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(cut);
        if let Ok(tensor) = npy::read(&bytes) {
            prop_assert_eq!(tensor.dtype().bytes_of(tensor.elements()), Some(tensor.bytes().len()));
        }
    }

    #[test]
    fn bytes_at_random_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut with_magic = b"\x93NUMPY\x01\x00".to_vec();
        with_magic.extend(&bytes);
        let _ = npy::read(&bytes);
        let _ = npy::read(&with_magic);
    }

    #[test]
    fn what_is_written_is_read_back(shape in prop::collection::vec(0usize..5, 0..5), seed: u8) {
        let elements: usize = shape.iter().product();
        let bytes: Vec<u8> = (0..elements * 8).map(|index| seed.wrapping_add(index as u8)).collect();
        let tensor = Tensor::new(DType::F64, shape, bytes).unwrap();
        let mut written = Vec::new();
        npy::write(&tensor.view(), &mut written).unwrap();
        prop_assert_eq!(npy::read(&written).unwrap(), tensor);
    }
}
