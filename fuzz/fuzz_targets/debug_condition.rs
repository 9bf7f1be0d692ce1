//! Any text as a condition, a reference to a tensor, or a slice: something that is written and read back as it was, and
//! can be evaluated, or an error with a place inside of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_debug::expression::{Condition, TensorPart, TensorRef, Tensors};
use opscope_tensor::{Slice, Tensor, TensorView};

fuzz_target!(|text: &str| {
    match Condition::parse(text) {
        Err(error) => {
            assert!(error.column() <= error.text().chars().count() + 1);
            assert!(!format!("{error:#}").is_empty());
        }
        Ok(condition) => {
            assert_eq!(Condition::parse(&condition.to_string()).as_ref(), Ok(&condition));
            condition.needs();
            let tensor =
                Tensor::from_f32(vec![2, 3], &[1.0, -2.0, f32::NAN, 0.0, 5.0, f32::INFINITY]).expect("it fits");
            for subjects in [vec![], vec![tensor.view()], vec![tensor.view(), tensor.view()]] {
                if let Err(error) = condition.holds(&Here { subjects }) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
    if let Ok(tensor) = text.parse::<TensorRef>() {
        assert_eq!(tensor.to_string().parse().as_ref(), Ok(&tensor));
    }
    if let Ok(part) = text.parse::<TensorPart>() {
        assert_eq!(part.to_string().parse().as_ref(), Ok(&part));
    }
    if let Ok(slice) = text.parse::<Slice>() {
        assert_eq!(slice.to_string().parse().as_ref(), Ok(&slice));
        for shape in [&[][..], &[5], &[2, 0], &[2, 3, 4]] {
            let Ok(region) = slice.resolve(shape) else { continue };
            let values: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
            let tensor = Tensor::from_i64(shape.to_vec(), &values).expect("it fits");
            let copy = region.copy(&tensor.view()).expect("it is in the host's memory");
            assert_eq!(copy.shape(), region.shape());
            assert!(copy.bytes().as_chunks::<8>().0.iter().all(|&bytes| values.contains(&i64::from_le_bytes(bytes))));
        }
    }
});

/// Every tensor that is named by a slot is the first subject.
struct Here<'a> {
    subjects: Vec<TensorView<'a>>,
}

impl Tensors for Here<'_> {
    fn view(&self, tensor: &TensorRef) -> Option<TensorView<'_>> {
        match tensor {
            TensorRef::Value(_) => None,
            _ => self.subjects.first().cloned(),
        }
    }

    fn subjects(&self) -> &[TensorView<'_>] {
        &self.subjects
    }
}
