//! Every type of elements.

use opscope_tensor::DType::{self, *};
use opscope_tensor::{Tensor, TensorError, compared_in, npy};

use crate::bytes;

/// Each type's number in ONNX, its name, its bits and its type in an npy file.
type Row = (DType, i32, &'static str, Option<usize>, Option<&'static str>);
const TYPES: [Row; 23] = [
    (F32, 1, "float32", Some(32), Some("<f4")),
    (U8, 2, "uint8", Some(8), Some("|u1")),
    (I8, 3, "int8", Some(8), Some("|i1")),
    (U16, 4, "uint16", Some(16), Some("<u2")),
    (I16, 5, "int16", Some(16), Some("<i2")),
    (I32, 6, "int32", Some(32), Some("<i4")),
    (I64, 7, "int64", Some(64), Some("<i8")),
    (String, 8, "string", None, None),
    (Bool, 9, "bool", Some(8), Some("|b1")),
    (F16, 10, "float16", Some(16), Some("<f2")),
    (F64, 11, "float64", Some(64), Some("<f8")),
    (U32, 12, "uint32", Some(32), Some("<u4")),
    (U64, 13, "uint64", Some(64), Some("<u8")),
    (Complex64, 14, "complex64", Some(64), Some("<c8")),
    (Complex128, 15, "complex128", Some(128), Some("<c16")),
    (Bf16, 16, "bfloat16", Some(16), None),
    (F8E4M3Fn, 17, "float8e4m3fn", Some(8), None),
    (F8E4M3FnUz, 18, "float8e4m3fnuz", Some(8), None),
    (F8E5M2, 19, "float8e5m2", Some(8), None),
    (F8E5M2FnUz, 20, "float8e5m2fnuz", Some(8), None),
    (U4, 21, "uint4", Some(4), None),
    (I4, 22, "int4", Some(4), None),
    (F4E2M1, 23, "float4e2m1", Some(4), None),
];

#[test]
fn every_type_has_its_number_name_and_size() {
    assert_eq!(DType::all().collect::<Vec<_>>(), TYPES.map(|row| row.0));
    for (dtype, onnx, name, bits, npy) in TYPES {
        assert_eq!((dtype.onnx_code(), dtype.name(), dtype.npy_descr()), (onnx, name, npy));
        assert_eq!((DType::from_onnx(onnx), name.parse(), dtype.to_string().as_str()), (Some(dtype), Ok(dtype), name));
        assert_eq!(dtype.size(), bits.filter(|bits| *bits >= 8).map(|bits| bits / 8), "{name}");
        for elements in [0, 1, 2, 3, 100, 101] {
            assert_eq!(dtype.bytes_of(elements), bits.map(|bits| (elements * bits).div_ceil(8)), "{name} {elements}");
            assert_eq!(dtype.elements_in(elements), bits.map(|bits| elements * 8 / bits), "{name} {elements}");
        }
    }
    assert_eq!([0, 24, -1].map(DType::from_onnx), [None; 3]);
    assert!("float".parse::<DType>().is_err());
    assert_eq!((F64.bytes_of(usize::MAX / 64), F64.bytes_of(usize::MAX / 64 + 1)), (Some((1 << 61) - 8), None));
}

#[test]
fn types_are_told_apart_by_what_their_numbers_are() {
    let of = |is: fn(DType) -> bool| DType::all().filter(|dtype| is(*dtype)).collect::<Vec<_>>();
    assert_eq!(of(DType::is_float), [F32, F16, F64, Bf16]);
    assert_eq!(of(DType::is_complex), [Complex64, Complex128]);
}

#[test]
fn two_types_are_compared_in_the_one_with_fewer_significant_bits() {
    // 53, 24, 11 and 8 bits.
    let floats = [F64, F32, F16, Bf16];
    for (finer, one) in floats.into_iter().enumerate() {
        for (coarser, other) in floats.into_iter().enumerate() {
            let expected = floats[finer.max(coarser)];
            assert_eq!((compared_in(one, other), compared_in(other, one)), (expected, expected), "{one} {other}");
        }
    }
    for other in [I8, Bool, Complex64, F8E5M2] {
        assert_eq!((compared_in(Bf16, other), compared_in(other, Bf16)), (other, Bf16));
    }
}

#[test]
fn a_tensor_has_as_many_bytes_as_its_shape_needs() {
    for (dtype, shape, length) in
        [(F32, vec![2, 3], 24), (I4, vec![3], 2), (Bool, vec![], 1), (F64, vec![0, 9], 0), (Complex128, vec![2], 32)]
    {
        assert_eq!(
            Tensor::new(dtype, shape.clone(), vec![0; length]).unwrap().elements(),
            shape.iter().product::<usize>()
        );
        for wrong in [length + 1, length.wrapping_sub(1)] {
            if wrong < 100 {
                let error = Tensor::new(dtype, shape.clone(), vec![0; wrong]).unwrap_err();
                assert_eq!(error, TensorError::Length { dtype, shape: shape.clone(), expected: length, found: wrong });
            }
        }
    }
}

#[test]
fn a_header_of_npy_is_that_of_numpy() {
    for line in include_str!("headers.txt").lines() {
        let [name, shape, expected] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("three columns") };
        let shape: Vec<usize> = shape.split(',').filter_map(|size| size.parse().ok()).collect();
        let (header, expected) = (npy::header(name.parse().unwrap(), &shape).unwrap(), bytes(expected));
        assert_eq!(header[..8], expected[..8], "magic and version");
        assert_eq!(header[10..].trim_ascii_end(), expected[10..].trim_ascii_end(), "{line}");
        // numpy leaves room for a longer shape.
        let text = header[10..].trim_ascii_end().len();
        assert_eq!(header.len(), (10 + text + 1).next_multiple_of(64), "{line}");
        assert_eq!(u16::from_le_bytes([header[8], header[9]]) as usize, header.len() - 10);
        assert_eq!(header.last(), Some(&b'\n'));
        let read = npy::Header::read(&mut &*expected).unwrap();
        assert_eq!((read.dtype.name(), &read.shape, read.data_offset), (name, &shape, expected.len() as u64));
    }
    for dtype in [Bf16, F8E4M3Fn, I4, String] {
        assert!(npy::header(dtype, &[1]).is_err(), "{dtype}");
    }
}
