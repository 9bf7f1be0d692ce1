//! Single elements, read and rounded.

use opscope_tensor::DType::{self, *};
use opscope_tensor::{Element, Tensor};

use crate::bytes;

#[test]
fn every_small_float_is_the_number_that_its_definition_gives() {
    let mut types = 0;
    for line in include_str!("small_floats.txt").lines() {
        let mut columns = line.split(' ');
        let dtype: DType = columns.next().unwrap().parse().unwrap();
        for (bits, expected) in columns.enumerate() {
            let Some(Element::F32(found)) = Element::at(dtype, &[bits as u8], 0) else { panic!("a float") };
            match expected {
                "nan" => assert!(found.is_nan(), "{dtype} {bits:#x}: {found}"),
                _ => assert_eq!(format!("{:08x}", found.to_bits()), expected, "{dtype} {bits:#x}"),
            }
        }
        types += 1;
    }
    assert_eq!(types, 5);
}

#[test]
fn numbers_are_rounded_as_numpy_rounds_them() {
    for line in include_str!("rounding.txt").lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let number: f64 = columns[0].parse().unwrap();
        let double = Tensor::new(F64, vec![1], number.to_le_bytes().to_vec()).unwrap();
        for (dtype, expected) in [(F32, columns[1]), (F16, columns[2]), (Bf16, columns[3])] {
            let rounded = double.cast(dtype).unwrap();
            let mut found = rounded.bytes().to_vec();
            found.reverse();
            assert_eq!(found, bytes(expected), "{number} as {dtype}");
            assert_eq!((rounded.dtype(), rounded.shape()), (dtype, &[1][..]));
        }
        assert_eq!(double.cast(F64).unwrap(), double);
    }
    assert!(Tensor::from_i64(vec![1], &[1]).unwrap().cast(F32).is_none());
}

#[test]
fn elements_of_every_type_are_read_from_their_place() {
    let cases: [(DType, &[u8], usize, Element); 22] = [
        (Bool, &[0, 2], 1, Element::Bool(true)),
        (Bool, &[0, 2], 0, Element::Bool(false)),
        (U8, &[1, 0xfe], 1, Element::UInt(254)),
        (I8, &[1, 0xfe], 1, Element::Int(-2)),
        (U16, &[0, 0, 0xfe, 0xff], 1, Element::UInt(65_534)),
        (I16, &[0, 0, 0xfe, 0xff], 1, Element::Int(-2)),
        (U32, &[0, 0, 0, 0, 1, 0, 0, 0x80], 1, Element::UInt(2_147_483_649)),
        (I32, &[0, 0, 0, 0, 1, 0, 0, 0x80], 1, Element::Int(-2_147_483_647)),
        (U64, &[0xff; 8], 0, Element::UInt(u64::MAX)),
        (I64, &[0xff; 8], 0, Element::Int(-1)),
        (F16, &[0, 0, 0x00, 0xc4], 1, Element::F32(-4.0)),
        (Bf16, &[0, 0, 0x20, 0x41], 1, Element::F32(10.0)),
        (F32, &[0, 0, 0, 0, 0, 0, 0x20, 0x41], 1, Element::F32(10.0)),
        (F64, &[0, 0, 0, 0, 0, 0, 0x24, 0x40], 0, Element::F64(10.0)),
        (Complex64, &[0, 0, 0x20, 0x41, 0, 0, 0x80, 0xbf], 0, Element::Complex(10.0, -1.0)),
        (U4, &[0x21, 0xf3], 3, Element::UInt(15)),
        (U4, &[0x21, 0xf3], 2, Element::UInt(3)),
        (I4, &[0x21, 0xf3], 3, Element::Int(-1)),
        (I4, &[0x21, 0xf7], 2, Element::Int(7)),
        (I4, &[0x21, 0xf8], 2, Element::Int(-8)),
        (F4E2M1, &[0x21, 0xf3], 1, Element::F32(1.0)),
        (F4E2M1, &[0x21, 0xf3], 3, Element::F32(-6.0)),
    ];
    for (dtype, bytes, index, expected) in cases {
        assert_eq!(Element::at(dtype, bytes, index), Some(expected), "{dtype}");
        let elements = dtype.elements_in(bytes.len()).unwrap();
        assert_eq!(Element::at(dtype, bytes, elements), None, "{dtype}: behind the last one");
        assert_eq!(Element::at(dtype, bytes, usize::MAX), None);
    }
    let complex = [1.5f64.to_le_bytes(), (-2.5f64).to_le_bytes()].concat();
    assert_eq!(Element::at(Complex128, &complex, 0), Some(Element::Complex(1.5, -2.5)));
    assert_eq!(Element::at(String, b"x", 0), None);
}

#[test]
fn elements_are_numbers_and_text() {
    let cases = [
        (Element::Bool(true), Some(1.0), "true"),
        (Element::Bool(false), Some(0.0), "false"),
        (Element::Int(-7), Some(-7.0), "-7"),
        (Element::UInt(u64::MAX), Some(18_446_744_073_709_551_615.0), "18446744073709551615"),
        (Element::F32(0.1), Some(0.100_000_001_490_116_12), "0.1"),
        (Element::F32(1e30), Some(f64::from(1e30f32)), "1e30"),
        (Element::F64(0.1), Some(0.1), "0.1"),
        (Element::F64(f64::INFINITY), Some(f64::INFINITY), "inf"),
        (Element::Complex(0.5, 2.0), None, "0.5+2.0j"),
    ];
    for (element, number, text) in cases {
        assert_eq!((element.to_f64(), element.to_string().as_str()), (number, text));
    }
}
